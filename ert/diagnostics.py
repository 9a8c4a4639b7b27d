"""What a sweep measures beside the ceilings to explain them: latencies, figures on zeros, what each of several kernels reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# latency        of one dependent load, s
# zero_operands  a tensor ceiling on operands that are all zero, which draw less power than any real data
# by_kernel      what each kernel reached where several measure one ceiling
What = Literal["latency", "zero_operands", "by_kernel"]
Unit = Literal["s", "byte/s", "flop/s", "op/s"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A measured number that is no ceiling; ``ci95`` None if there were too few samples for one.

    level or precision and path  what it is about, as in a ceiling
    """

    what: What
    value: float
    unit: Unit
    ci95: tuple[float, float] | None
    kernel: str
    op: str
    level: str | None = None
    precision: str | None = None
    path: str | None = None
    point_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Burst:
    """What a ceiling was in the first seconds, where it does not sustain that: beyond both intervals.

    value, ci95, clock_hz, power_w  as in the ceiling
    """

    value: float
    ci95: tuple[float, float] | None = None
    clock_hz: float | None = None
    power_w: float | None = None
