"""Pure statistics of timing samples: robust, distribution-free, right from one sample upwards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ert.errors import AnalysisError

Floats = NDArray[np.float64]

# 1.4826 = 1/Phi^-1(3/4) turns the MAD into a standard-deviation estimate for normal noise (Iglewicz & Hoaglin 1993).
MAD_TO_SIGMA = 1.4826
# The widest interval order statistics can give is [min, max]; it covers the median with 1 - 2^(1-n), which is 0.969 at n = 6
# and only 0.9375 at n = 5. Fewer samples have no 95 % interval.
MIN_SAMPLES_FOR_CI95 = 6


class MedianCi(NamedTuple):
    """A median and its 95 % interval; both ends are None where there are too few samples for one."""

    median: float
    lo: float | None
    hi: float | None

    @property
    def relative_half_width(self) -> float | None:
        """Half the interval over the median; None without an interval or around zero."""
        if self.lo is None or self.hi is None or self.median == 0:
            return None
        return (self.hi - self.lo) / 2 / abs(self.median)


def median_ci95(samples: ArrayLike) -> MedianCi:
    """Median of ``samples`` (n,) with a 95 % interval, whatever the noise is distributed like.

    The interval lies between order statistics, interpolated so that its coverage is 95 % and not the
    next step above. Raises AnalysisError without samples or with one that is not finite.
    Source: Hettmansperger & Sheather, "Confidence intervals based on interpolated order statistics",
    Statistics & Probability Letters 4 (1986).
    """
    ordered = np.sort(_finite(samples))
    n = ordered.size
    median = float(ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    if n < MIN_SAMPLES_FOR_CI95:
        return MedianCi(median, None, None)
    depth, inward = _interval_ranks(n)
    lo = (1 - inward) * ordered[depth - 1] + inward * ordered[depth]
    hi = (1 - inward) * ordered[n - depth] + inward * ordered[n - depth - 1]
    return MedianCi(median, float(lo), float(hi))


@lru_cache(maxsize=4096)
def _interval_ranks(n: int) -> tuple[int, float]:
    """(d, w): the 95 % interval of n samples starts at w of the way from order statistic d to d + 1 (from 1)."""
    # [x(d), x(n-d+1)] holds the median with 1 - 2 P(Binomial(n, 1/2) < d); the pmf by its recurrence, in logarithms for large n.
    k = np.arange(1, n // 2 + 1)
    log_pmf = np.concatenate([[0.0], np.cumsum(np.log((n - k + 1) / k))]) - n * np.log(2.0)
    coverage = 1.0 - 2.0 * np.cumsum(np.exp(log_pmf))
    depth = int(np.count_nonzero(coverage[: n // 2] >= 0.95))
    outer, inner = coverage[depth - 1], max(coverage[depth], 0.0)
    share = float((outer - 0.95) / (outer - inner))
    return depth, (n - depth) * share / (depth + (n - 2 * depth) * share)


def relative_half_width(samples: ArrayLike) -> float | None:
    """Half the 95 % interval of the median over the median: what a stopping rule watches. None where there is no interval."""
    return median_ci95(samples).relative_half_width


def _finite(samples: ArrayLike | Sequence[float]) -> Floats:
    values = np.asarray(samples, dtype=np.float64).ravel()
    if values.size == 0:
        raise AnalysisError("no samples: a statistic needs at least one. Measure the point again.")
    if not np.isfinite(values).all():
        raise AnalysisError(f"{np.count_nonzero(~np.isfinite(values))} of {values.size} samples are not finite numbers. Drop them first.")
    return values
