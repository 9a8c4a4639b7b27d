"""A measured point of a sweep, as the ceilings file keeps it, and the rates that follow from its samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from ert.ceilings.kinds import ComputePath
from ert.devices.base import Operands
from ert.findings import Finding
from ert.kernels import Measures

Status = Literal["ok", "unsupported", "skipped", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured point, also one that could not be measured (``status`` and ``reason`` say why).

    flops, bytes  of ONE repeat, as the kernel declares them
    samples_s     each the time of ``repeats`` repeats
    clock_hz      per sample, None where it could not be known; empty if nobody looked; so memory_clock_hz, power_w, temperature_c
    throttled     per sample, what keeps it from counting (the device's reason words, a shared core, faster visits); empty if nothing does
    counted_s     times of ``repeats`` repeats joined from moments at which single cores were undisturbed (``ert.counting``); where
                  there are any, these make the ceiling
    operands      ``zeros`` for a diagnostic beside the figure on random numbers
    sustain_s     seconds for which the same work ran without a pause before the first sample; None for a point like all others
    """

    id: str
    kernel: str
    measures: Measures
    op: str
    precision: str
    path: ComputePath
    level: str | None = None
    working_set_bytes: int | None = None
    parameters: dict[str, int] = field(default_factory=dict)
    flops_per_element: int | None = None
    flops: float = 0
    bytes: float = 0
    repeats: int = 0
    samples_s: tuple[float, ...] = ()
    clock_hz: tuple[float | None, ...] = ()
    memory_clock_hz: tuple[float | None, ...] = ()
    power_w: tuple[float | None, ...] = ()
    temperature_c: tuple[float | None, ...] = ()
    throttled: tuple[tuple[str, ...], ...] = ()
    counted_s: tuple[float, ...] = ()
    operands: Operands = "random"
    sustain_s: float | None = None
    status: Status = "ok"
    reason: str | None = None
    warnings: tuple[Finding, ...] = ()

    @property
    def is_follow_up(self) -> bool:
        """Measured again under other conditions, on zeros or after seconds of unbroken work: no candidate for a ceiling."""
        return self.operands != "random" or self.sustain_s is not None

    @property
    def undisturbed_s(self) -> tuple[float, ...]:
        """The times that count: joined by core, or the samples that nothing keeps from it; all of them if there is none."""
        if self.counted_s:
            return self.counted_s
        if not self.throttled:
            return self.samples_s
        return tuple(s for s, why in zip(self.samples_s, self.throttled, strict=True) if not why) or self.samples_s

    @property
    def median_time_s(self) -> float | None:
        """Time of one repeat, from the undisturbed samples."""
        return median(self.undisturbed_s) / self.repeats if self.samples_s and self.repeats else None

    @property
    def rate_flop_per_s(self) -> float | None:
        """None for work without FLOPs."""
        time_s = self.median_time_s
        return self.flops / time_s if time_s and self.flops else None

    @property
    def bandwidth_bytes_per_s(self) -> float | None:
        """None for work in registers."""
        time_s = self.median_time_s
        return self.bytes / time_s if time_s and self.bytes else None

    @property
    def ai_flop_per_byte(self) -> float | None:
        """None for work without FLOPs, or without bytes: it has no place on a logarithmic axis."""
        return self.flops / self.bytes if self.flops and self.bytes else None
