// Charts without a mouse: arrow keys go from point to point, and what stands there is shown and spoken.

function wireKeyboard(chart) {
  const at = { trace: 0, point: -1 };
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Escape") Plotly.Fx.unhover(chart);
    else if (event.key === "Enter") enter(chart, at);
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

function move(chart, at, [traceStep, pointStep]) {
  const traces = walkable(chart);
  if (!traces.length) return;
  at.trace = (at.trace + traceStep + traces.length) % traces.length;
  const { trace, curveNumber } = traces[at.trace];
  const order = [...trace.x.keys()].sort((a, b) => trace.x[a] - trace.x[b]);
  // A line says the same all along: from it, one key leads to the next place a third further.
  const stride = trace.mode === "lines" ? Math.ceil(order.length / 3) : 1;
  at.point = Math.max(0, Math.min(order.length - 1, at.point < 0 ? 0 : at.point + pointStep * stride));
  if (traceStep) at.point = 0;
  Plotly.Fx.hover(chart, [{ curveNumber, pointNumber: order[at.point] }]);
  speak(trace, order[at.point]);
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
  const order = [...entry.trace.x.keys()].sort((a, b) => entry.trace.x[a] - entry.trace.x[b]);
  selectKernel(entry.trace.meta.rows[order[at.point]]);
}
