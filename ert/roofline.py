"""The roofline model, as numbers in and numbers out: attainable rate, ridge point, and which limit binds.

F FLOPs of a piece of work, D bytes it moves at one memory level, t its time: t >= max(F / P, D / B), so that
F / t <= min(P, B * AI) with AI = F / D. Source: Williams, Waterman, Patterson, CACM 52(4), 2009; one D per memory
level (the hierarchical roofline): Ilic, Pratas, Sousa, IEEE CAL 13(1), 2014 and Yang, Kurth, Williams, CCPE 32(20), 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from ert.errors import AnalysisError

BoundKind = Literal["bandwidth", "compute", "latency"]


@dataclass(frozen=True, slots=True)
class Bound:
    """The limit that binds a piece of work.

    kind, level        level only for bandwidth
    time_floor_s       no implementation with these FLOPs and bytes is faster
    attainable_flop_per_s  the rate at that floor; None for work without FLOPs
    margin             how many times longer the binding limit takes than the next one: 1 at the ridge, None if it is the only one
    """

    kind: BoundKind
    level: str | None
    time_floor_s: float
    attainable_flop_per_s: float | None
    margin: float | None


@overload
def attainable(ai: float, bandwidth_bytes_per_s: float, peak_flop_per_s: float, *, exponent: float | None = ...) -> float: ...
@overload
def attainable(
    ai: NDArray[np.float64], bandwidth_bytes_per_s: float, peak_flop_per_s: float, *, exponent: float | None = ...
) -> NDArray[np.float64]: ...
def attainable(
    ai: float | NDArray[np.float64], bandwidth_bytes_per_s: float, peak_flop_per_s: float, *, exponent: float | None = None
) -> float | NDArray[np.float64]:
    """The rate under the roof at an arithmetic intensity (FLOP/byte, a number or an array), flop/s.

    Without ``exponent`` the ideal roof, min(P, B * AI). With it the rounded one, in which the two times add as a
    p-norm: 1/rate = ((1 / (B * AI))^p + (1 / P)^p)^(1/p). p = 1 means no overlap of memory and compute at all,
    p -> infinity the ideal corner. Raises AnalysisError for an intensity that is not positive, or p < 1.
    """
    slope = np.asarray(ai, dtype=np.float64) * bandwidth_bytes_per_s
    if not (slope > 0).all():
        raise AnalysisError(
            "arithmetic intensity must be above 0 FLOP/byte. Work without FLOPs has no place under a roof, only a bandwidth."
        )
    low = np.minimum(slope, peak_flop_per_s)
    if exponent is not None:
        if not exponent >= 1:
            raise AnalysisError(
                f"corner exponent {exponent} is below 1: the parts of one task cannot take longer than one after the other."
            )
        # Divided by the larger rate first: the ratio is at most 1, so that no power of it overflows.
        low = low * (1 + (low / np.maximum(slope, peak_flop_per_s)) ** exponent) ** (-1 / exponent)
    return float(low) if low.ndim == 0 else low


def ridge(bandwidth_bytes_per_s: float, peak_flop_per_s: float) -> float:
    """Where slope and flat roof meet, FLOP/byte."""
    return peak_flop_per_s / bandwidth_bytes_per_s


def bound(
    flops: float,
    bytes_by_level: Mapping[str, float],
    bandwidth_by_level: Mapping[str, float],
    peak_flop_per_s: float | None,
    *,
    launch_s: float = 0.0,
) -> Bound:
    """Which limit binds work of ``flops`` FLOPs that moves ``bytes_by_level`` bytes at each level.

    peak_flop_per_s  the flat roof of the work's own precision and path; may be None for work without FLOPs
    launch_s         what starting the work takes at least; the third limit, next to the two roofs

    The limit whose time is the longest binds; of equal ones compute comes first, then the levels in the order given,
    so that work exactly at the ridge is compute-bound on every machine.
    Raises AnalysisError for a level without a bandwidth, FLOPs without a peak, negative amounts, or nothing at all.
    """
    if flops < 0 or min(bytes_by_level.values(), default=0) < 0:
        raise AnalysisError("FLOPs and bytes of a piece of work cannot be negative.")
    times: list[tuple[BoundKind, str | None, float]] = []
    if flops:
        if peak_flop_per_s is None:
            raise AnalysisError("work with FLOPs needs the flat roof of its precision.")
        times.append(("compute", None, flops / peak_flop_per_s))
    for level, amount in bytes_by_level.items():
        if level not in bandwidth_by_level:
            raise AnalysisError(f"level '{level}' has no roof. Known: {', '.join(bandwidth_by_level) or 'none'}.")
        times.append(("bandwidth", level, amount / bandwidth_by_level[level]))
    times.append(("latency", None, launch_s))
    kind, level_name, floor_s = max(times, key=lambda entry: entry[2])  # the first of equals
    if floor_s == 0:
        raise AnalysisError("work without FLOPs, bytes and launch time has no bound.")
    others = sorted(t for _, _, t in times if t > 0)
    return Bound(kind, level_name, floor_s, flops / floor_s if flops else None, floor_s / others[-2] if len(others) > 1 else None)
