"""Levels that the system reports and direct measurements bear out, where a disturbed curve shows no plateau of theirs."""

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


def add_reported(device: Device, fit: LevelFit, candidates: Sequence[Candidate], shown: Collection[str]) -> LevelFit:
    """The fit with each level of ``shown`` that it misses, that has a reported size, and whose working sets are read at a rate of
    their own: apart from the next faster and the next slower level by what tells two levels of a curve apart.

    Without a single level on the curve there is nothing to tell them apart from, and none is added.
    """
    found = {level.name: level.value_bytes_per_s for level in fit.levels if level.name}
    if not found:
        return fit
    # Not memory: only a curve that leaves the last cache proves that it was reached.
    missing = [facts for facts in device.levels() if facts.name in shown and facts.name not in (*found, "DRAM") and facts.capacity_bytes]
    read = {facts: level for facts in missing if (level := _as_read(facts.name, candidates))}
    rates = {**found, **{facts.name: level.value_bytes_per_s for facts, level in read.items()}}
    added = {facts: level for facts, level in read.items() if _is_apart(facts.name, rates)}
    levels = sorted((*fit.levels, *added.values()), key=lambda level: -level.value_bytes_per_s)
    return LevelFit(tuple(levels), (*fit.warnings, *(_finding(facts, level) for facts, level in added.items())))


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
    order = [level for level in FAST_TO_SLOW if level in rates]
    around = order[max(order.index(name) - 1, 0) : order.index(name) + 2]
    return all(math.log(rates[faster] / rates[slower]) > LEAST_STEP for faster, slower in pairwise(around))


def _finding(facts: LevelFacts, level: Level) -> Finding:
    return Finding(
        "level_not_on_curve",
        f"{facts.name}: the curve shows no plateau of it; what it delivers was measured inside the {capacity(facts.capacity_bytes or 0)} "
        f"that the system reports ({with_prefix(level.value_bytes_per_s, 'B/s')} read)",
        level.value_bytes_per_s,
        "run when the machine is quiet, or longer: --config full",
    )
