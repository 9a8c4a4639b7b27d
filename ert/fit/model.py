"""What a fit of memory levels takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.findings import Finding

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Bandwidth against working set: one row a sample or a point, in any order; several rows of one size are its noise.

    working_set_bytes, bandwidth_bytes_per_s  (n,), positive and finite
    order      (n,) position in time, None if the rows stand in the order they were taken
    clock_hz   (n,) core clock beside the row, None if nobody looked
    throttled  (n,) the device said so itself, None if nobody asked
    """

    working_set_bytes: Floats
    bandwidth_bytes_per_s: Floats
    order: Floats | None = None
    clock_hz: Floats | None = None
    throttled: Bools | None = None


@dataclass(frozen=True, slots=True)
class CapacityFact:
    """One level as driver or OS reports it, in the unit of the curve's working sets; DRAM's capacity is None."""

    name: str
    capacity_bytes: int | None


@dataclass(frozen=True, slots=True)
class Level:
    """One plateau of the curve.

    name               None where neither facts nor position tell
    value_bytes_per_s  sustained bandwidth: dips and outliers do not count, a slow decline is averaged over octaves
    working_set_bytes  smallest and largest size that lie on it
    points             how many different sizes these are
    capacity_bytes     size at which the curve leaves it for the next; None for the last
    capacity_ci95      between which sizes it leaves: still on the level, clearly off it
    flags              ``short``, ``declining``, ``throttled``, ``not_proven`` (beyond the last cache, but the sweep is too short)
    """

    name: str | None
    value_bytes_per_s: float
    ci95: Interval
    working_set_bytes: Interval
    points: int
    capacity_bytes: float | None = None
    capacity_ci95: Interval | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LevelFit:
    """The levels of one curve, fast to slow, and what a reader must know beside them."""

    levels: tuple[Level, ...]
    warnings: tuple[Finding, ...] = ()
