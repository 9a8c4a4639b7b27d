"""A validation as a table for a terminal: promised, theoretical, measured, and the two ratios. Nothing here prints."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.columns import Column
from ert.spec_units import parse_amount
from ert.units import SYMBOLS, capacity, with_prefix
from ert.validation import Row, Validation

_STYLES = {"pass": "", "below": "bold red", "above": "bold yellow", "unknown": "dim"}
_PEAK = "peak"
# Narrower than this, the table leaves out the theoretical peak and keeps its ratio: numbers that are cut off help nobody.
ROOMY_WIDTH = 84


def validation_report(validation: Validation, width: int = ROOMY_WIDTH) -> RenderableType:
    """Which sheet, the table, one line per note, the verdict; for a terminal ``width`` columns wide."""
    parts: list[RenderableType] = [_heading(validation)]
    if validation.rows:
        parts += [Text(), _table(validation, is_roomy=width >= ROOMY_WIDTH)]
    if notes := validation_notes(validation):
        parts += [Text(), Text("\n".join(notes))]
    return Group(*parts, Text(), Text(f"verdict: {validation.verdict}", style=_STYLES[validation.verdict] or "bold"))


def _heading(validation: Validation) -> Text:
    if validation.spec:
        return Text.assemble((validation.device, "bold"), f" against the sheet {validation.spec} ({validation.spec_reason})")
    text = Text.assemble((validation.device, "bold"), f" against its theoretical peak only: {validation.spec_reason}.")
    if validation.candidates:
        text.append(f"\nSheets to choose from with --spec: {', '.join(validation.candidates)}")
    return text


def validation_columns(validation: Validation) -> list[Column]:
    """For whatever draws them; one cell per row of the validation."""
    rows = validation.rows
    return [
        Column("what", [row.what for row in rows]),
        Column("sheet", [_promised(row) for row in rows], is_number=True),
        Column(_PEAK, [_amount(row.theoretical, row) for row in rows], is_number=True),
        Column("measured", [_amount(row.measured, row) for row in rows], is_number=True),
        Column("of sheet", [_percent(row.ratio) for row in rows], is_number=True),
        Column("of peak", [_percent(row.theoretical_ratio) for row in rows], is_number=True),
        Column("verdict", [row.verdict for row in rows]),
    ]


def _table(validation: Validation, *, is_roomy: bool) -> Table:
    columns = [c for c in validation_columns(validation) if is_roomy or c.name != _PEAK]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for c in columns:
        table.add_column(c.name, justify="right" if c.is_number else "left", overflow="fold")
    for row, cells in zip(validation.rows, zip(*(c.cells for c in columns), strict=True), strict=True):
        *plain, verdict = cells
        table.add_row(*map(Text, plain), Text(verdict, style=_STYLES[row.verdict]))
    return table


def _promised(row: Row) -> str:
    """Per device and dense; a capacity as printed, unless it was read as binary or scaled to a slice."""
    if row.unit == "byte" and row.sheet and parse_amount(row.sheet).value == row.spec:
        return row.sheet
    return _amount(row.spec, row)


def _amount(value: float | None, row: Row) -> str:
    if value is None:
        return "-"
    return capacity(value) if row.unit == "byte" else with_prefix(value, SYMBOLS[row.unit])


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * ratio:.3g} %" if ratio < 0.1 else f"{100 * ratio:.1f} %"


def validation_notes(validation: Validation) -> list[str]:
    """What peak means, then one line per note; rows that share one stand together."""
    owners: dict[str, list[str]] = {}
    for row in validation.rows:
        if row.note:
            owners.setdefault(row.note, []).append(row.what)
    lines = ["peak: the theoretical one, at the measured clock"] if any(row.theoretical for row in validation.rows) else []
    return [*lines, *(f"{', '.join(whats)}: {note}" for note, whats in owners.items())]
