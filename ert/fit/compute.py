"""A compute ceiling from many candidates, without the winner's curse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ert.errors import AnalysisError
from ert.findings import Finding
from ert.fit.model import Floats, Interval
from ert.stats import MedianCi, median_ci95

# Candidates within 1 % of the ceiling reach it: the plateau over chains and occupancy.
_PLATEAU = 0.01
# With fewer samples a candidate has too few in either half to choose by.
_LEAST_TO_SPLIT = 4
# Two halves that choose among equals are not independent: for K equal candidates whose best of a half lies m sigmas high, the
# variance of their mean grows by 1 + m^2/(K - 1), at most 1.35 (K = 4).
_TIE_FACTOR = 1.35**0.5


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest rate that some candidate sustains.

    value_per_s  median rate, in the unit of the samples; ci95 None where there are too few samples
    best         name of the candidate chosen by all samples
    plateau      names of all that reach it within 1 %, in the order given
    """

    value_per_s: float
    ci95: Interval | None
    best: str
    plateau: tuple[str, ...]
    warnings: tuple[Finding, ...] = ()


def fit_ceiling(candidates: Mapping[str, ArrayLike]) -> Ceiling:
    """The ceiling over candidates (chains, occupancy, working sets), each with its sampled rates (n,).

    The largest of many noisy medians is too high, since noise helps to win. So each half of the samples (even and odd ones)
    measures the candidate that the other half chooses, and value and interval are those of both halves together: as many
    samples as one candidate has, none of which took part in its own choice.
    Raises AnalysisError without candidates, without samples, or for rates that are not positive and finite.
    Source: cross-fitting, Chernozhukov et al., Econometrics Journal 21 (2018); honest estimation, Athey & Imbens, PNAS 113 (2016).
    """
    rates = {name: _checked(name, samples) for name, samples in candidates.items()}
    if not rates:
        raise AnalysisError("no candidates for a ceiling. Sweep at least one combination of parameters.")
    medians = {name: float(np.median(r)) for name, r in rates.items()}
    best = max(medians, key=lambda name: medians[name])
    can_split = min(r.size for r in rates.values()) >= _LEAST_TO_SPLIT
    measured = median_ci95(np.concatenate([_measured(rates, half) for half in (0, 1)]) if can_split else rates[best])
    plateau = tuple(name for name, median in medians.items() if median >= (1 - _PLATEAU) * measured.median) or (best,)
    return Ceiling(measured.median, _interval(measured, best, medians), best, plateau, tuple(_lone(best, medians)))


def _checked(name: str, samples: ArrayLike) -> Floats:
    rates = np.asarray(samples, dtype=np.float64).ravel()
    if rates.size == 0 or not (np.isfinite(rates) & (rates > 0)).all():
        raise AnalysisError(f"candidate '{name}': a rate is missing, not positive or not finite. Leave out what was not measured.")
    return rates


def _measured(rates: Mapping[str, Floats], half: int) -> Floats:
    """This half of the samples of the candidate that the other half chooses."""
    chosen = max(rates, key=lambda name: float(np.median(rates[name][1 - half :: 2])))
    return rates[chosen][half::2]


def _interval(measured: MedianCi, best: str, medians: Mapping[str, float]) -> Interval | None:
    """The interval of the median, wider where it cannot tell the best candidate from another."""
    value, low, high = measured
    if low is None or high is None:
        return None
    is_tie = any(median >= low for name, median in medians.items() if name != best)
    factor = _TIE_FACTOR if is_tie else 1.0
    return value - factor * (value - low), value + factor * (high - value)


def _lone(best: str, medians: Mapping[str, float]) -> list[Finding]:
    """A ceiling that only one of several candidates reaches is a peak and no plateau."""
    rest = sorted((m for name, m in medians.items() if name != best), reverse=True)
    if not rest or rest[0] >= (1 - 3 * _PLATEAU) * medians[best]:
        return []
    gap = 1 - rest[0] / medians[best]
    message = f"no plateau: only {best} reaches this rate; the next is {100 * gap:.1f} % lower."
    return [Finding("lone_best", message, gap, "Sweep more values of its parameters: the ceiling may lie higher.")]
