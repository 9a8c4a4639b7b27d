// What the page holds: the figures, what is switched on, and the theme.

const DATA = JSON.parse(document.getElementById("report-data").textContent);
const PREFERS_DARK = window.matchMedia("(prefers-color-scheme: dark)");
const THEME_CHOICES = ["auto", "light", "dark"];

const state = { theme: "auto", printing: false, folded: [], selected: null };

function isDark() {
  if (state.printing) return false;
  return state.theme === "dark" || (state.theme === "auto" && PREFERS_DARK.matches);
}

function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A trace's colour is a pair: on the light background, and on the dark one.
function pick(colours) {
  return colours[isDark() ? 1 : 0];
}

// The values of a field (level, key, op, layer) that are switched on in a figure; null where it has no such switch.
function switchedOn(figureId, field) {
  const inputs = [...document.querySelectorAll(`input[data-figure="${figureId}"][data-field="${field}"]`)];
  return inputs.length ? new Set(inputs.filter((input) => input.checked).map((input) => input.value)) : null;
}

function isShown(meta, switches) {
  return Object.entries(switches).every(([field, on]) => on === null || meta[field] === undefined || on.has(meta[field]));
}

function switchesOf(figureId) {
  return Object.fromEntries(["level", "key", "op", "layer", "device"].map((field) => [field, switchedOn(figureId, field)]));
}
