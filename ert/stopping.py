"""When enough samples are enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ert.config import Sampling
from ert.stats import relative_half_width

Reason = Literal["converged", "max_samples"]


@dataclass(frozen=True, slots=True)
class SampleSet:
    """time_s (n,) and whether each sample was disturbed (n,); by_core_s (m,): times joined from single cores, where that is right."""

    time_s: NDArray[np.float64]
    disturbed: NDArray[np.bool_]
    by_core_s: NDArray[np.float64] | None = None

    @property
    def quiet_s(self) -> NDArray[np.float64]:
        """The times that count."""
        return self.time_s[~self.disturbed] if self.by_core_s is None else self.by_core_s


def why_stop(samples: SampleSet, rule: Sampling) -> Reason | None:
    """The reason to stop sampling a point, None to go on.

    Only undisturbed samples count for convergence; max_samples counts all of them.
    """
    quiet_s = samples.quiet_s
    if quiet_s.size >= rule.min_samples:
        half_width = relative_half_width(quiet_s)
        if half_width is not None and half_width <= rule.target_relative:
            return "converged"
    return "max_samples" if samples.time_s.size >= rule.max_samples else None
