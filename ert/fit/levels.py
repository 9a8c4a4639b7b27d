"""The memory levels of a working-set curve: one call from rows to named levels with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from ert.findings import Finding
from ert.fit import remarks
from ert.fit.capacity import leaving_size
from ert.fit.launch import after_launch
from ert.fit.model import Bools, CapacityFact, Curve, Level, LevelFit
from ert.fit.names import name_levels
from ert.fit.plateaus import LEAST_SIZES, LEAST_STEP, Plateau, WeightedSizes, find_plateaus, without_exceptions
from ert.fit.rows import check_curve, gather_sizes
from ert.fit.spells import follows_size, slow_rows, throttled_rows, usual_clock, without_dents
from ert.fit.value import Sustained, sustained

__all__ = ["CapacityFact", "Curve", "Level", "LevelFit", "fit_levels"]

# A level of fewer sizes, or narrower, is believed and marked: the sweep should look closer.
_SHORT_SIZES, _SHORT_OCTAVES = 6, 0.5
# Leaving out disturbed rows may cost this share of the sizes.
_LEAST_SIZES_LEFT = 0.5
# A level that loses more than this from end to end is marked as declining.
_DECLINING = 0.05


def fit_levels(curve: Curve, facts: Sequence[CapacityFact] = ()) -> LevelFit:
    """Find the levels of one curve, fast to slow; no device, no randomness.

    facts  the device's caches, fast to slow, in the unit of the curve's working sets; they name levels and decide
           whether memory was reached, and never change a number

    Rows taken while the device throttled or was slow for a while are left out where others cover their sizes. Raises
    AnalysisError for arrays of different lengths, values that are not positive and finite, or a single size.
    Source: working-set sweep of Lo et al., Roofline Model Toolkit, PMBS 2014; each step names its own.
    """
    check_curve(curve)
    throttled, slow = throttled_rows(curve), slow_rows(curve)
    used = _worth_using(curve, ~(throttled | slow))
    levels, warnings = _fit_rows(curve, used)
    if (throttled & ~used).any():
        levels = _with_hidden(curve, throttled, levels)
    levels = [_marked_throttled(level, curve, throttled, used) for level in levels]
    named, naming = name_levels(levels, facts, float(curve.working_set_bytes.max()))
    return LevelFit(tuple(named), (*remarks.about_rows(throttled, slow, used), *warnings, *naming))


def _worth_using(curve: Curve, calm: Bools) -> Bools:
    """The rows in ``calm``, unless too much of the curve would be gone: then all rows, since being disturbed is the usual state."""
    sizes, left = np.unique(curve.working_set_bytes).size, np.unique(curve.working_set_bytes[calm]).size
    return calm if left >= max(LEAST_SIZES, _LEAST_SIZES_LEFT * sizes) else np.ones_like(calm)


def _fit_rows(curve: Curve, used: Bools) -> tuple[list[Level], list[Finding]]:
    """The levels in these rows, unnamed, and what stands out beside them."""
    sizes = gather_sizes(curve, used)
    if len(sizes) < LEAST_SIZES:
        return [], [remarks.too_few_sizes(len(sizes))]
    points, found = find_plateaus(sizes)
    if follows_size(curve):
        found = without_dents(found)
    found = without_exceptions(points, found)
    if found:
        found[0] = after_launch(points, found[0])
    found, values = _distinct(points, found)
    levels = [_level(points, p, v, q) for p, v, q in zip_longest(found, values, found[1:])]
    return levels, remarks.about_curve(points, found)


def _distinct(points: WeightedSizes, plateaus: Sequence[Plateau]) -> tuple[list[Plateau], list[Sustained]]:
    """The plateaus that differ from their neighbours by more than their own interval, with their values.

    A few scattered sizes half-way down a ramp may look flat to the cut; what they are worth shows in the interval.
    """
    kept = list(plateaus)
    values = [sustained(points.sizes, p) for p in kept]
    while (vague := _vaguest(values)) is not None:
        del kept[vague], values[vague]
    return kept, values


def _vaguest(values: Sequence[Sustained]) -> int | None:
    """Which level has the widest interval of those that hold a neighbour's value."""
    vague = [
        (high / low, k)
        for k, (low, high) in enumerate(v.ci95 for v in values)
        if any(low <= other.value_bytes_per_s <= high for other in [*values[max(k - 1, 0) : k], *values[k + 1 : k + 2]])
    ]
    return max(vague)[1] if vague else None


def _level(points: WeightedSizes, plateau: Plateau, value: Sustained, below: Plateau | None) -> Level:
    capacity, interval = leaving_size(points, plateau, below) if below else (None, None)
    octaves = points.sizes.octave[plateau.members]
    is_short = plateau.members.size < _SHORT_SIZES or plateau.octaves < _SHORT_OCTAVES
    declines = -value.slope * plateau.octaves > _DECLINING
    return Level(
        name=None,
        value_bytes_per_s=value.value_bytes_per_s,
        ci95=value.ci95,
        # Sizes are whole bytes; the logarithm has made 148000.00000000012 of them.
        working_set_bytes=(float(round(2.0 ** octaves[0])), float(round(2.0 ** octaves[-1]))),
        points=int(octaves.size),
        capacity_bytes=capacity,
        capacity_ci95=interval,
        flags=tuple(word for word, is_so in (("short", is_short), ("declining", declines)) if is_so),
    )


def _with_hidden(curve: Curve, throttled: Bools, levels: list[Level]) -> list[Level]:
    """Add levels that only throttled rows show, unless the lower clock explains them as one of the others."""
    everything, _ = _fit_rows(curve, np.ones_like(throttled))
    hidden = [
        new
        for new in everything
        if throttled[_inside(curve, new)].any() and not any(_overlaps(new, old) or _explains(curve, throttled, old, new) for old in levels)
    ]
    return sorted([*levels, *hidden], key=lambda level: level.working_set_bytes[0])


def _overlaps(a: Level, b: Level) -> bool:
    return a.working_set_bytes[0] <= b.working_set_bytes[1] and b.working_set_bytes[0] <= a.working_set_bytes[1]


def _explains(curve: Curve, throttled: Bools, old: Level, new: Level) -> bool:
    """True if ``new`` is ``old`` at the clock its throttled rows ran at; without clocks, if it is slower than a level behind it."""
    if curve.clock_hz is None:
        return new.value_bytes_per_s < old.value_bytes_per_s and new.working_set_bytes[0] < old.working_set_bytes[1]
    clock_hz = curve.clock_hz[throttled & _inside(curve, new)]
    at_usual = new.value_bytes_per_s * usual_clock(curve.clock_hz[np.isfinite(curve.clock_hz)]) / np.nanmedian(clock_hz)
    return bool(abs(np.log(at_usual / old.value_bytes_per_s)) < LEAST_STEP)


def _inside(curve: Curve, level: Level) -> Bools:
    low, high = level.working_set_bytes
    inside: Bools = (curve.working_set_bytes >= low) & (curve.working_set_bytes <= high)
    return inside


def _marked_throttled(level: Level, curve: Curve, throttled: Bools, used: Bools) -> Level:
    """Flag a level that rests on throttled rows, because it has no others."""
    rows = _inside(curve, level)
    calm = rows & used & ~throttled
    return replace(level, flags=(*level.flags, "throttled")) if throttled[rows].any() and not calm.any() else level
