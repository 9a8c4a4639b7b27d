"""A measured point as a row of the file, and as a candidate for a ceiling: which of its samples count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ert.ceilings.kinds import ComputePath
from ert.ceilings.point import Point, Status
from ert.counting import clock_by_core, counted_by_core
from ert.devices.base import Device, Sample
from ert.findings import Finding
from ert.plan import PlannedPoint
from ert.stats import MIN_SAMPLES_FOR_CI95
from ert.sweep import PointState

DISTURBED = "core shared, or cores placed otherwise"
SLOWER = "slower than in other visits"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One measured point that may be a ceiling.

    times_s      of one repeat, the samples that count, (n,)
    clock_hz, power_w  medians beside them
    flags        ``throttled`` or ``disturbed`` if too few samples were undisturbed and the least disturbed had to serve
    """

    point: Point
    is_curve: bool
    times_s: NDArray[np.float64]
    clock_hz: float | None
    power_w: float | None = None
    flags: tuple[str, ...] = ()

    @property
    def is_disturbed(self) -> bool:
        return bool(self.flags)

    @property
    def rates(self) -> NDArray[np.float64]:
        """byte/s for points that measure a memory level, op/s for the others."""
        work = self.point.bytes if self.point.measures == "bandwidth" else self.point.flops
        return work / self.times_s

    @property
    def median(self) -> float:
        return float(np.median(self.rates))


def to_point(device: Device, state: PointState) -> Point:
    """The row of the file: every sample, those that do not count with the reason."""
    task, samples = state.planned.task, state.samples
    counts = state.sample_set(device).counts
    why = [_why_not(device, state, s, bool(is_counted)) for s, is_counted in zip(samples, counts, strict=True)]
    return replace(
        absent_point(state.planned, state.reason),
        working_set_bytes=state.working_set_bytes or task.working_set_bytes,
        flops=state.flops,
        bytes=state.bytes,
        repeats=state.repeats,
        samples_s=tuple(s.time_s for s in samples),
        clock_hz=tuple(s.clock_hz for s in samples),
        memory_clock_hz=_known(s.memory_clock_hz for s in samples),
        power_w=_known(s.power_w for s in samples),
        temperature_c=_known(s.temperature_c for s in samples),
        throttled=tuple(why) if any(why) else (),
        counted_s=_counted_s(device, state),
        warnings=(Finding("cut_short", state.cut_short),) if state.cut_short else (),
        status=cast(Status, state.status if samples or state.status != "ok" else "skipped"),
        reason=state.reason if samples or state.status != "ok" else "the time budget was spent before its first visit",
    )


def _why_not(device: Device, state: PointState, sample: Sample, is_counted: bool) -> tuple[str, ...]:
    """What keeps a sample from counting."""
    disturbed = (DISTURBED,) if device.disturbance(sample, state.planned.task) > 0 else ()
    return (*sample.throttled, *disturbed) or (() if is_counted else (SLOWER,))


def _known(values: Iterable[float | None]) -> tuple[float | None, ...]:
    """One value a sample; empty where the device tells none."""
    every = tuple(values)
    return every if any(value is not None for value in every) else ()


def _counted_s(device: Device, state: PointState) -> tuple[float, ...]:
    """Times joined from single cores; empty where the samples that are not marked are the ones that count."""
    joined = state.sample_set(device).by_core_s if state.samples else None
    return () if joined is None or joined.size < MIN_SAMPLES_FOR_CI95 else tuple(joined.tolist())


def absent_point(planned: PlannedPoint, reason: str | None) -> Point:
    """The row of a point that was not measured."""
    task = planned.task
    return Point(
        id=planned.id,
        kernel=task.kernel.name,
        measures=task.kernel.measures,
        op=task.kernel.op,
        precision=task.precision,
        path=cast(ComputePath, task.kernel.path),
        level=task.level,
        working_set_bytes=task.working_set_bytes,
        parameters=dict(task.parameters),
        flops_per_element=task.parameters.get("ERT_FLOPS"),
        operands=task.operands,
        sustain_s=planned.sustain_s or None,
        status="unsupported",
        reason=reason,
    )


def to_candidate(device: Device, state: PointState) -> Candidate:
    """The samples that count (``ert.counting``), or if there are too few, the least disturbed."""
    found, task, samples = state.sample_set(device), state.planned.task, state.samples
    threshold = device.core_threshold(task)
    counted_s, clock_hz = found.counted_s, None
    if threshold is not None:
        clock_hz = clock_by_core(samples, counted_by_core(samples, state.visits, threshold))
    flags = cast(tuple[str, ...], ())
    if counted_s.size < MIN_SAMPLES_FOR_CI95:
        amounts = [(bool(s.throttled), device.disturbance(s, task)) for s in samples]
        least = sorted(range(len(samples)), key=lambda i: amounts[i])[: max(counted_s.size, 2 * MIN_SAMPLES_FOR_CI95)]
        samples = [samples[i] for i in least]
        counted_s = np.array([s.time_s for s in samples])
        flags = _why_disturbed([amounts[i] for i in least])
    elif found.counts.any():
        samples = [s for s, is_counted in zip(samples, found.counts, strict=True) if is_counted]
    if clock_hz is None or flags:
        clock_hz = _median([s.clock_hz for s in samples if s.clock_hz])
    power_w = _median([s.power_w for s in samples if s.power_w is not None])
    return Candidate(to_point(device, state), state.planned.is_curve, counted_s / state.repeats, clock_hz, power_w, flags)


def _why_disturbed(amounts: Sequence[tuple[bool, float]]) -> tuple[str, ...]:
    """The flags of a candidate that rests on such samples: (device throttled, how far from undisturbed)."""
    throttled = ("throttled",) if any(is_throttled for is_throttled, _ in amounts) else ()
    return throttled + (("disturbed",) if any(amount > 0 for _, amount in amounts) else ())


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
