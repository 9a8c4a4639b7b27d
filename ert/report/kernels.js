// The table of kernels: sorting, filtering, and the link between a row and its points.

// How much wider than its marker the ring around a chosen kernel is, in pixels.
const RING = 10;

const kernelTable = document.getElementById("kernel-table");

function sortBy(column) {
  const heads = [...kernelTable.tHead.rows[0].cells];
  const isUp = heads[column].getAttribute("aria-sort") === "descending";
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", isUp ? "ascending" : "descending");
  const isNumber = heads[column].classList.contains("number");
  const value = (row) => (isNumber ? row.cells[column].dataset.sort : row.cells[column].textContent);
  const rows = [...kernelTable.tBodies[0].rows].sort((a, b) => compareCells(value(a), value(b), isNumber, isUp));
  kernelTable.tBodies[0].append(...rows);
}

// What is not known comes last, whichever way the column is sorted.
function compareCells(one, other, isNumber, isUp) {
  if (one === other) return 0;
  if (one === "" || other === "") return one === "" ? 1 : -1;
  const order = isNumber ? Number(one) - Number(other) : one.localeCompare(other);
  return isUp ? order : -order;
}

function filterKernels(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of kernelTable.tBodies[0].rows) {
    const content = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => content.includes(word));
    count += row.hidden ? 0 : 1;
  }
  document.getElementById("kernel-count").textContent = `${count} of ${kernelTable.tBodies[0].rows.length} shown`;
}

// Choose a kernel: its row, its points, and everything that is known of it below the chart.
function selectKernel(index) {
  state.selected = index;
  for (const row of kernelTable.tBodies[0].rows) {
    if (Number(row.dataset.kernel) === index) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  fillPanel(DATA.kernels[index]);
  if (isDrawn("roofline")) draw("roofline");
}

function fillPanel(kernel) {
  const panel = document.getElementById("chosen");
  panel.hidden = false;
  panel.querySelector("h3").textContent = kernel.label ? `${kernel.name} [${kernel.label}]` : kernel.name;
  panel.querySelector(".facts").textContent = [kernel.time, ...kernel.facts].join("; ");
  panel.querySelector(".advice").textContent = kernel.advice;
  panel.querySelector(".hint").textContent = `Read from ${kernel.place}.`;
}

// Each marker of a kernel: its row in the table, level, place, size and colour.
function kernelPoints(traces) {
  return traces
    .filter((trace) => trace.meta.rows)
    .flatMap((trace) =>
      trace.meta.rows.map((row, i) => ({
        row, level: trace.meta.level, x: trace.x[i], y: trace.y[i], size: sizeOf(trace, i), colour: trace.marker.color,
      })),
    );
}

// Rings around the chosen kernel's points, joined from level to level.
function selectionTraces(traces) {
  if (state.selected === null) return [];
  const points = kernelPoints(traces.filter((trace) => trace.visible))
    .filter((point) => point.row === state.selected)
    .sort((a, b) => a.x - b.x);
  const ink = pageColour("--ink");
  return [{
    type: "scatter", mode: "lines+markers", hoverinfo: "skip", meta: {}, visible: true,
    x: points.map((p) => p.x), y: points.map((p) => p.y), line: { color: ink, width: 1.2, dash: "dot" },
    marker: { symbol: "circle-open", size: points.map((p) => p.size + RING), color: ink, line: { width: 2, color: ink } },
  }];
}

function followClick(point) {
  const rows = point.data.meta.rows;
  if (!rows) return;
  selectKernel(rows[point.pointNumber]);
  kernelTable.querySelector("tr[aria-current]").scrollIntoView({ block: "nearest" });
}

function wireKernels() {
  if (!kernelTable) return;
  [...kernelTable.tHead.rows[0].cells].forEach((head, column) => head.querySelector("button").addEventListener("click", () => sortBy(column)));
  kernelTable.tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || !event.target.closest("button")) return;
    selectKernel(Number(row.dataset.kernel));
    document.getElementById("chart-roofline").scrollIntoView({ block: "center", behavior: "smooth" });
  });
  document.getElementById("kernel-filter").addEventListener("input", (event) => filterKernels(event.target.value));
}
