"""An analysis as a table for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.analyze import Analysis, Row, flags_of, outlook
from ert.levels import FAST_TO_SLOW
from ert.units import with_prefix

# Narrower than this, FLOPs, bytes and intensities give way.
ROOMY_WIDTH = 130
_FOLDED = ("work", "flags")


def analysis_report(analysis: Analysis, width: int = ROOMY_WIDTH) -> RenderableType:
    """One row per piece of work, and under the table how each is read; for a terminal ``width`` columns wide."""
    rows = analysis.rows
    parts: list[RenderableType] = [_table(rows, is_roomy=width >= ROOMY_WIDTH)]
    for row in rows:
        text = "\n  ".join([outlook(row, analysis.roofs), *row.notes])
        parts.append(Text.assemble((f"\n{row.judgement.point.name}", "bold"), f"\n  {text}"))
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _Column:
    """Numbers stand right."""

    name: str
    cell: Callable[[Row], str]
    is_number: bool = True


def _table(rows: Sequence[Row], *, is_roomy: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    columns = list(_columns(rows, is_roomy=is_roomy))
    for c in columns:
        table.add_column(c.name, justify="right" if c.is_number else "left", overflow="fold", no_wrap=c.name not in _FOLDED)
    for row in rows:
        table.add_row(*(Text(c.cell(row)) for c in columns))
    return table


def _columns(rows: Sequence[Row], *, is_roomy: bool) -> Iterator[_Column]:
    """All of them where there is room; else those that compare: bound, time floor and what was reached."""
    yield _Column("work", lambda r: r.judgement.point.name, is_number=False)
    if is_roomy:
        levels = [level for level in FAST_TO_SLOW if any(level in row.judgement.point.bytes for row in rows)]
        yield _Column("FLOPs", lambda r: with_prefix(r.judgement.point.total_flops or 0.0, "FLOP"))
        yield from (_Column(f"D {level}", _bytes_at(level)) for level in levels)
        yield from (_Column(f"AI {level}", _ai_at(level)) for level in levels)
    yield _Column("bound", _bound, is_number=False)
    if is_roomy:
        yield _Column("roof", lambda r: _quantity(r.judgement.attainable_flop_per_s, "FLOP/s"))
    yield _Column("time floor", lambda r: _quantity(r.judgement.time_floor_s, "s"))
    if any(row.has_time for row in rows):
        yield _Column("time", lambda r: with_prefix(r.judgement.point.time_s, "s"))
        yield _Column("rate", lambda r: _quantity(r.judgement.rate_flop_per_s, "FLOP/s"))
        yield _Column("of roof", lambda r: "-" if r.judgement.fraction_of_roof is None else f"{100 * r.judgement.fraction_of_roof:.1f} %")
    yield _Column("flags", lambda r: ", ".join(flags_of(r)), is_number=False)


def _bytes_at(level: str) -> Callable[[Row], str]:
    return lambda row: _quantity(row.judgement.point.bytes.get(level), "B")


def _ai_at(level: str) -> Callable[[Row], str]:
    return lambda row: "-" if (ai := row.judgement.ai.get(level)) is None else f"{ai:.4g}"


def _bound(row: Row) -> str:
    bound = row.judgement.bound
    return "-" if bound is None else bound.kind if bound.kind == "latency" else f"{bound.kind}: {bound.name}"


def _quantity(value: float | None, unit: str) -> str:
    return "-" if value is None else with_prefix(value, unit)
