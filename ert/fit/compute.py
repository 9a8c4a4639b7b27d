"""A compute ceiling from many candidates, without the winner's curse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ert.errors import AnalysisError
from ert.findings import Finding
from ert.fit.model import Floats, Interval
from ert.stats import median_ci95

# Candidates within 1 % of the ceiling reach it: the plateau over chains and occupancy.
_PLATEAU = 0.01
# Fewer samples of a candidate cannot be split into those that choose and those that measure.
_FOLDS = 5


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

    The largest of many noisy medians is too high, since noise helps to win. So the samples of each candidate are dealt
    into five hands; each hand measures the candidate that the other four hands choose. Median and interval are those of
    the samples so collected: as many as one candidate has, none of which took part in its own choice.
    Raises AnalysisError without candidates, without samples, or for rates that are not positive and finite.
    Source: cross-fitting, Chernozhukov et al., Econometrics Journal 21 (2018); honest estimation, Athey & Imbens, PNAS 113 (2016).
    """
    rates = {name: _checked(name, samples) for name, samples in candidates.items()}
    if not rates:
        raise AnalysisError("no candidates for a ceiling. Sweep at least one combination of parameters.")
    medians = {name: float(np.median(r)) for name, r in rates.items()}
    best = max(medians, key=lambda name: medians[name])
    fewest = min(r.size for r in rates.values())
    measured = np.concatenate([_measured_by(hand, rates) for hand in range(_FOLDS)]) if fewest >= _FOLDS else rates[best]
    value, low, high = median_ci95(measured)
    plateau = tuple(name for name, median in medians.items() if median >= (1 - _PLATEAU) * value)
    return Ceiling(value, None if low is None or high is None else (low, high), best, plateau or (best,), tuple(_lone(best, medians)))


def _checked(name: str, samples: ArrayLike) -> Floats:
    rates = np.asarray(samples, dtype=np.float64).ravel()
    if rates.size == 0 or not (np.isfinite(rates) & (rates > 0)).all():
        raise AnalysisError(f"candidate '{name}': a rate is missing, not positive or not finite. Leave out what was not measured.")
    return rates


def _measured_by(hand: int, rates: Mapping[str, Floats]) -> Floats:
    """The samples in this hand of the candidate that the other hands choose."""
    others = {name: float(np.median(r[np.arange(r.size) % _FOLDS != hand])) for name, r in rates.items()}
    return rates[max(others, key=lambda name: others[name])][hand::_FOLDS]


def _lone(best: str, medians: Mapping[str, float]) -> list[Finding]:
    """A ceiling that only one of several candidates reaches is a peak and no plateau."""
    rest = sorted((m for name, m in medians.items() if name != best), reverse=True)
    if not rest or rest[0] >= (1 - 3 * _PLATEAU) * medians[best]:
        return []
    gap = 1 - rest[0] / medians[best]
    message = f"no plateau: only {best} reaches this rate; the next is {100 * gap:.1f} % lower."
    return [Finding("lone_best", message, gap, "Sweep more values of its parameters: the ceiling may lie higher.")]
