"""A ceilings file as tables for a terminal. Nothing here prints; the command line does.

Texts are ASCII: they must survive any terminal and any pipe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.ceilings import BandwidthCeiling, Ceilings, ComputeCeiling
from ert.levels import FAST_TO_SLOW
from ert.precisions import PRECISIONS
from ert.provenance import provenance
from ert.units import capacity, with_prefix

# Narrower than this, the tables leave out the working sets: numbers that are cut off help nobody.
ROOMY_WIDTH = 100


def ceilings_report(ceilings: Ceilings, width: int = ROOMY_WIDTH) -> RenderableType:
    """Everything a person needs from the file, for a terminal ``width`` columns wide.

    Provenance, ceilings with intervals, ridge points, notes, what could not be measured, warnings, the command.
    """
    return Group(*_blank_lines_between(list(_parts(ceilings, is_roomy=width >= ROOMY_WIDTH))))


def _parts(ceilings: Ceilings, *, is_roomy: bool) -> Iterator[RenderableType]:
    yield _heading(ceilings)
    if ceilings.bandwidth_ceilings:
        yield bandwidth_table(ceilings, is_roomy=is_roomy)
    if ceilings.compute_ceilings:
        yield compute_table(ceilings, is_roomy=is_roomy)
    if ceilings.bandwidth_roofs and ceilings.compute_roofs:
        yield ridge_table(ceilings)
    for part in (_notes(ceilings), _failures(ceilings), _warnings(ceilings)):
        if part.plain:
            yield part
    yield Text(f"Made by: {provenance(ceilings).command}")


def _blank_lines_between(parts: list[RenderableType]) -> Iterator[RenderableType]:
    for index, part in enumerate(parts):
        if index:
            yield Text()
        yield part


def _heading(ceilings: Ceilings) -> Text:
    found = provenance(ceilings)
    facts = ", ".join(filter(None, (found.clock, found.threads, found.date, found.tool)))
    return Text.assemble((found.device, "bold"), f"\n{facts}")


def bandwidth_table(ceilings: Ceilings, *, is_roomy: bool = True) -> Table:
    """One row per level and operation, levels fast to slow, the fastest operation first."""
    rows = sorted(ceilings.bandwidth_ceilings, key=lambda c: (_rank(c.level, FAST_TO_SLOW), -c.value))
    columns = [_Column("level", [c.level for c in rows]), *_measured(rows)]
    if is_roomy:
        columns.append(_Column("working set", [_working_set(c) for c in rows], is_number=True))
    return _table("Bandwidth", rows, columns + _remarks(rows, is_roomy=is_roomy))


def _working_set(c: BandwidthCeiling) -> str:
    if c.working_set_bytes is None:
        return ""
    low, high = map(capacity, c.working_set_bytes)
    return low if low == high else f"{low} .. {high}"


def compute_table(ceilings: Ceilings, *, is_roomy: bool = True) -> Table:
    """One row per precision, path and operation; integer precisions in operations per second."""
    rows = sorted(ceilings.compute_ceilings, key=lambda c: (_rank(c.precision, list(PRECISIONS)), c.path != "vector", not c.roof, -c.value))
    columns = [_Column("precision", [precision_name(c.precision, c.path) for c in rows]), *_measured(rows)]
    return _table("Compute", rows, columns + _remarks(rows, is_roomy=is_roomy))


def ridge_table(ceilings: Ceilings) -> Table:
    """Arithmetic intensity where each compute roof meets each level; below it the level binds."""
    levels = sorted(ceilings.bandwidth_roofs, key=lambda level: _rank(level, FAST_TO_SLOW))
    keys = sorted(ceilings.compute_roofs, key=lambda key: (_rank(key[0], list(PRECISIONS)), key[1] != "vector"))
    columns = [_Column("precision", [precision_name(*key) for key in keys])]
    columns += [_Column(level, [_intensity(ceilings.ridge(level, *key)) for key in keys], is_number=True) for level in levels]
    return _table("Ridge points, FLOP/byte", None, columns)


def _intensity(ai_flop_per_byte: float) -> str:
    """Three digits, written out: ``0.185``, ``1230``."""
    return f"{float(f'{ai_flop_per_byte:.3g}'):g}"


def precision_name(precision: str, path: str) -> str:
    """``fp64``, ``fp64 tensor``: the vector path goes without saying."""
    return precision if path == "vector" else f"{precision} {path}"


def rate_unit(ceiling: ComputeCeiling) -> str:
    """``FLOP/s``, or ``OP/s`` where the operations are on integers."""
    return "FLOP/s" if ceiling.is_float else "OP/s"


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of a table; numbers stand right and are never folded."""

    name: str
    cells: list[str]
    is_number: bool = False


_Rows = Sequence[BandwidthCeiling | ComputeCeiling]


def _measured(rows: _Rows) -> list[_Column]:
    units = ["B/s" if isinstance(c, BandwidthCeiling) else rate_unit(c) for c in rows]
    return [
        _Column("op", [f"{c.op} *" if c.roof else c.op for c in rows]),
        _Column("value", [with_prefix(c.value, unit) for c, unit in zip(rows, units, strict=True)], is_number=True),
        _Column("95 % interval", [_interval(c, unit) for c, unit in zip(rows, units, strict=True)], is_number=True),
        _Column("of limit", ["" if c.share_of_limit is None else f"{100 * c.share_of_limit:.1f} %" for c in rows], is_number=True),
    ]


def _remarks(rows: _Rows, *, is_roomy: bool) -> list[_Column]:
    columns = [_Column("kernel", [c.kernel for c in rows])] if is_roomy else []
    if any(c.flags for c in rows):
        columns.append(_Column("flags", [", ".join(c.flags) for c in rows]))
    return columns


def _interval(c: BandwidthCeiling | ComputeCeiling, unit: str) -> str:
    """``1.439 .. 1.445``, in the unit of the value beside it; with units where the prefix changes in between."""
    if c.ci95 is None:
        return "too few samples"
    low, value, high = (with_prefix(number, unit) for number in (c.ci95[0], c.value, c.ci95[1]))
    suffixes = {text.partition(" ")[2] for text in (low, value, high)}
    return f"{low} .. {high}" if len(suffixes) > 1 else f"{low.partition(' ')[0]} .. {high.partition(' ')[0]}"


def _table(title: str, rows: _Rows | None, columns: list[_Column]) -> Table:
    """The columns side by side; rows that are roofs stand out."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False
    )
    for column in columns:
        table.add_column(
            column.name, justify="right" if column.is_number else "left", no_wrap=column.name not in {"kernel", "flags"}, overflow="fold"
        )
    for index, cells in enumerate(zip(*(column.cells for column in columns), strict=True)):
        # Text, not str: a kernel or flag may hold brackets, which rich would take for markup.
        table.add_row(*map(Text, cells), style="bold" if rows and rows[index].roof else "")
    return table


def _rank(name: str, order: Sequence[str]) -> tuple[int, str]:
    """Position in a table of known names; names of a newer version come last, by name."""
    return (order.index(name), "") if name in order else (len(order), name)


def _notes(ceilings: Ceilings) -> Text:
    lines = ["* the roof: highest sustained operation of its level, or FMA / MMA of its precision and path"]
    held = {c.level: capacity(c.capacity_bytes) for c in ceilings.bandwidth_roofs.values() if c.capacity_bytes}
    if held:
        lines.append("capacity: " + ", ".join(f"{level} {size}" for level, size in held.items()))
    if without := _without_limit(ceilings):
        lines.append(f"no physical limit known for: {', '.join(without)}")
    if ceilings.launch_overhead_s is not None:
        lines.append(f"starting a kernel takes {with_prefix(ceilings.launch_overhead_s, 's')}")
    return Text("\n".join(lines))


def _without_limit(ceilings: Ceilings) -> list[str]:
    named = [(c.level if isinstance(c, BandwidthCeiling) else precision_name(c.precision, c.path), c) for c in ceilings.all_ceilings]
    with_one = {name for name, c in named if c.limit is not None}
    # Where every operation lacks one, the name alone says it.
    return list(dict.fromkeys(f"{name} {c.op}" if name in with_one else name for name, c in named if c.limit is None))


def _failures(ceilings: Ceilings) -> Text:
    """One line per reason, with how many points it cost."""
    failed = Counter((p.status, p.precision, p.kernel, p.reason or "no reason given") for p in ceilings.points if p.status != "ok")
    return Text(
        "\n".join(f"{status}: {precision} {kernel} ({_count(n)}): {why}" for (status, precision, kernel, why), n in sorted(failed.items()))
    )


def _count(points: int) -> str:
    return f"{points} point{'s' if points != 1 else ''}"


def _warnings(ceilings: Ceilings) -> Text:
    lines = []
    for w in ceilings.warnings:
        lines.append(f"warning: {w.message} [{w.code}]")
        if w.remedy:
            lines.append(f"         remedy: {w.remedy}")
    return Text("\n".join(lines), style="yellow")
