// Wire the page: theme, switches, print, charts. The tables are there before plotly is.

function showTheme() {
  document.documentElement.dataset.theme = state.printing ? "light" : state.theme;
  document.documentElement.toggleAttribute("data-dark", isDark());
  const button = document.getElementById("theme");
  button.textContent = `Theme: ${state.theme}`;
}

function nextTheme() {
  state.theme = THEME_CHOICES[(THEME_CHOICES.indexOf(state.theme) + 1) % THEME_CHOICES.length];
  showTheme();
  redrawAll();
}

// Paper is light and narrower than the screen; every chart must be there, the first on the first page.
const PAPER = { width: "680px", height: "440px" };

function preparePrint() {
  state.printing = true;
  showTheme();
  state.folded = [...document.querySelectorAll("details:not([open])")];
  unfold(true);
  for (const figureId of Object.keys(DATA.figures)) {
    Object.assign(chartOf(figureId).style, PAPER);
    draw(figureId);
    Plotly.Plots.resize(chartOf(figureId));
  }
}

function endPrint() {
  state.printing = false;
  showTheme();
  unfold(false);
  for (const figureId of Object.keys(DATA.figures)) Object.assign(chartOf(figureId).style, { width: "", height: "" });
  redrawAll();
}

// Nobody can click on paper.
function unfold(isOpen) {
  for (const details of state.folded) details.open = isOpen;
}

// Plotly lies in the page as compressed text: a third of the size. It runs because the page's policy knows its hash.
async function loadPlotly() {
  const packed = atob(document.getElementById("plotly").textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i += 1) bytes[i] = packed.charCodeAt(i);
  const script = document.createElement("script");
  script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(script);
}

function startCharts() {
  window.addEventListener("beforeprint", preparePrint);
  window.addEventListener("afterprint", endPrint);
  wireSwitches();
  Object.keys(DATA.figures).forEach((figureId) => wireKeyboard(chartOf(figureId)));
  drawLazily();
}

function wireSwitches() {
  for (const input of document.querySelectorAll("input[data-figure]")) {
    input.addEventListener("change", () => draw(input.dataset.figure));
  }
}

showTheme();
document.getElementById("theme").addEventListener("click", nextTheme);
document.getElementById("print").addEventListener("click", () => window.print());
PREFERS_DARK.addEventListener("change", () => {
  showTheme();
  redrawAll();
});
wireKernels();
loadPlotly().then(startCharts);
