"""One kernel under the measured roofs: which limit binds, on which level, how far away it is. Pure functions.

The roofline itself is ``ert.roofline``; here a kernel's counters meet the ceilings that match them. A ceiling
that is missing is never replaced by another one, and a counter that is missing is never taken for zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ert import roofline
from ert.ceilings import Ceilings
from ert.ceilings.kinds import Ceiling
from ert.levels import FAST_TO_SLOW
from ert.points.model import UNKNOWN, KernelPoint, split_work
from ert.roofline import BoundKind

ABOVE_ROOF = "above_roof"
NEAR_RIDGE = "near_ridge"
INVERTED = "traffic_inverted"
MISSING = "missing_counters"
MIXED = "mixed_precision"
NO_FLOPS = "no_flops"
NO_ROOF = "no_matching_roof"
NO_PRECISION = "precision_unknown"
LAUNCH_ASSUMED = "launch_overhead_assumed"

# A ceiling without an interval of its own is trusted to 1 %, the repeatability asked of a sweep.
_DEFAULT_INTERVAL = 0.01
# Counters of two levels are read in different passes and disagree by a percent or two.
_COUNTER_NOISE = 0.02
# Kept from calling rounding in the last digits a violation.
_ROUNDING = 1e-9
# Public figures for an empty kernel lie between 2 and 5 us; only taken where a CUDA ceilings file has none of its own.
_ASSUMED_LAUNCH_S = 3e-6
# What lies outside of these is a mistake in a file, and its ratios would leave the range of a float.
_LEAST_TIME_S, _LARGEST_AMOUNT = 1e-15, 1e30
# Scratch memory is not on the way from the registers to DRAM.
_PATH_TO_MEMORY = tuple(level for level in FAST_TO_SLOW if level != "shared")
End = Literal["low", "value", "high"]
_ENDS: tuple[End, ...] = ("low", "value", "high")


@dataclass(frozen=True, slots=True)
class Interval:
    """A ceiling with its 95 % interval."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Roofs:
    """What of a ceilings file a judgement needs, looked up once.

    bandwidths         end of the interval -> level -> byte/s
    launch_s           what one launch takes at least; 0 where that is unknown and means nothing
    launch_is_assumed  True if the file has no launch overhead and a typical one was taken
    """

    bandwidth: Mapping[str, Interval]
    compute: Mapping[tuple[str, str], Interval]
    bandwidths: Mapping[End, Mapping[str, float]]
    launch_s: float
    launch_is_assumed: bool


@dataclass(frozen=True, slots=True)
class BoundBy:
    """kind, and the level of a bandwidth bound or the work key of a compute bound."""

    kind: BoundKind
    level: str | None = None
    precision: str | None = None

    @property
    def name(self) -> str:
        return self.level or self.precision or self.kind


@dataclass(frozen=True, slots=True)
class Judgement:
    """One kernel, judged. None where a missing counter leaves it open.

    ai               level -> FLOP/byte; None where the level moved no bytes or they are unknown
    bandwidth_share  level -> achieved bandwidth over the level's ceiling
    attainable_flop_per_s, fraction_of_roof  under the two roofs; the fraction of a kernel without FLOPs is one of bandwidth
    time_floor_s     the longest of compute, traffic and launch time: nothing with this work is faster
    excess           how far above the roof, beyond its interval: measured over attainable; None if it is not
    """

    point: KernelPoint
    rate_flop_per_s: float | None
    ai: Mapping[str, float | None]
    bandwidth_share: Mapping[str, float]
    bound: BoundBy | None
    attainable_flop_per_s: float | None
    fraction_of_roof: float | None
    time_floor_s: float | None
    flags: tuple[str, ...]
    excess: float | None = None

    @property
    def shown_ai(self) -> tuple[str, float | None]:
        """(level, FLOP/byte): of all levels the one that binds, else the slowest that is known; ("", None) if none is."""
        binding = self.bound.level if self.bound else None
        candidates = (binding, *reversed(FAST_TO_SLOW))
        return next(((level, ai) for level in candidates if level and (ai := self.ai.get(level))), ("", None))


def roofs_of(ceilings: Ceilings) -> Roofs:
    """The roofs of a file as intervals, and its launch overhead."""
    measured = ceilings.launch_overhead_s
    is_assumed = measured is None and ceilings.device.get("kind") == "cuda"
    bandwidth = {level: _interval(c) for level, c in ceilings.bandwidth_roofs.items()}
    return Roofs(
        bandwidth=bandwidth,
        compute={key: _interval(c) for key, c in ceilings.compute_roofs.items()},
        bandwidths={end: {level: getattr(i, end) for level, i in bandwidth.items()} for end in _ENDS},
        launch_s=_ASSUMED_LAUNCH_S if is_assumed else measured or 0.0,
        launch_is_assumed=is_assumed,
    )


def _interval(ceiling: Ceiling) -> Interval:
    value = ceiling.value
    low, high = ceiling.ci95 or (value * (1 - _DEFAULT_INTERVAL), value * (1 + _DEFAULT_INTERVAL))
    return Interval(min(low, value), value, max(high, value))


def not_placeable(point: KernelPoint, roofs: Roofs) -> str | None:
    """Why this kernel has no place under these roofs; None if it has one."""
    amounts = [*(point.flops or {}).values(), *point.bytes.values()]
    if point.time_s < _LEAST_TIME_S or max((a for a in amounts if a), default=0.0) > _LARGEST_AMOUNT:
        return f"implausible numbers: {point.time_s:g} s for up to {max(a for a in [0.0, *amounts] if a is not None):g} FLOPs or bytes"
    work = [split_work(key) for key, amount in (point.flops or {}).items() if amount]
    has_peak = bool(point.total_flops) and all(key in roofs.compute for key in work)
    if has_peak or any(point.bytes.get(level) for level in roofs.bandwidth):
        return None
    return f"neither FLOPs of a precision with a roof nor bytes at a level with one ({', '.join(roofs.bandwidth) or 'no level'})"


def judge(point: KernelPoint, roofs: Roofs) -> Judgement:
    """Place one kernel that is not ``not_placeable``.

    FLOPs that are unknown, or of a precision without a roof, leave the bound open: then only the bandwidths are judged.
    """
    flops = point.total_flops
    known = _known(point, flops or 0.0, roofs)
    floor = known.bound("value")
    launch_s = roofs.launch_s * point.launches
    is_open = flops is None or any(roof is None for _, _, roof in known.work)
    bound = None if is_open else known.bound_by(floor, launch_s)
    excess = known.excess(floor)
    return Judgement(
        point=point,
        rate_flop_per_s=flops / point.time_s if flops else None,
        ai={level: flops / amount if flops and amount else None for level, amount in point.bytes.items()},
        bandwidth_share={level: amount / point.time_s / roofs.bandwidth[level].value for level, amount in known.levels.items()},
        bound=bound,
        attainable_flop_per_s=None if is_open else floor.attainable_flop_per_s,
        fraction_of_roof=None if is_open else floor.time_floor_s / point.time_s,
        time_floor_s=max(floor.time_floor_s, launch_s) if bound and bound.kind == "latency" else floor.time_floor_s,
        flags=tuple(known.flags(bound, excess)),
        excess=excess,
    )


def without_roof(judgement: Judgement, roofs: Roofs) -> list[str]:
    """The work keys of a kernel that no ceiling matches."""
    work = judgement.point.flops or {}
    return [key for key, amount in work.items() if amount and split_work(key) not in roofs.compute]


@dataclass(frozen=True, slots=True)
class _Known:
    """A kernel reduced to what is known of it.

    flops   0 if unknown
    levels  bytes of the levels that have a roof
    work    (work key, FLOPs, its flat roof or None), without the zeros
    """

    point: KernelPoint
    flops: float
    levels: Mapping[str, float]
    work: tuple[tuple[str, float, Interval | None], ...]
    roofs: Roofs

    def peak(self, end: End) -> float:
        """The flat roof of this kernel's own work.

        Work of several precisions takes the sum of its times: the parts share the issue slots of one core, so
        overlap cannot be promised. A precision without a roof sets no limit (flagged), and never borrows one.
        """
        times = [amount / getattr(roof, end) for _, amount, roof in self.work if roof is not None]
        return self.flops / sum(times) if times and len(times) == len(self.work) else math.inf

    def bound(self, end: End) -> roofline.Bound:
        return roofline.bound(self.flops, self.levels, self.roofs.bandwidths[end], self.peak(end))

    def bound_by(self, floor: roofline.Bound, launch_s: float) -> BoundBy:
        if launch_s > floor.time_floor_s:
            return BoundBy("latency")
        if floor.kind == "bandwidth":
            return BoundBy("bandwidth", level=floor.level)
        slowest = max(self.work, key=lambda part: part[1] / part[2].value if part[2] else 0.0)
        return BoundBy("compute", precision=slowest[0])

    def excess(self, floor: roofline.Bound) -> float | None:
        """Measured over attainable, if the kernel is faster than the upper ends of the intervals allow."""
        time_s = self.point.time_s
        if time_s >= floor.time_floor_s or time_s >= self.bound("high").time_floor_s * (1 - _ROUNDING):
            return None
        return floor.time_floor_s / time_s

    def is_near_ridge(self) -> bool:
        """True if the intervals of the two roofs leave open which of them is lower here."""
        bandwidth = self.roofs.bandwidth
        level = max(self.levels, key=lambda name: self.levels[name] / bandwidth[name].value, default=None)
        if not self.flops or level is None or not self.levels[level] or math.isinf(self.peak("value")):
            return False
        slope, ai = bandwidth[level], self.flops / self.levels[level]
        lowest, highest = roofline.ridge(slope.high, self.peak("low")), roofline.ridge(slope.low, self.peak("high"))
        return lowest * (1 - _ROUNDING) <= ai <= highest * (1 + _ROUNDING)

    def flags(self, bound: BoundBy | None, excess: float | None) -> list[str]:
        point = self.point
        found = {
            ABOVE_ROOF: excess is not None,
            NEAR_RIDGE: bound is not None and bound.kind != "latency" and self.is_near_ridge(),
            INVERTED: self.is_inverted(),
            MISSING: bool(point.missing) or point.total_flops is None,
            MIXED: len(self.work) > 1,
            NO_FLOPS: point.total_flops == 0,
            NO_ROOF: any(roof is None for _, _, roof in self.work)
            or any(a and level not in self.levels for level, a in point.bytes.items()),
            NO_PRECISION: any(split_work(key)[0] == UNKNOWN for key, _, _ in self.work),
            LAUNCH_ASSUMED: bound is not None and bound.kind == "latency" and self.roofs.launch_is_assumed,
        }
        return [*(flag for flag, holds in found.items() if holds), *point.flags]

    def is_inverted(self) -> bool:
        """True if a slower level moved more bytes than a faster one, which what passes through it cannot."""
        amounts = [amount for level in _PATH_TO_MEMORY if (amount := self.point.bytes.get(level)) is not None]
        return any(slower > faster * (1 + _COUNTER_NOISE) for faster, slower in pairwise(amounts))


def _known(point: KernelPoint, flops: float, roofs: Roofs) -> _Known:
    levels = {level: amount for level, amount in point.bytes.items() if amount is not None and level in roofs.bandwidth}
    work = tuple((key, amount, roofs.compute.get(split_work(key))) for key, amount in (point.flops or {}).items() if amount)
    return _Known(point, flops, levels, work, roofs)
