"""The table of kernels: sortable by every column, each row linked to its points on the chart."""

from __future__ import annotations

from dataclasses import dataclass

from ert.columns import intensity
from ert.compare import Comparison
from ert.jsontypes import Json
from ert.judge import Judgement, Roofs
from ert.judge_advice import advice
from ert.report.kernels import bound_of, hover_parts, launches, whole_time_s
from ert.report.markup import Html, tag
from ert.short_names import short_name
from ert.units import with_prefix

# Characters of a name: in a row of the table, in the panel below the chart, and beside a marker; of a label in a row.
_NAME_IN_ROW, _NAME_IN_PANEL, _NAME_ON_CHART, _LABEL_IN_ROW = 60, 400, 28, 24


@dataclass(frozen=True, slots=True)
class _Cell:
    """``sort``: what a column of numbers is sorted by, None last; texts are sorted as they stand."""

    text: str
    sort: float | None = None
    is_number: bool = True


def kernels_html(comparison: Comparison) -> Html:
    """Longest first."""
    whole_s = whole_time_s(comparison)
    order = sorted(range(len(comparison.kernels)), key=lambda i: -comparison.kernels[i].point.time_s)
    columns = _cells(comparison.kernels[order[0]], whole_s)
    heads = [
        tag(
            "th",
            tag("button", name, type="button"),
            scope="col",
            cls="number" if cell.is_number else None,
            aria_sort="descending" if name == "time" else None,
        )
        for name, cell in columns.items()
    ]
    rows = [_row(i, comparison.kernels[i], whole_s) for i in order]
    table = tag(
        "table",
        tag("caption", "1 kernel" if len(rows) == 1 else f"{len(rows)} kernels"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows),
        id="kernel-table",
    )
    return tag("div", table, cls="scroll tall", tabindex=0, role="region", aria_label="Table of kernels")


def _row(index: int, k: Judgement, whole_s: float) -> Html:
    name, *rest = _cells(k, whole_s).values()
    button = tag("button", name.text, type="button", cls="pick")
    cells = [tag("th", button, scope="row")]
    for cell in rest:
        sort = "" if cell.sort is None else f"{cell.sort:.6g}"
        cells.append(tag("td", cell.text, data_sort=sort, cls="number") if cell.is_number else tag("td", cell.text))
    return tag("tr", *cells, data_kernel=index)


def _cells(k: Judgement, whole_s: float) -> dict[str, _Cell]:
    """Column -> cell; a kernel without FLOPs is rated by its bandwidth."""
    share = k.point.time_s / whole_s
    level, ai = k.shown_ai
    bandwidth = max(k.bandwidth_share.values(), default=None)
    label = f" [{short_name(k.point.label, _LABEL_IN_ROW)}]" if k.point.label else ""
    return {
        "kernel": _Cell(short_name(k.point.name, _NAME_IN_ROW) + label, is_number=False),
        "launches": _Cell(str(k.point.launches), float(k.point.launches)),
        "time": _Cell(with_prefix(k.point.time_s, "s"), k.point.time_s),
        "of time": _Cell(f"{100 * share:.1f} %", share),
        "rate": _Cell(with_prefix(k.rate_flop_per_s, "FLOP/s") if k.rate_flop_per_s else "-", k.rate_flop_per_s),
        "AI": _Cell(f"{intensity(ai)} {level}" if ai else "-", ai),
        "bound": _Cell(bound_of(k), is_number=False),
        "of roof": _Cell("-" if k.fraction_of_roof is None else f"{100 * k.fraction_of_roof:.1f} %", k.fraction_of_roof),
        "of bandwidth": _Cell("-" if bandwidth is None else f"{100 * bandwidth:.1f} %", bandwidth),
        "flags": _Cell(", ".join(k.flags), is_number=False),
    }


def details(comparison: Comparison) -> list[dict[str, Json]]:
    """What the chart and the panel below it say of each kernel."""
    whole_s = whole_time_s(comparison)
    return [_details(k, comparison.roofs, whole_s) for k in comparison.kernels]


def _details(k: Judgement, roofs: Roofs, whole_s: float) -> dict[str, Json]:
    """``hover`` is escaped for plotly's labels; the rest the scripts write as text, never as HTML."""
    facts = [f"bound by {bound_of(k)}"]
    if k.fraction_of_roof is not None:
        facts.append(f"{100 * k.fraction_of_roof:.1f} % of its roof")
    facts += [f"{level}: {100 * share:.1f} % of the bandwidth" for level, share in k.bandwidth_share.items() if share]
    facts += [f"AI at {level}: {intensity(ai)} FLOP/byte" for level, ai in k.ai.items() if ai]
    place = k.point.origin.file if k.point.origin.line is None else f"{k.point.origin.file}, line {k.point.origin.line}"
    return {
        "hover": list[Json](hover_parts(k, whole_s)),
        "name": short_name(k.point.name, _NAME_IN_PANEL),
        "short": short_name(k.point.name, _NAME_ON_CHART),
        "label": k.point.label,
        "time": f"{with_prefix(k.point.time_s, 's')} in {launches(k)}",
        "facts": list[Json](facts),
        "advice": advice(k, roofs),
        "place": place,
    }
