"""What the tables of a ceilings file say, cell by cell, for whatever draws them: a terminal, a web page, Markdown, LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling, ComputeCeiling
from ert.levels import FAST_TO_SLOW
from ert.precisions import PRECISIONS, rate_unit
from ert.units import capacity, with_prefix

Rows = Sequence[Ceiling]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table; numbers stand right and are never folded."""

    name: str
    cells: list[str]
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class CeilingsTable:
    """A titled table. ``roofs`` says of each row whether it is a roof; empty where that means nothing."""

    title: str
    columns: tuple[Column, ...]
    roofs: tuple[bool, ...] = ()

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return list(zip(*(column.cells for column in self.columns), strict=True))


def ceilings_tables(ceilings: Ceilings, *, is_roomy: bool = True) -> list[CeilingsTable]:
    """Bandwidth, compute and ridge points, as far as the file has them; ``is_roomy`` adds working sets and kernels."""
    tables = []
    if ceilings.bandwidth_ceilings:
        tables.append(bandwidth_table(ceilings, is_roomy=is_roomy))
    if ceilings.compute_ceilings:
        tables.append(compute_table(ceilings, is_roomy=is_roomy))
    if ceilings.bandwidth_roofs and ceilings.compute_roofs:
        tables.append(ridge_table(ceilings))
    return tables


def bandwidth_table(ceilings: Ceilings, *, is_roomy: bool = True) -> CeilingsTable:
    """One row per level and operation."""
    rows = bandwidth_rows(ceilings)
    columns = [Column("level", [c.level for c in rows]), *_measured(rows)]
    if is_roomy:
        columns.append(Column("working set", [_working_set(c) for c in rows], is_number=True))
    return CeilingsTable("Bandwidth", (*columns, *_remarks(rows, is_roomy=is_roomy)), tuple(c.roof for c in rows))


def compute_table(ceilings: Ceilings, *, is_roomy: bool = True) -> CeilingsTable:
    """One row per precision, path and operation; integer precisions in operations per second."""
    rows = compute_rows(ceilings)
    columns = [Column("precision", [precision_name(c.precision, c.path) for c in rows]), *_measured(rows)]
    return CeilingsTable("Compute", (*columns, *_remarks(rows, is_roomy=is_roomy)), tuple(c.roof for c in rows))


def ridge_table(ceilings: Ceilings) -> CeilingsTable:
    """Arithmetic intensity where each compute roof meets each level; below it the level binds."""
    keys = roof_keys(ceilings)
    columns = [Column("precision", [precision_name(*key) for key in keys])]
    columns += [Column(level, [intensity(ceilings.ridge(level, *key)) for key in keys], is_number=True) for level in roof_levels(ceilings)]
    return CeilingsTable("Ridge points, FLOP/byte", tuple(columns))


def bandwidth_rows(ceilings: Ceilings) -> list[BandwidthCeiling]:
    """Levels fast to slow, the fastest operation first."""
    return sorted(ceilings.bandwidth_ceilings, key=lambda c: (rank(c.level, FAST_TO_SLOW), -c.value))


def compute_rows(ceilings: Ceilings) -> list[ComputeCeiling]:
    """Precisions in the order of their table, vector before tensor, the roof first."""
    return sorted(ceilings.compute_ceilings, key=lambda c: (rank(c.precision, list(PRECISIONS)), c.path != "vector", not c.roof, -c.value))


def roof_levels(ceilings: Ceilings) -> list[str]:
    """Levels that have a roof, fast to slow."""
    return sorted(ceilings.bandwidth_roofs, key=lambda level: rank(level, FAST_TO_SLOW))


def roof_keys(ceilings: Ceilings) -> list[tuple[str, str]]:
    """(precision, path) of every flat roof, in the order of the tables."""
    return sorted(ceilings.compute_roofs, key=lambda key: (rank(key[0], list(PRECISIONS)), key[1] != "vector"))


def rank(name: str, order: Sequence[str]) -> tuple[int, str]:
    """Position in a table of known names; names of a newer version come last, by name."""
    return (order.index(name), "") if name in order else (len(order), name)


def intensity(ai_flop_per_byte: float) -> str:
    """Three digits, written out: ``0.185``, ``1230``."""
    return f"{float(f'{ai_flop_per_byte:.3g}'):g}"


def precision_name(precision: str, path: str) -> str:
    """``fp64``, ``fp64 tensor``: the vector path goes without saying."""
    return precision if path == "vector" else f"{precision} {path}"


def unit_of(ceiling: Ceiling) -> str:
    """The unit of a ceiling's value, for people."""
    return "B/s" if isinstance(ceiling, BandwidthCeiling) else rate_unit(ceiling.precision)


def interval(ceiling: Ceiling) -> str:
    """``1.439 .. 1.445``, in the unit of the value beside it; with units where the prefix changes in between."""
    if ceiling.ci95 is None:
        return "too few samples"
    unit = unit_of(ceiling)
    low, value, high = (with_prefix(number, unit) for number in (ceiling.ci95[0], ceiling.value, ceiling.ci95[1]))
    suffixes = {text.partition(" ")[2] for text in (low, value, high)}
    return f"{low} .. {high}" if len(suffixes) > 1 else f"{low.partition(' ')[0]} .. {high.partition(' ')[0]}"


def share_of_limit(ceiling: Ceiling) -> str:
    """``99.1 %``; empty where no limit is known."""
    return "" if ceiling.share_of_limit is None else f"{100 * ceiling.share_of_limit:.1f} %"


def _measured(rows: Rows) -> list[Column]:
    return [
        Column("op", [f"{c.op} *" if c.roof else c.op for c in rows]),
        Column("value", [with_prefix(c.value, unit_of(c)) for c in rows], is_number=True),
        Column("95 % interval", [interval(c) for c in rows], is_number=True),
        Column("of limit", [share_of_limit(c) for c in rows], is_number=True),
    ]


def _working_set(c: BandwidthCeiling) -> str:
    if c.working_set_bytes is None:
        return ""
    low, high = map(capacity, c.working_set_bytes)
    return low if low == high else f"{low} .. {high}"


def _remarks(rows: Rows, *, is_roomy: bool) -> list[Column]:
    columns = [Column("kernel", [c.kernel for c in rows])] if is_roomy else []
    if any(c.flags for c in rows):
        columns.append(Column("flags", [", ".join(c.flags) for c in rows]))
    return columns


def notes(ceilings: Ceilings) -> list[str]:
    """What the tables do not say by themselves, a line each."""
    lines = ["* the roof: highest sustained operation of its level, or FMA / MMA of its precision and path"]
    held = {c.level: capacity(c.capacity_bytes) for c in ceilings.bandwidth_roofs.values() if c.capacity_bytes}
    if held:
        lines.append("capacity: " + ", ".join(f"{level} {size}" for level, size in held.items()))
    if without := _without_limit(ceilings):
        lines.append(f"no physical limit known for: {', '.join(without)}")
    if ceilings.launch_overhead_s is not None:
        lines.append(f"starting a kernel takes {with_prefix(ceilings.launch_overhead_s, 's')}")
    return lines


def _without_limit(ceilings: Ceilings) -> list[str]:
    named = [(c.level if isinstance(c, BandwidthCeiling) else precision_name(c.precision, c.path), c) for c in ceilings.all_ceilings]
    with_one = {name for name, c in named if c.limit is not None}
    # Where every operation lacks one, the name alone says it.
    return list(dict.fromkeys(f"{name} {c.op}" if name in with_one else name for name, c in named if c.limit is None))


def failures(ceilings: Ceilings) -> list[str]:
    """What could not be measured: one line per reason, with how many points it cost."""
    failed = Counter((p.status, p.precision, p.kernel, p.reason or "no reason given") for p in ceilings.points if p.status != "ok")
    return [f"{status}: {precision} {kernel} ({_count(n)}): {why}" for (status, precision, kernel, why), n in sorted(failed.items())]


def _count(points: int) -> str:
    return f"{points} point{'s' if points != 1 else ''}"
