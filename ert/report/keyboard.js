// Charts without a mouse: arrow keys go from point to point, and what stands there is shown and spoken; + and - zoom.

// What stays of each axis; null shows all of it again.
const ZOOMS = { "+": 0.7, "=": 0.7, "-": 1 / 0.7, 0: null };

function wireKeyboard(chart) {
  const at = { trace: 0, point: -1 };
  chart.addEventListener("keydown", (event) => {
    // Those belong to the browser, which zooms the page with the same keys.
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Escape") Plotly.Fx.unhover(chart);
    else if (event.key === "Enter") enter(chart, at);
    else if (event.key in ZOOMS) zoom(chart, ZOOMS[event.key]);
    else if (step) move(chart, at, step);
    else return;
    event.preventDefault();
  });
}

// Traces that can be walked along: everything with points of its own that is not hidden.
function walkable(chart) {
  return chart.data
    .map((trace, curveNumber) => ({ trace, curveNumber }))
    .filter(({ trace }) => trace.visible === true && trace.hoverinfo !== "skip" && trace.x.length);
}

// The numbers of a trace's points in the order in which the keys reach them.
function fromLeftToRight(trace) {
  return [...trace.x.keys()].sort((a, b) => trace.x[a] - trace.x[b]);
}

function move(chart, at, [traceStep, pointStep]) {
  const traces = walkable(chart);
  if (!traces.length) return;
  at.trace = (at.trace + traceStep + traces.length) % traces.length;
  const { trace, curveNumber } = traces[at.trace];
  const order = fromLeftToRight(trace);
  // A line says the same all along: from it, one key leads to the next place a third further.
  const stride = trace.mode === "lines" ? Math.ceil(order.length / 3) : 1;
  at.point = Math.max(0, Math.min(order.length - 1, at.point < 0 ? 0 : at.point + pointStep * stride));
  if (traceStep) at.point = 0;
  Plotly.Fx.hover(chart, [{ curveNumber, pointNumber: order[at.point] }]);
  speak(trace, order[at.point]);
}

// Around what is pointed at, else around the middle; the axes are logarithmic.
function zoom(chart, factor) {
  const point = chart._hoverdata?.[0];
  const change = {};
  for (const name of ["xaxis", "yaxis"]) {
    const whole = DATA.figures[chart.dataset.figure].layout[name].range;
    const shown = chart._fullLayout[name].range;
    const middle = point ? Math.log10(point[name[0]]) : (shown[0] + shown[1]) / 2;
    if (factor) change[`${name}.range`] = shown.map((end) => middle + (end - middle) * factor);
    else if (whole) change[`${name}.range`] = [...whole];
    else change[`${name}.autorange`] = true;
  }
  Plotly.relayout(chart, change);
}

function speak(trace, index) {
  const words = trace.hovertext[index].replace(/<br>/g, "; ").replace(/<\/?b>/g, "");
  const unescaped = words.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  document.getElementById("spoken").textContent = unescaped;
}

function enter(chart, at) {
  const traces = walkable(chart);
  const entry = traces[at.trace];
  if (!entry || !entry.trace.meta.rows || at.point < 0) return;
  selectKernel(entry.trace.meta.rows[fromLeftToRight(entry.trace)[at.point]]);
}
