"""The tables of the report as HTML: ceilings, ridge points, validation, generations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ert.ceilings import Ceilings
from ert.columns import CeilingsTable, Column, ceilings_tables, intensity, precision_name
from ert.provenance import provenance
from ert.report.generations import Generation, common_keys, common_levels
from ert.report.markup import Html, joined, tag
from ert.units import with_prefix
from ert.validate_table import validation_columns
from ert.validation import Validation


def html_table(caption: str, columns: Sequence[Column], rows: Iterable[Html]) -> Html:
    """A table that scrolls sideways by itself where the page is narrow, also with the keyboard."""
    heads = [tag("th", c.name, scope="col", cls="number" if c.is_number else None) for c in columns]
    table = tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return tag("div", table, cls="scroll", tabindex=0, role="region", aria_label=caption)


def plain_rows(columns: Sequence[Column], classes: Sequence[str] = ()) -> list[Html]:
    """One row per line of the columns, the first cell its heading; ``classes`` one per row, or none."""
    rows = []
    for index, cells in enumerate(zip(*(c.cells for c in columns), strict=True)):
        first = tag("th", cells[0], scope="row")
        rest = [
            tag("td", _shown(c.name, cell), cls="number" if c.is_number else None) for c, cell in zip(columns[1:], cells[1:], strict=True)
        ]
        rows.append(tag("tr", first, *rest, cls=classes[index] if classes else None))
    return rows


def _shown(column: str, cell: str) -> str:
    """A share gets a bar behind it."""
    if not column.startswith("of ") or not cell.endswith("%"):
        return cell
    percent = min(100.0, float(cell.removesuffix("%")))
    return tag("span", cell, cls="share", style=f"--share:{percent:.1f}%")


def ceilings_html(ceilings: Ceilings) -> Html:
    """Bandwidth, compute and ridge points, as ``ert show`` prints them; roofs stand out."""
    return joined(_ceilings_table(table) for table in ceilings_tables(ceilings))


def notebook_html(ceilings: Ceilings) -> Html:
    """A heading with the provenance above the tables, for the cell of a notebook."""
    found = provenance(ceilings)
    return joined([tag("p", tag("strong", found.device), tag("br"), found.state), ceilings_html(ceilings)])


def _ceilings_table(table: CeilingsTable) -> Html:
    classes = ["roof" if is_roof else "other" for is_roof in table.roofs]
    return html_table(table.title, table.columns, plain_rows(table.columns, classes))


def limit_sources(ceilings: Ceilings) -> list[str]:
    """Where the limits come from, each said once with what it is the limit of."""
    owners: dict[str, list[str]] = {}
    for b in ceilings.bandwidth_ceilings:
        if b.limit and b.limit_source:
            owners.setdefault(b.limit_source, []).append(f"{b.level} {b.op}")
    for c in ceilings.compute_ceilings:
        if c.limit and c.limit_source:
            owners.setdefault(c.limit_source, []).append(f"{precision_name(c.precision, c.path)} {c.op}")
    return [f"{', '.join(names)}: {source}" for source, names in owners.items()]


def validation_html(validation: Validation) -> Html:
    """One row per number of the sheet, and per roof that it does not speak of."""
    columns = validation_columns(validation)
    caption = f"{validation.device} against {validation.spec or 'its theoretical peak'}"
    return html_table(caption, columns, plain_rows(columns, [f"verdict-{row.verdict}" for row in validation.rows]))


def generations_html(found: Sequence[Generation]) -> Html:
    """A column per device: bandwidth of the slowest level, then peak and ridge of every precision, with the ratio to the first."""
    level = common_levels(found)[-1]
    names = ["date", f"{level} bandwidth"]
    rows = [[g.ceilings.created[:10] for g in found], _with_ratios([_bandwidth(g, level) for g in found], "B/s")]
    for key in common_keys(found):
        name = precision_name(*key)
        names += [f"{name} peak", f"{name} ridge, FLOP/byte"]
        rows += [_with_ratios([_peak(g, key) for g in found], "FLOP/s"), _with_ratios([_ridge(g, level, key) for g in found], None)]
    columns = [Column(f"at {level}", names)]
    columns += [Column(g.name, [row[i] for row in rows], is_number=True) for i, g in enumerate(found)]
    return html_table(f"Ridge points at {level}, with the ratio to {found[0].name}", columns, plain_rows(columns))


def _bandwidth(g: Generation, level: str) -> float | None:
    roof = g.ceilings.bandwidth_roofs.get(level)
    return roof.value if roof else None


def _peak(g: Generation, key: tuple[str, str]) -> float | None:
    roof = g.ceilings.compute_roofs.get(key)
    return roof.value if roof else None


def _ridge(g: Generation, level: str, key: tuple[str, str]) -> float | None:
    bandwidth, peak = _bandwidth(g, level), _peak(g, key)
    return peak / bandwidth if bandwidth and peak else None


def _with_ratios(values: Sequence[float | None], unit: str | None) -> list[str]:
    first = values[0]
    cells = []
    for index, value in enumerate(values):
        text = "" if value is None else with_prefix(value, unit) if unit else intensity(value)
        cells.append(f"{text} (x{value / first:.2f})" if index and value and first else text)
    return cells
