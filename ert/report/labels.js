// Names written beside the lines and the longest kernels, placed anew whenever the chart changes its size, zoom or content.

// In pixels, as every length here.
const LINE_HEIGHT = 15;
const LABEL_SIZE = 12;
// No name beside a chart takes more of its width.
const WIDEST_MARGIN = 300;
// Room that a tick label needs: numbers are wider than high.
const TICK_ROOM = { xaxis: 100, yaxis: 60 };
// A label between two slopes stands nearer to its own where they are this far apart.
const SLOPE_GAP = 22;
// From the frame to a label right of it.
const LEADER = 22;
const NAMED_KERNELS = 8;
// A telephone has no room for names among many markers; the table below has them.
const NAMED_KERNELS_NARROW = 2;

function annotationsOf(figureId, traces, frame) {
  const shown = traces.filter((trace) => trace.visible === true && trace.meta);
  return [
    ...endLabels(shown.filter((t) => t.meta.place === "end"), frame),
    ...slopeLabels(shown.filter((t) => t.meta.place === "slope"), frame),
    ...topLabels(shown.filter((t) => t.meta.place === "top"), frame),
    ...kernelLabels(shown.filter((t) => t.meta.layer === "kernels"), frame),
    ...arrows(figureId, shown),
  ];
}

// After a zoom, and where plotly itself chose the range of the axes.
function label(figureId) {
  const chart = chartOf(figureId);
  const { xaxis, yaxis } = chart._fullLayout;
  const frame = frameOf(chart, xaxis._length, yaxis._length, xaxis.range, yaxis.range);
  const change = { annotations: annotationsOf(figureId, chart.data, frame) };
  for (const [name, axis] of [["xaxis", xaxis], ["yaxis", yaxis]]) {
    const { tickmode, dtick } = ticksOf(figureId, name, axis.range, axis._length);
    if (tickmode && axis.tickmode !== tickmode) change[`${name}.tickmode`] = tickmode;
    if (dtick && axis.dtick !== dtick) change[`${name}.dtick`] = dtick;
  }
  Plotly.relayout(chart, change);
}

// The plot area in pixels, and the way from numbers to pixels inside it; the axes are logarithmic.
function frameOf(chart, width, height, [left, right], [low, high]) {
  return {
    width,
    height,
    isNarrow: chart.clientWidth < NARROW,
    x: (value) => ((Math.log10(value) - left) / (right - left)) * width,
    y: (value) => (1 - (Math.log10(value) - low) / (high - low)) * height,
  };
}

const pen = document.createElement("canvas").getContext("2d");

function textWidth(text) {
  pen.font = `${LABEL_SIZE}px ${FONT}`;
  return pen.measureText(text).width;
}

// 1, 2 and 5 of each decade where they have room, else the decades; inside of one decade whatever fits.
function ticksOf(figureId, name, range, length) {
  if (DATA.figures[figureId].layout[name].tickvals) return {};
  const decades = Math.abs(range[1] - range[0]);
  return decades < 0.7 ? { tickmode: "auto" } : { tickmode: "linear", dtick: length / decades > TICK_ROOM[name] ? "D2" : 1 };
}

function rightMargin(figureId) {
  if (chartOf(figureId).clientWidth < NARROW) return 14;
  const labels = DATA.figures[figureId].traces.filter((t) => t.meta.place === "end").map((t) => textWidth(t.meta.label));
  return labels.length ? Math.min(WIDEST_MARGIN, LEADER + 12 + Math.max(...labels)) : 20;
}

function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

const plain = (text, colour) => ({ text: escaped(text), font: { size: LABEL_SIZE, color: colour }, showarrow: false });

// Right of the frame, kept apart, each joined to its line; in a narrow frame above the line.
function endLabels(traces, frame) {
  const entries = traces
    .map((t) => ({ at: frame.y(t.y.at(-1)), value: t.y.at(-1), text: t.meta.label, colour: t.line.color }))
    .filter((e) => e.at >= 0 && e.at <= frame.height)
    .sort((a, b) => a.at - b.at);
  if (frame.isNarrow) {
    return entries.filter((e, i) => !i || e.at - entries[i - 1].at >= LINE_HEIGHT).map((e) => ({
      ...plain(e.text, e.colour), xref: "paper", x: 1, xanchor: "right", y: Math.log10(e.value), yanchor: "bottom",
    }));
  }
  spread(entries, frame.height);
  return entries.map((e) => ({
    ...plain(e.text, e.colour), xref: "paper", x: 1, y: Math.log10(e.value), showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: e.colour,
    ax: LEADER, ay: e.place - e.at, xanchor: "left", standoff: 1,
  }));
}

// Push overlapping entries down, then what hangs over the lower edge up again.
function spread(entries, height) {
  let least = 0;
  for (const entry of entries) {
    entry.place = Math.max(entry.at, least);
    least = entry.place + LINE_HEIGHT;
  }
  let most = height;
  for (const entry of [...entries].reverse()) {
    entry.place = Math.min(entry.place, most);
    most = entry.place - LINE_HEIGHT;
  }
}

// Along the slope, near its left end: above it, below where the next line above is too close, further on where both are.
function slopeLabels(traces, frame) {
  const slopes = traces.map((t) => slopeOf(t, frame));
  let along = 0;
  return traces.flatMap((t, index) => {
    const { start, end, angle, height } = slopes[index];
    const length = textWidth(t.meta.label);
    const gapTo = (other) => (other ? Math.abs(other.height - height) * Math.cos(angle) : Infinity);
    const [above, below] = [gapTo(slopes[index - 1]), gapTo(slopes[index + 1])].map((gap) => gap > SLOPE_GAP);
    along = above || below ? length * 0.75 : along + length * 1.25;
    if (end.x - start.x < length * Math.cos(angle)) return [];
    const away = above || !below ? 9 : -9;
    const x = start.x + along * Math.cos(angle) - away * Math.sin(angle);
    const y = start.y - along * Math.sin(angle) - away * Math.cos(angle);
    return [{
      ...plain(t.meta.label, t.line.color), xref: "paper", yref: "paper", x: x / frame.width, y: 1 - y / frame.height,
      xanchor: "center", yanchor: "middle", textangle: (-angle * 180) / Math.PI,
    }];
  });
}

// Both ends in the frame, the angle, and the height at the left edge, in pixels.
function slopeOf(trace, frame) {
  const start = firstInside(trace, frame);
  const end = { x: Math.min(frame.x(trace.x.at(-1)), frame.width), y: Math.max(frame.y(trace.y.at(-1)), 0) };
  const angle = Math.atan2(start.y - end.y, end.x - start.x);
  return { start, end, angle, height: start.y + start.x * Math.tan(angle) };
}

// Where a rising line enters the frame, in pixels.
function firstInside(trace, frame) {
  const [x0, y0] = [frame.x(trace.x[0]), frame.y(trace.y[0])];
  const [x1, y1] = [frame.x(trace.x.at(-1)), frame.y(trace.y.at(-1))];
  const rise = (y0 - y1) / (x1 - x0);
  const x = Math.max(0, x0, x0 + (y0 - frame.height) / rise);
  return { x, y: y0 - (x - x0) * rise };
}

function topLabels(traces, frame) {
  return traces
    .filter((t) => frame.x(t.x[0]) > 0 && frame.x(t.x[0]) < frame.width)
    .map((t) => ({
      ...plain(t.meta.label, pageColour("--faint")), x: Math.log10(t.x[0]), yref: "paper", y: 1, xanchor: "left", yanchor: "top", textangle: 90,
    }));
}

// The kernels that take the most time, at their slowest level, where there is room.
function kernelLabels(traces, frame) {
  const places = new Map();
  for (const place of kernelPoints(traces)) {
    if (!places.has(place.row) || places.get(place.row).x < place.x) places.set(place.row, place);
  }
  const taken = [];
  return [...places.values()]
    .sort((a, b) => b.size - a.size)
    .slice(0, frame.isNarrow ? NAMED_KERNELS_NARROW : NAMED_KERNELS)
    .flatMap((place) => kernelLabel(place, frame, taken));
}

function sizeOf(trace, index) {
  return Array.isArray(trace.marker.size) ? trace.marker.size[index] : trace.marker.size;
}

function kernelLabel(place, frame, taken) {
  const text = DATA.kernels[place.row].short;
  const [x, y, width] = [frame.x(place.x), frame.y(place.y), textWidth(text) + 6];
  if (x < 0 || x > frame.width || y < 0 || y > frame.height) return [];
  const reach = place.size / 2 + 3;
  const tries = [[reach + width / 2, 0], [0, reach + 9], [-reach - width / 2, 0], [0, -reach - 9], [reach + width / 2, 20], [reach + width / 2, -20]];
  const free = tries.find(([dx, dy]) => {
    const box = [x + dx - width / 2, y + dy - 8, x + dx + width / 2, y + dy + 8];
    return box[0] > 0 && box[2] < frame.width && box[1] > 0 && box[3] < frame.height && !taken.some((other) => overlap(box, other));
  });
  if (!free) return [];
  taken.push([x + free[0] - width / 2, y + free[1] - 8, x + free[0] + width / 2, y + free[1] + 8]);
  return [{
    ...plain(text, place.colour), x: Math.log10(place.x), y: Math.log10(place.y), xshift: free[0], yshift: -free[1],
    xanchor: "center", yanchor: "middle",
  }];
}

function overlap(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

// From one version of a kernel to the next, at the slowest level that both have.
function arrows(figureId, shown) {
  if (figureId !== "roofline") return [];
  const points = kernelPoints(shown);
  const startOf = (from, end) => points.find((p) => p.row === from && p.level === end.level);
  return DATA.steps.flatMap(([from, to]) => {
    const later = points.filter((p) => p.row === to).sort((a, b) => b.x - a.x);
    const pair = later.map((end) => [startOf(from, end), end]).find(([start]) => start);
    if (!pair) return [];
    const [start, end] = pair;
    return [{
      text: "", showarrow: true, arrowhead: 2, arrowwidth: 1.4, arrowcolor: pageColour("--ink"), standoff: 6, startstandoff: 6,
      x: Math.log10(end.x), y: Math.log10(end.y), axref: "x", ayref: "y", ax: Math.log10(start.x), ay: Math.log10(start.y),
    }];
  });
}
