"""The sections of the page, in their order; one without content is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ert.columns import failures, notes, precision_name, roof_keys, roof_levels
from ert.diagnostic_notes import diagnostic_notes
from ert.figure_style import PATH_DASHES
from ert.findings import Finding
from ert.judge_advice import advice
from ert.levels import FAST_TO_SLOW
from ert.provenance import provenance
from ert.report.content import Content
from ert.report.controls import Switch, level_swatch, precision_swatch, series_swatch, switches
from ert.report.figures import Figure
from ert.report.flop_sweep import sweep_keys
from ert.report.generations import Generation, common_keys, common_levels
from ert.report.kernel_table import kernels_html
from ert.report.markup import EMPTY, Html, joined, tag
from ert.report.tables import ceilings_html, generations_html, limit_sources, validation_html
from ert.short_names import short_name
from ert.validate_table import validation_notes

# With more flat lines than this, those that are no roof are off at first.
_MOST_LINES = 8
# Advice is a paragraph each; the others are one click away.
_ADVISED = 3
_MOST_SKIPPED = 12


@dataclass(frozen=True, slots=True)
class Section:
    """``id`` is where the navigation leads."""

    id: str
    title: str
    content: Html

    def html(self) -> Html:
        return tag("section", tag("h2", self.title, id=self.id), self.content, aria_labelledby=self.id)


def chart(figure_id: str, figure: Figure, caption: str, *, is_large: bool = False) -> Html:
    """The place of a chart, which the scripts fill."""
    place = tag(
        "div",
        id=f"chart-{figure_id}",
        cls="chart large" if is_large else "chart",
        data_figure=figure_id,
        tabindex=0,
        role="application",
        aria_roledescription="interactive chart",
        aria_label=f"{figure.summary} Arrow keys go from point to point.",
    )
    return tag("figure", place, tag("figcaption", caption))


def roofline_section(content: Content, figure: Figure) -> Section:
    """The chart, its switches, and the panel of the chosen kernel."""
    ceilings = content.ceilings
    keys = roof_keys(ceilings)
    others = sum(not c.roof for c in ceilings.compute_ceilings)
    has_kernels = bool(content.comparison and content.comparison.kernels)
    offered = {
        "kernels": Switch("kernels", "kernels"),
        "points": Switch("points", "measured points", is_on=not has_kernels),
        "corners": Switch("corners", "rounded corners", is_on=not has_kernels),
        "other": Switch("other", "other instructions", is_on=others + len(keys) <= _MOST_LINES),
    }
    controls = tag(
        "div",
        switches("roofline", "level", "Memory levels", [Switch(name, name, level_swatch(name)) for name in roof_levels(ceilings)]),
        switches("roofline", "key", "Precisions", [_precision_switch(*key) for key in keys]),
        switches("roofline", "layer", "Show", [s for layer, s in offered.items() if layer in figure.tagged("layer")]),
        cls="controls",
    )
    hint = "Hover over a line or point for its numbers and their 95 % intervals; drag to zoom, double-click to zoom out. "
    hint += "On the keyboard: Tab to the chart, then the arrow keys, + and - to zoom, 0 for all"
    hint += "; Enter chooses a kernel." if has_kernels else "."
    caption = "Below the slope of a level no kernel moves its bytes faster; below a flat roof none computes faster."
    parts = [tag("p", hint, cls="hint"), controls, chart("roofline", figure, caption, is_large=True)]
    return Section("roofline", "Roofline", joined([*parts, _panel()] if has_kernels else parts))


def _precision_switch(precision: str, path: str) -> Switch:
    name = precision_name(precision, path)
    return Switch(name, name, precision_swatch(precision, PATH_DASHES.get(path, "solid")))


def _panel() -> Html:
    """Filled when a kernel is chosen."""
    inner = (tag("h3"), tag("p", cls="facts"), tag("p", cls="advice"), tag("p", cls="hint"))
    return tag("div", *inner, id="chosen", cls="panel", hidden=True, aria_live="polite")


def kernels_section(content: Content) -> Section:
    """The table, advice for the longest ones, trajectories, and what could not be placed."""
    comparison = content.shown
    assert comparison is not None  # there is no such section otherwise
    parts: list[Html] = []
    if comparison.kernels:
        box = tag("input", id="kernel-filter", type="search", autocomplete="off")
        count = tag("span", f"{len(comparison.kernels)} of {len(comparison.kernels)} shown", id="kernel-count", role="status", cls="facts")
        parts.append(tag("div", tag("label", "Filter ", box), count, cls="controls filter"))
        parts.append(tag("p", "Choose a name to see the kernel on the chart, and what to try.", cls="hint"))
        parts.append(kernels_html(comparison))
        if content.hidden_kernels:
            parts.append(tag("p", f"{content.hidden_kernels} shorter ones are left out; ert compare --top 0 lists them all.", cls="notice"))
        longest = sorted(comparison.kernels, key=lambda k: -k.point.time_s)[:_ADVISED]
        items = [tag("li", tag("code", short_name(k.point.name)), ": ", advice(k, comparison.roofs)) for k in longest]
        parts.append(tag("h3", "What the longest ones wait for"))
        parts.append(tag("ul", *items, cls="notes"))
    if comparison.trajectories:
        steps = [f"{t.name}: {s.earlier} to {s.later}: {s.note}" for t in comparison.trajectories for s in t.steps]
        parts += [tag("h3", "From version to version"), _list(steps)]
    if comparison.skipped:
        names = [f"{short_name(s.name)}: {s.reason}" for s in comparison.skipped[:_MOST_SKIPPED]]
        more = len(comparison.skipped) - len(names)
        parts += [tag("h3", "Not placed"), _list(names + ([f"and {more} more; ert compare lists them"] if more else []))]
    return Section("kernels", "Kernels", joined(parts))


def _list(lines: list[str]) -> Html:
    return tag("ul", *(tag("li", line) for line in lines), cls="notes")


def ceilings_section(content: Content) -> Section:
    """What ``ert show`` prints."""
    sources = limit_sources(content.ceilings)
    parts = [ceilings_html(content.ceilings), _list([*notes(content.ceilings), *diagnostic_notes(content.ceilings)])]
    if sources:
        parts.append(tag("details", tag("summary", "Where the limits come from"), _list(sources)))
    return Section("ceilings", "Ceilings", joined(parts))


def curves_section(figure: Figure) -> Section:
    """The working-set curves."""
    controls = tag(
        "div",
        switches("curves", "op", "Operations", [Switch(op, op, series_swatch(i)) for i, op in enumerate(figure.tagged("op"))]),
        cls="controls",
    )
    caption = "Thick lines: the plateaus that became ceilings. Dotted: where a level is full, as the device reports it."
    return Section("curves", "Bandwidth against working set", joined([controls, chart("curves", figure, caption)]))


def sweep_section(content: Content, figure: Figure) -> Section:
    """The FLOP sweep, one precision at a time."""
    colours = {name: series_swatch(index) for index, name in enumerate(FAST_TO_SLOW)}
    keys = [Switch(key, key, is_on=not index) for index, key in enumerate(sweep_keys(content.ceilings))]
    controls = tag(
        "div",
        switches("sweep", "key", "Precision", keys, one_of=True),
        switches("sweep", "level", "Memory levels", [Switch(level, level, colours.get(level, EMPTY)) for level in figure.tagged("level")]),
        cls="controls",
    )
    caption = (
        "Markers: measured. Solid: the fit with its rounded corner. Dotted: the two roofs measured on their own, which meet in a point."
    )
    return Section("sweep", "Rate against FLOPs per element", joined([controls, chart("sweep", figure, caption)]))


def generations_section(found: list[Generation], figure: Figure) -> Section:
    """Several devices or dates: chart, switches and table."""
    levels, keys = common_levels(found), [precision_name(*key) for key in common_keys(found)]
    controls = tag(
        "div",
        switches("generations", "device", "Devices", [Switch(g.name, g.name, series_swatch(i)) for i, g in enumerate(found)]),
        switches("generations", "level", "Memory level", [Switch(x, x, is_on=x == levels[-1]) for x in levels], one_of=True),
        switches("generations", "key", "Precision", [Switch(key, key, is_on=not i) for i, key in enumerate(keys)], one_of=True),
        cls="controls",
    )
    caption = (
        "The dotted line leads from ridge to ridge: where it moves right, a kernel needs more FLOPs per byte to use the compute it got."
    )
    body = [controls, chart("generations", figure, caption), generations_html(found)]
    return Section("generations", "Comparison", joined(body))


def validation_section(content: Content) -> Section | None:
    """None where there is nothing to validate."""
    validation = content.validation
    if validation is None or not validation.rows:
        return None
    verdict = tag("p", "Verdict: ", tag("strong", validation.verdict), f" ({validation.spec_reason})")
    return Section(
        "validation", "Against the spec sheet", joined([verdict, validation_html(validation), _list(validation_notes(validation))])
    )


def warnings_section(content: Content) -> Section:
    """Warnings of the sweep and of the comparison, and what could not be measured."""
    found = [*content.ceilings.warnings, *(content.comparison.findings if content.comparison else ())]
    items = [_finding(f) for f in found]
    items += [tag("li", line) for line in failures(content.ceilings)]
    body = tag("ul", *items, cls="warnings") if items else tag("p", "None.")
    return Section("warnings", "Warnings", joined([body]))


def _finding(f: Finding) -> Html:
    remedy = [tag("span", f" {f.remedy}", cls="remedy")] if f.remedy else []
    return tag("li", f"{f.message} ", tag("code", f.code), *remedy)


def provenance_section(content: Content) -> Section:
    """Where the numbers come from, and the command that makes them again."""
    found = provenance(content.ceilings)
    first = {name: getattr(found, name) for name in ("device", "clock", "threads", "date", "tool")}
    device = {f"device {name}": text for name, text in _flat("", content.ceilings.device) if name not in ("name", "id")}
    again = [tag("p", "Make it again with:"), tag("pre", found.command)]
    everything = _terms(dict(_flat("", content.ceilings.environment)) | device)
    details = tag("details", tag("summary", "Everything the file says of the machine"), everything)
    return Section("provenance", "Provenance", joined([_terms(first), *again, details]))


def _terms(facts: Mapping[str, str]) -> Html:
    return tag("dl", *(piece for name, text in facts.items() if text for piece in (tag("dt", name), tag("dd", text))))


def _flat(prefix: str, facts: object) -> Iterator[tuple[str, str]]:
    """Nested facts as lines: ``packages numpy`` -> ``2.0.1``. The host's name is not for everyone the report is sent to."""
    if isinstance(facts, dict):
        for key, value in facts.items():
            if key not in ("host", "uuid", "serial"):
                yield from _flat(f"{prefix} {key}".strip(), value)
    elif facts is not None:
        yield prefix, ", ".join(map(str, facts)) if isinstance(facts, list) else str(facts)
