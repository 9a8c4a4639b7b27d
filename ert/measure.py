"""One point: calibrate its repeats, warm it up, take its samples. The only place beside devices/ that touches hardware."""

from __future__ import annotations

from collections.abc import Sequence

from ert.devices.base import Prepared, Sample
from ert.errors import MeasurementError

# So long is a sample of the work before sustained samples, and so many of them are ordered at once: no pause is worth speaking of.
_LEAD_SAMPLE_S, _LEAD_SAMPLES = 0.05, 4
# Doubling from one repeat reaches any real time within this many steps; more means the kernel does nothing.
_MOST_REPEATS = 2**40


def calibrate(prepared: Prepared, min_time_s: float) -> int:
    """Repeats that make one sample last at least ``min_time_s``, found by doubling.

    Raises MeasurementError if no number of repeats takes any time: the kernel did not run.
    """
    repeats = 1
    while repeats < _MOST_REPEATS:
        # The shorter of two: one interrupt must not end the search early.
        time_s = min(sample.time_s for sample in prepared.sample(repeats, 2))
        if time_s >= min_time_s:
            return repeats
        aimed = int(repeats * min_time_s / max(time_s, min_time_s / 64)) + 1
        repeats = max(2 * repeats, min(aimed, 64 * repeats)) if time_s < min_time_s / 2 else repeats + max(1, repeats // 2)
    raise MeasurementError(f"{_MOST_REPEATS} repeats took less than {min_time_s} s: the kernel did not run.")


def visit(prepared: Prepared, repeats: int, count: int, patience_s: float) -> Sequence[Sample]:
    """Warm up, then ``count`` samples. Raises MeasurementError for a sample that took no time."""
    prepared.warm_up()
    return _checked(prepared.sample(repeats, count, patience_s), repeats)


def visit_sustained(prepared: Prepared, repeats: int, count: int, sustain_s: float) -> Sequence[Sample]:
    """``count`` samples behind ``sustain_s`` seconds, on the device's clock, of the same work without a pause.

    Raises MeasurementError for a sample that took no time.
    """
    prepared.warm_up()
    (first,) = _checked(prepared.sample(repeats, 1), repeats)
    longer = max(repeats, int(repeats * _LEAD_SAMPLE_S / first.time_s))
    worked_s = 0.0
    while worked_s < sustain_s:
        worked_s += sum(sample.time_s for sample in _checked(prepared.sample(longer, _LEAD_SAMPLES), longer))
    return _checked(prepared.sample(repeats, count), repeats)


def _checked(samples: Sequence[Sample], repeats: int) -> Sequence[Sample]:
    for sample in samples:
        if not sample.time_s > 0:
            raise MeasurementError(f"a sample of {repeats} repeats took {sample.time_s} s by the device's clock.")
    return samples
