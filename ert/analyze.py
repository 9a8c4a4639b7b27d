"""Hand-computed or ideal work under the measured roofs: what it could reach, and with a time what it does reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ert.ceilings import Ceilings
from ert.compare import kernel_to_dict
from ert.errors import AnalysisError
from ert.jsontypes import Json
from ert.judge import ABOVE_ROOF, LAUNCH_ASSUMED, Judgement, Roofs, judge, not_placeable, roofs_of
from ert.judge_advice import advice
from ert.levels import FAST_TO_SLOW
from ert.models import Ideal
from ert.points.model import KernelPoint, Origin, work_key, work_name
from ert.units import with_prefix

SCHEMA = "ert.analysis"
SCHEMA_VERSION = 1
_HAND = Origin("command line")


@dataclass(frozen=True, slots=True)
class Row:
    """One piece of work, judged. Without a time only what it could reach is told.

    notes  how F and D came to be
    """

    judgement: Judgement
    has_time: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """All rows of one call and the roofs they stand under."""

    ceilings: Ceilings
    roofs: Roofs
    rows: tuple[Row, ...]


def analyze_point(ceilings: Ceilings, flops: float, levels: Mapping[str, float], key: str, time_s: float | None) -> Analysis:
    """One point from F, D per level and t. Raises AnalysisError for a level or precision without a roof."""
    roofs = roofs_of(ceilings)
    for level in levels:
        ceilings.bandwidth(level)
    return Analysis(ceilings, roofs, (_row("by hand", {key: flops} if flops else {}, levels, roofs, time_s),))


def analyze_ideals(ceilings: Ceilings, ideals: Sequence[Ideal], time_s: float | None) -> Analysis:
    """Every algorithm on every path (vector, tensor) that has a roof for its precision.

    A level's traffic is the least possible behind the caches in front of it, where the file has their capacity.
    Raises AnalysisError if the precision has no roof at all.
    """
    roofs = roofs_of(ceilings)
    rows = [
        replace(
            _row(f"{ideal.name} {path}", {work_key(ideal.precision, path): ideal.flops}, _levels(ideal, ceilings), roofs, time_s),
            notes=_notes(ideal),
        )
        for ideal in ideals
        for path in _paths(ideal, ceilings)
    ]
    return Analysis(ceilings, roofs, tuple(rows))


def _paths(ideal: Ideal, ceilings: Ceilings) -> list[str]:
    """Only products can run on tensor cores."""
    known = [path for precision, path in ceilings.compute_roofs if precision == ideal.precision]
    if not known:
        ceilings.compute_peak(ideal.precision)  # raises, naming the precisions there are
    is_product = bool(ideal.products) or ideal.op == "attention"
    paths = [path for path in known if path == "vector" or is_product]
    if not paths:
        raise AnalysisError(f"{ideal.op} in {ideal.precision} needs a vector roof; this ceilings file has only {', '.join(known)}.")
    return paths


def _levels(ideal: Ideal, ceilings: Ceilings) -> dict[str, float]:
    present = [level for level in FAST_TO_SLOW if level in ceilings.bandwidth_roofs and level != "shared"]
    held = {level: ceilings.bandwidth_roofs[level].capacity_bytes for level in present}
    # The largest cache in front of a level limits what has to come through it.
    return {
        level: ideal.bytes_behind(max((c for before in present[:i] if (c := held[before])), default=None))
        for i, level in enumerate(present)
    }


def _notes(ideal: Ideal) -> tuple[str, ...]:
    moved = ", ".join(f"{name} {with_prefix(elements * ideal.element_bytes, 'B')}" for name, elements in ideal.operands.items())
    return (f"moves {moved}", *((ideal.note,) if ideal.note else ()))


def _row(name: str, flops: Mapping[str, float], levels: Mapping[str, float], roofs: Roofs, time_s: float | None) -> Row:
    # Without a time the judgement is made for one second, and everything that depends on it is left out.
    point = KernelPoint(name, 1.0 if time_s is None else time_s, dict(flops), dict(levels), _HAND)
    if reason := not_placeable(point, roofs):
        raise AnalysisError(f"{name}: {reason}.")
    return Row(judge(point, roofs), time_s is not None)


def outlook(row: Row, roofs: Roofs) -> str:
    """The three steps; before a measurement they say what to expect of one."""
    if row.has_time:
        return advice(row.judgement, roofs)
    k = row.judgement
    floor = with_prefix(k.time_floor_s or 0.0, "s")
    if k.bound is None:
        return "Its precision has no roof in this file."
    if k.bound.kind == "latency":
        return f"1. Neither roof: starting the kernel outweighs the work. 2. At best {floor}. 3. Batch more work into one launch."
    if k.bound.kind == "bandwidth":
        change = f"fewer bytes at {k.bound.level} (fusion, blocking, a smaller type) must shorten it in proportion"
        return f"1. Bandwidth is the lower roof. 2. {k.bound.level} binds: at best {floor}. 3. To prove it: {change}."
    binds = f"No memory level binds, the flat roof of {work_name(k.bound.precision or '')} does: at best {floor}"
    return f"1. Compute is the lower roof. 2. {binds}. 3. To prove it: a faster precision or path must shorten it."


def flags_of(row: Row) -> list[str]:
    """Those that do not depend on a time that was not given."""
    return [f for f in row.judgement.flags if row.has_time or f not in (ABOVE_ROOF, LAUNCH_ASSUMED)]


def to_dict(analysis: Analysis) -> dict[str, Json]:
    """Rows as the kernels of a comparison; what depends on a time is null without one."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "ceilings": {"device": analysis.ceilings.device.get("id"), "created": analysis.ceilings.created},
        "rows": [_row_to_dict(row, analysis.roofs) for row in analysis.rows],
    }


def _row_to_dict(row: Row, roofs: Roofs) -> dict[str, Json]:
    document = kernel_to_dict(row.judgement, roofs)
    unused = ("id", "label", "file", "line", "launches", "traffic", "missing")
    document = {key: value for key, value in document.items() if key not in unused}
    if not row.has_time:
        document |= {"time_s": None, "rate_flop_per_s": None, "bandwidth_share": None, "fraction_of_roof": None}
    return document | {"flags": list(flags_of(row)), "notes": list(row.notes), "advice": outlook(row, roofs)}
