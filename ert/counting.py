"""Which times count for a ceiling, when each core can be judged on its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ert.devices.base import Sample


def times_by_core(samples: Sequence[Sample], threshold: float) -> NDArray[np.float64]:
    """Times of whole-device samples, (m,) s, joined from moments at which each single core was quiet.

    threshold  issue width, instructions per cycle, from which a core counts as quiet

    For work that stays inside the cores (registers, private caches) all cores run at once but none waits for another, so a core's
    own time counts whenever that core was undisturbed. The k-th quiet times of all cores make the k-th joined time: the time in
    which they do the whole work at the sum of their rates. m is the count of the core that was quiet least often.
    Samples without times by core are left out.
    """
    known = [sample for sample in samples if sample.core_times_s and not sample.throttled]
    if not known:
        return np.empty(0)
    times = np.array([sample.core_times_s for sample in known])
    quiet = np.array([sample.core_widths for sample in known]) >= threshold
    columns = [times[quiet[:, core], core] for core in range(times.shape[1])]
    count = min(column.size for column in columns)
    rates = sum(1 / column[:count] for column in columns)
    return times.shape[1] / np.asarray(rates) if count else np.empty(0)


def clock_by_core(samples: Sequence[Sample], threshold: float) -> float | None:
    """Median clock, Hz, of the cores in the moments that ``times_by_core`` counts; None if there is none."""
    clocks = [
        clock_hz
        for sample in samples
        for clock_hz, width in zip(sample.core_clocks_hz, sample.core_widths, strict=True)
        if width >= threshold and not sample.throttled
    ]
    return float(np.median(clocks)) if clocks else None
