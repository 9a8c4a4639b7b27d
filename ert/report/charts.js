// A figure of the report becomes a plotly chart: its traces in the colours of the theme, those that are switched off hidden.

const FONT = '"DejaVu Sans", system-ui, sans-serif';
const CONFIG = {
  responsive: true,
  displaylogo: false,
  modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  toImageButtonOptions: { format: "svg" },
};
const SMALL_FONT = 11;
// Labels of ridges that are nearer than this, in decades, would cover each other.
const LABEL_DECADES = 0.1;
// A chart of fewer pixels is one on a telephone.
const NARROW = 600;
// With more kernels than this their markers let others shine through.
const MANY = 60;

function chartOf(figureId) {
  return document.getElementById(`chart-${figureId}`);
}

function isDrawn(figureId) {
  return chartOf(figureId).classList.contains("js-plotly-plot");
}

function tracesOf(figureId) {
  const switches = switchesOf(figureId);
  const traces = DATA.figures[figureId].traces.map((trace) => themed(trace, switches));
  return figureId === "roofline" ? [...traces, ...selectionTraces(traces)] : traces;
}

function themed(trace, switches) {
  const colour = pick(trace.meta.colour);
  const shown = { ...trace, visible: isShown(trace.meta, switches), hoverlabel: { bordercolor: colour } };
  if (trace.line) shown.line = { ...trace.line, color: colour };
  if (trace.marker) {
    const isRidge = Boolean(trace.meta.ridge);
    const edge = { color: isRidge ? colour : pageColour("--page"), width: trace.meta.layer === "kernels" || isRidge ? 1 : 0 };
    shown.marker = { ...trace.marker, color: isRidge ? pageColour("--page") : colour, line: edge };
    if (trace.meta.layer === "kernels") shown.marker.opacity = DATA.kernels.length > MANY ? 0.6 : 0.85;
  }
  // One text for a whole line is enough in the file; plotly wants one per point.
  if (typeof trace.hovertext === "string") shown.hovertext = trace.x.map(() => trace.hovertext);
  if (trace.meta.ridge) keepRidges(shown, switches.key);
  if (trace.meta.rows) shown.hovertext = trace.meta.rows.map((row, index) => kernelHover(row, trace.hovertext[index]));
  return shown;
}

function kernelHover(row, place) {
  const [title, rest] = DATA.kernels[row].hover;
  return `${title}<br>${place}<br>${rest}`;
}

// A ridge point belongs to a precision: those of hidden precisions are taken out.
function keepRidges(trace, keys) {
  const kept = trace.meta.keys.map((key) => keys === null || keys.has(key));
  for (const field of ["x", "y", "hovertext", "text"]) {
    if (trace[field]) trace[field] = trace[field].filter((_, index) => kept[index]);
  }
  if (trace.text) trace.text = trace.text.map((text, index) => (hasRoom(trace.x, index) ? text : ""));
  trace.textfont = { size: SMALL_FONT, color: pageColour("--faint") };
}

// Of ridges that nearly coincide the first is labelled; the hover labels have them all.
function hasRoom(xs, index) {
  return xs.every((x, other) => other >= index || Math.abs(Math.log10(x / xs[index])) > LABEL_DECADES);
}

function layoutOf(figureId, traces) {
  const figure = DATA.figures[figureId];
  const ink = pageColour("--ink");
  const margin = { l: 80, r: rightMargin(figureId), t: 34, b: 52 };
  const layout = {
    xaxis: axisOf(figure.layout.xaxis),
    yaxis: axisOf(figure.layout.yaxis),
    autosize: true,
    margin,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: FONT, size: 13, color: ink },
    hovermode: "closest",
    hoverlabel: { bgcolor: pageColour("--raised"), font: { family: FONT, size: 12.5, color: ink }, align: "left", namelength: -1 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: pageColour("--faint"), activecolor: pageColour("--accent"), orientation: "h" },
    showlegend: false,
    uirevision: zoomOf(figureId),
  };
  const ranges = rangesOf(figureId);
  if (ranges) addLabels(figureId, traces, layout, ranges);
  return layout;
}

function axisOf(axis) {
  return {
    color: pageColour("--ink"), gridcolor: pageColour("--rule"), linecolor: pageColour("--faint"), mirror: true, zeroline: false, ticks: "outside",
    ...(axis.tickvals ? {} : { minor: { ticks: "outside", ticklen: 3, showgrid: false } }),
    ...axis,
    title: { font: { size: 13 }, ...axis.title },
  };
}

// The ends of both axes, as zoomed or as in the file; null where plotly chooses them.
function rangesOf(figureId) {
  const axes = DATA.figures[figureId].layout;
  if (axes.xaxis.autorange) return null;
  const current = isDrawn(figureId) ? chartOf(figureId)._fullLayout : axes;
  return [[...current.xaxis.range], [...current.yaxis.range]];
}

// Ticks and labels go in with the first drawing: a second one would take as long again.
function addLabels(figureId, traces, layout, [xRange, yRange]) {
  const chart = chartOf(figureId);
  const { l, r, t, b } = layout.margin;
  const [width, height] = [chart.clientWidth - l - r, chart.clientHeight - t - b];
  Object.assign(layout.xaxis, ticksOf(figureId, "xaxis", xRange, width));
  Object.assign(layout.yaxis, ticksOf(figureId, "yaxis", yRange, height));
  layout.annotations = annotationsOf(figureId, traces, frameOf(chart, width, height, xRange, yRange));
}

// Zoom stays as it is when the theme or a switch changes, except where one of several roofs is chosen.
function zoomOf(figureId) {
  return figureId === "generations" ? ["key", "level"].map((field) => [...(switchedOn(figureId, field) ?? [])].join()).join(" at ") : "kept";
}

function draw(figureId) {
  const chart = chartOf(figureId);
  const isNew = !isDrawn(figureId);
  const traces = tracesOf(figureId);
  const layout = layoutOf(figureId, traces);
  Plotly.react(chart, traces, layout, CONFIG);
  if (isNew) {
    chart.on("plotly_relayout", (change) => change.annotations || label(figureId));
    chart.on("plotly_click", (event) => followClick(event.points[0]));
  }
  if (!layout.annotations) label(figureId);
}

function redrawAll() {
  for (const figureId of Object.keys(DATA.figures)) {
    if (isDrawn(figureId)) draw(figureId);
  }
}

// The first chart at once, the others when they come near: the page opens with the roofline.
function drawLazily() {
  const [first, ...others] = Object.keys(DATA.figures);
  if (first) draw(first);
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((e) => e.isIntersecting)) {
        watch.unobserve(entry.target);
        draw(entry.target.dataset.figure);
      }
    },
    { rootMargin: "600px" },
  );
  others.forEach((figureId) => watch.observe(chartOf(figureId)));
}
