"""When enough samples are enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ert.config import Sampling
from ert.stats import relative_half_width

Reason = Literal["converged", "max_samples"]
# Intervals wider than this to either side make two nights hard to compare; a ceiling's is marked in the file.
WIDE_INTERVAL = 0.02


@dataclass(frozen=True, slots=True)
class SampleSet:
    """time_s (n,), taken in so many visits, and whether each sample counts (n,); by_core_s (m,): times joined from single cores, where
    that is right."""

    time_s: NDArray[np.float64]
    visits: int
    counts: NDArray[np.bool_]
    by_core_s: NDArray[np.float64] | None = None

    @property
    def counted_s(self) -> NDArray[np.float64]:
        """The times that count (``ert.counting``)."""
        return self.time_s[self.counts] if self.by_core_s is None else self.by_core_s


def is_in_need(samples: SampleSet, rule: Sampling, *, is_ceiling: bool) -> bool:
    """Whether too few samples count for an interval, or for a ceiling whether the interval would have to be marked as wide."""
    if samples.counted_s.size < rule.min_samples:
        return True
    half_width = relative_half_width(samples.counted_s)
    return is_ceiling and (half_width is None or half_width > WIDE_INTERVAL)


def why_stop(samples: SampleSet, rule: Sampling) -> Reason | None:
    """The reason to stop sampling a point, None to go on.

    Convergence is that of the samples that count; max_samples counts all of them.
    """
    counted_s = samples.counted_s
    if counted_s.size >= rule.min_samples and samples.visits >= rule.min_visits:
        half_width = relative_half_width(counted_s)
        if half_width is not None and half_width <= rule.target_relative:
            return "converged"
    return "max_samples" if samples.time_s.size >= rule.max_samples else None
