"""A diff as a table for a terminal. Nothing here prints; texts are ASCII."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.diff import Diff, Row
from ert.units import with_prefix

_STYLES = {"worse": "bold red", "same": "", "better": "green", "not comparable": "yellow"}


def diff_report(diff: Diff) -> RenderableType:
    """Both values with their intervals, the change with its own, the verdict; roofs are marked."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name in ("ceiling", "base", "new", "change", "verdict"):
        table.add_column(name, overflow="fold", justify="left" if name in ("ceiling", "verdict") else "right")
    for row in diff.rows:
        verdict = row.verdict + (f": {row.note}" if row.note and row.note != diff.note else "")
        cells = (row.ceiling + " *" * row.roof, _amount(row.base, row.base_ci95, row), _amount(row.new, row.new_ci95, row), _change(row))
        table.add_row(*map(Text, cells), Text(verdict, _STYLES[row.verdict]))
    lines = ["* a roof"]
    if diff.note:
        lines.append(f"not comparable: {diff.note}")
    if diff.environment:
        lines.append(f"changed as well: {'; '.join(diff.environment)}")
    lines.append(f"verdict: {diff.verdict} (beyond {100 * diff.threshold:g} % and the intervals)")
    return Group(table, Text(), Text("\n".join(lines)))


def _amount(value: float | None, interval: tuple[float, float] | None, row: Row) -> str:
    if value is None:
        return "-"
    half = f" +-{50 * (interval[1] - interval[0]) / value:.1f} %" if interval else ""
    return with_prefix(value, row.unit) + half


def _change(row: Row) -> str:
    if row.change is None:
        return "-"
    interval = f" [{100 * row.change_ci95[0]:+.1f}, {100 * row.change_ci95[1]:+.1f}]" if row.change_ci95 else ""
    return f"{100 * row.change:+.1f} %{interval}"
