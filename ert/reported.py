"""Levels that the system reports and the curve hides: added where direct measurements bear them out, said to be missing elsewhere."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from ert.candidates import Candidate
from ert.devices.base import Device, LevelFacts
from ert.findings import Finding
from ert.fit.levels import Level, LevelFit
from ert.fit.plateaus import LEAST_STEP
from ert.levels import FAST_TO_SLOW
from ert.units import capacity, with_prefix

# On the flags of every ceiling of such a level.
NOT_ON_CURVE = "not_on_curve"
_REMEDY = "run when the machine is quiet, or longer: --config full"


def add_reported(device: Device, fit: LevelFit, candidates: Sequence[Candidate], shown: Collection[str]) -> LevelFit:
    """The fit with each level of ``shown`` that it misses, that has a reported size, and whose working sets are read at a rate of
    their own: apart from the next faster and the next slower level by what tells two levels of a curve apart.

    A finding names each level that is added, and each that stays missing. Without a single level on the curve there is
    nothing to tell them apart from, and none is added: the fit has said so.
    """
    found = {level.name: level.value_bytes_per_s for level in fit.levels if level.name}
    if not found:
        return fit
    # Not memory: only a curve that leaves the last cache proves that it was reached.
    missing = [facts for facts in device.levels() if facts.name in shown and facts.name not in (*found, "DRAM")]
    read = {facts: level for facts in missing if facts.capacity_bytes and (level := _as_read(facts.name, candidates))}
    rates = {**found, **{facts.name: level.value_bytes_per_s for facts, level in read.items()}}
    added = {facts: level for facts, level in read.items() if _is_apart(facts.name, rates)}
    levels = sorted((*fit.levels, *added.values()), key=lambda level: -level.value_bytes_per_s)
    said = (_added(facts, added[facts]) if facts in added else _left_out(facts, rates) for facts in missing)
    return LevelFit(tuple(levels), (*fit.warnings, *said))


def _as_read(name: str, candidates: Sequence[Candidate]) -> Level | None:
    """The level as its direct reads show it, None if there are none."""
    reads = [c for c in candidates if c.point.measures == "bandwidth" and c.point.op == "read" and c.point.level == name]
    if not reads:
        return None
    best = max(reads, key=lambda c: c.median)
    sizes = [float(c.point.working_set_bytes or 0) for c in reads]
    rates = best.rates
    return Level(
        name,
        best.median,
        (float(rates.min()), float(rates.max())),
        (min(sizes), max(sizes)),
        len(set(sizes)),
        flags=(NOT_ON_CURVE,),
    )


def _is_apart(name: str, rates: Mapping[str, float]) -> bool:
    """Whether it is slower than the next faster level and faster than the next slower one, each by at least a level's step."""
    return all(math.log(rates[faster] / rates[slower]) > LEAST_STEP for faster, slower in pairwise(_around(name, rates)))


def _around(name: str, rates: Mapping[str, float]) -> Sequence[str]:
    """The next faster level, it, and the next slower one, as far as there are any."""
    order = [level for level in FAST_TO_SLOW if level in rates]
    return order[max(order.index(name) - 1, 0) : order.index(name) + 2]


def _left_out(facts: LevelFacts, rates: Mapping[str, float]) -> Finding:
    """Why a level that the sweep was to show has no ceiling."""
    if facts.name in rates:
        reads = ", ".join(f"{level} {with_prefix(rates[level], 'B/s')}" for level in _around(facts.name, rates))
        why = f"its reads are not a step apart from those of its neighbours ({reads})"
    elif facts.capacity_bytes:
        why = f"nothing was read inside the {capacity(facts.capacity_bytes)} that the system reports"
    else:
        why = "the system does not report its size"
    message = f"{facts.name} has no ceilings: the curve shows no plateau of it, and {why}"
    return Finding("level_missing", message, rates.get(facts.name), _REMEDY)


def _added(facts: LevelFacts, level: Level) -> Finding:
    return Finding(
        "level_not_on_curve",
        f"{facts.name}: the curve shows no plateau of it; what it delivers was measured inside the {capacity(facts.capacity_bytes or 0)} "
        f"that the system reports ({with_prefix(level.value_bytes_per_s, 'B/s')} read)",
        level.value_bytes_per_s,
        _REMEDY,
    )
