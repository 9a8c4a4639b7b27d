"""What a reader must know beside the levels: each remark is a finding with its number and a remedy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ert.findings import Finding
from ert.fit.model import Bools
from ert.fit.noise import runs
from ert.fit.plateaus import LEAST_OCTAVES, LEAST_SIZES, LEAST_STEP, Plateau, WeightedSizes
from ert.units import capacity

# Fewer neighbouring slow sizes are outliers, and their weight is already gone.
_DIP_SIZES = 3
_END_SIZES = 2
_LAUNCH_LOSS = 0.05
_FEW_SIZES = 6
_CALM = "Lock the clocks, raise the power limit, cool the device, or let nothing else run on it."


def about_rows(throttled: Bools, slow: Bools, used: Bools) -> list[Finding]:
    """Rows that were left out, and why; or that had to be used although the device was disturbed."""
    found = []
    if (count := int((throttled & ~used).sum())) > 0:
        why = "taken at a lowered clock, or marked as disturbed or slower than other visits"
        message = f"throttled rows: {count} of {used.size}, {why}, are left out."
        found.append(Finding("throttled_rows", message, float(count), _CALM))
    if (count := int((throttled & used).sum())) > 0:
        message = f"throttled rows: {count} of {used.size} were taken at a lowered clock or disturbed; without them there is no curve."
        found.append(Finding("all_throttled", message, float(count), _CALM))
    if (count := int((slow & ~throttled & ~used).sum())) > 0:
        message = f"slow spell: {count} of {used.size} rows, neighbours in time, are slower than others of their size and are left out."
        found.append(Finding("slow_spell", message, float(count), "See what else ran on the device, and record its clock."))
    return found


def too_few_sizes(count: int) -> Finding:
    """The curve cannot hold a level."""
    return Finding("too_few_sizes", f"{count} sizes are too few for a level, which needs {LEAST_SIZES}.", float(count), "Sweep more sizes.")


def about_curve(points: WeightedSizes, levels: Sequence[Plateau]) -> list[Finding]:
    """What the curve shows beside its levels, from small sizes to large ones."""
    if not levels:
        message = f"no level: nowhere is bandwidth flat over {LEAST_SIZES} sizes and half an octave."
        return [Finding("no_level", message, None, "Sweep more sizes, and take more samples of each.")]
    dips = [finding for level in levels for finding in _dips(points, level)]
    return [*_before(points, levels[0]), *dips, *_short(levels[-1]), *_after(points, levels[-1])]


def _before(points: WeightedSizes, first: Plateau) -> list[Finding]:
    """Sizes before the first level: slower ones are launch-limited, faster ones belong to a level that is not in the curve."""
    early = np.arange(first.members[0])
    above = points.sizes.log_rate[early] - first.at(first.first)
    start = capacity(2.0 ** float(points.sizes.octave[first.members[0]]))
    found = []
    if (count := int((above < -_LAUNCH_LOSS).sum())) >= _END_SIZES:
        message = f"launch-limited start: {count} sizes below {start} are too small for their start-up time."
        found.append(Finding("launch_limited", message, float(count), "Repeat small working sets more often in one launch."))
    if (count := int((above > LEAST_STEP).sum())) >= _END_SIZES:
        message = f"{count} sizes below {start} are faster than the first level and lie on no plateau of their own."
        found.append(Finding("unresolved_start", message, float(count), "Sweep to smaller working sets, or with more sizes there."))
    return found


def _dips(points: WeightedSizes, level: Plateau) -> list[Finding]:
    """Runs of neighbouring sizes inside a level that are slower than it."""
    inside = np.arange(level.members[0], level.members[-1] + 1)
    octave = points.sizes.octave[inside]
    below = level.log_rate + level.slope * (octave - level.octave) - points.sizes.log_rate[inside]
    low = (below > LEAST_STEP) & ~np.isin(inside, level.members)
    found = []
    for run in runs(low):
        if run.size >= _DIP_SIZES:
            depth = float(1 - np.exp(-np.median(below[run])))
            where = f"{capacity(2.0 ** float(octave[run[0]]))} to {capacity(2.0 ** float(octave[run[-1]]))}"
            message = f"dip: {run.size} sizes from {where} are {100 * depth:.0f} % slower than the level around them."
            found.append(Finding("dip", message, depth, "Measure these sizes again, in random order, with the clock recorded."))
    return found


def _short(last: Plateau) -> list[Finding]:
    if last.members.size >= _FEW_SIZES and last.octaves >= LEAST_OCTAVES:
        return []
    message = f"the last level rests on {last.members.size} sizes over {last.octaves:.2g} octaves."
    return [Finding("last_level_short", message, float(last.members.size), "Extend the sweep to larger working sets.")]


def _after(points: WeightedSizes, last: Plateau) -> list[Finding]:
    """Sizes beyond the last level that fall away from it: a slower level begins there and is not in the curve."""
    late = np.arange(last.members[-1] + 1, len(points.sizes))
    below = last.at(last.last) - points.sizes.log_rate[late]
    if int((below > LEAST_STEP).sum()) < _END_SIZES:
        return []
    end = capacity(2.0 ** float(points.sizes.octave[-1]))
    message = f"the curve still falls at its end ({end}): a slower level begins there and was not reached."
    return [Finding("last_level_not_reached", message, float(2.0 ** points.sizes.octave[-1]), "Extend the sweep to larger working sets.")]
