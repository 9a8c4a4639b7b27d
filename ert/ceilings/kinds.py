"""The two kinds of ceilings, bandwidth and compute, and the roofs that a pair of them makes.

All numbers are SI base (byte/s, flop/s, byte, s, Hz); a value that was not measured is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

from ert.diagnostics import Burst
from ert.precisions import is_float

ComputePath = Literal["vector", "tensor"]

# The operation whose rate is the roof of a path; the others are lines of their own.
ROOF_OP: dict[str, str] = {"vector": "fma", "tensor": "mma"}


class _Limited:
    """What both kinds of ceilings derive from their value and limit."""

    __slots__ = ()
    value: float
    limit: float | None

    @property
    def share_of_limit(self) -> float | None:
        """1 at the physical limit; None where no limit is known."""
        return self.value / self.limit if self.limit else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthCeiling(_Limited):
    """The sustained bandwidth of one memory level for one operation.

    value, ci95        byte/s, and its 95 % interval; None if there were too few samples for one
    roof               True for the highest sustained operation of the level
    working_set_bytes  smallest and largest working set on the plateau
    limit              byte/s, the physical limit at ``clock_hz``; None with the reason in ``limit_source``
    clock_hz, power_w  core clock and power draw measured beside the samples; power None where the device tells none
    burst              what it was in the first seconds, where ``value``, which it sustains, is another; else None
    """

    level: str
    op: str
    value: float
    ci95: tuple[float, float] | None
    roof: bool
    kernel: str
    working_set_bytes: tuple[int, int] | None = None
    capacity_bytes: int | None = None
    point_ids: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    limit: float | None = None
    limit_source: str | None = None
    clock_hz: float | None = None
    threads: int | None = None
    power_w: float | None = None
    burst: Burst | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeCeiling(_Limited):
    """The sustained rate of one precision, path and operation; fields as in BandwidthCeiling, in flop/s.

    Integer precisions count operations instead of FLOPs.
    """

    precision: str
    path: ComputePath
    op: str
    value: float
    ci95: tuple[float, float] | None
    roof: bool
    kernel: str
    point_ids: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    limit: float | None = None
    limit_source: str | None = None
    clock_hz: float | None = None
    threads: int | None = None
    power_w: float | None = None
    burst: Burst | None = None

    @property
    def is_float(self) -> bool:
        return is_float(self.precision)


Ceiling = BandwidthCeiling | ComputeCeiling
# For functions that give back the kind of ceilings they are given.
SomeCeiling = TypeVar("SomeCeiling", BandwidthCeiling, ComputeCeiling)


@dataclass(frozen=True, slots=True)
class Corner:
    """The rounded corner of a measured roof: t = ((bytes/B)^p + (flops/P)^p)^(1/p).

    exponent                     p; the ideal corner is p -> infinity
    bandwidth_bytes_per_s, rate  B and P of the same fit, kept beside the direct measurements they must agree with
    """

    exponent: float
    ci95: tuple[float, float] | None = None
    bandwidth_bytes_per_s: float | None = None
    rate_flop_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Roof:
    """One memory level under one compute ceiling."""

    level: str
    precision: str
    path: ComputePath
    ridge_flop_per_byte: float
    corner: Corner | None = None
