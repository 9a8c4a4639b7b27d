"""The launch-limited start of a curve: small sizes that are slow because starting them takes time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import isotonic_regression

from ert.fit.plateaus import LEAST_SIZES, Plateau, WeightedSizes

_LEAST_TO_JUDGE = 8
# A rise must be this many standard errors, or it is noise.
_RISE_SIGMAS = 3.0
# What may still be missing where the level is said to start: a third of the noise, within these bounds.
_NOISE_SHARE = 0.3
_MISSING = (0.004, 0.015)
_LEAST_OCTAVES_LEFT = 0.5


def after_launch(points: WeightedSizes, first: Plateau) -> Plateau:
    """The first level without the sizes that still rise to it.

    With a start-up time a, T = V/b + a, so half of what is missing to b at one size is missing at twice that size: the
    approach is slow, and a level that includes it reads low. The rise is followed by isotonic regression, which knows
    neither a nor b (Barlow et al., Statistical Inference under Order Restrictions, 1972).
    """
    log_rate = points.sizes.log_rate[first.members]
    n = log_rate.size
    if n < _LEAST_TO_JUDGE:
        return first
    late, early = log_rate[n // 2 :], log_rate[: n // 4]
    top = float(np.median(late))
    noise = float(points.sigma[first.members].mean())
    missing = float(np.clip(_NOISE_SHARE * noise, *_MISSING))
    # 1.25 sigma / sqrt(n) is the standard error of a median.
    error = 1.25 * noise * np.sqrt(1 / late.size + 1 / early.size)
    if top - np.median(early) < max(missing, _RISE_SIGMAS * error):
        return first
    risen = isotonic_regression(log_rate).x >= top - missing
    return replace(_from(points, first, int(np.argmax(risen))), missing=missing)


def _from(points: WeightedSizes, level: Plateau, begin: int) -> Plateau:
    """The level from its member ``begin`` on, or from as late as leaves a level."""
    for start in range(min(begin, level.members.size - LEAST_SIZES), 0, -1):
        rest = points.plateau(level.members[start:])
        if rest.octaves >= _LEAST_OCTAVES_LEFT:
            return rest
    return level
