"""Statistics of many nights of many ceilings at once: rows are series (one ceiling of one device), columns nights.

All values are natural logarithms, so that a difference is a relative change; a night without a value is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ert.stats import MAD_TO_SIGMA

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Variance of the median of m normal values is about pi/2 times that of their mean (0.449 against 0.333 for m = 3).
MEDIAN_PENALTY = np.pi / 2
# Robust standard deviations from the median beyond which a night is no part of a baseline. Three is usual (Hampel 1974), but the
# MAD of ten nights may be half of what it should be, and a baseline that loses its tails finds the next night unusual.
_GROSS_Z = 5.0
# A slide must fit better than a step by this many variances about it (two units of log likelihood).
_SLIDE_MARGIN = 4.0
# The largest z that is told apart; beyond it the tail of the normal distribution has no double.
_LARGEST_Z = 37.0


class Spread(NamedTuple):
    """Per series: how many nights, their mean, their standard deviation, and the part of it from one night to the next.

    sigma       about the mean: also sees a slow drift, which is right for asking whether one night is unusual
    successive  from differences of neighbouring nights: blind to a slow drift, which is right for asking whether there is one

    Source of ``successive``: von Neumann, "Distribution of the ratio of the mean square successive difference to
    the variance", Annals of Mathematical Statistics 12 (1941).
    """

    nights: Ints
    mean: Floats
    sigma: Floats
    successive: Floats


def spread(window: Floats) -> Spread:
    """Of a window (s, w), oldest first, NaN where there is no night; NaN for series with fewer than two."""
    known = np.isfinite(window)
    count = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, window, 0.0).sum(axis=1) / count
        squares = (np.where(known, window - mean[:, None], 0.0) ** 2).sum(axis=1)
        steps = np.diff(window, axis=1)
        both = np.isfinite(steps)
        successive = (np.where(both, steps, 0.0) ** 2).sum(axis=1) / both.sum(axis=1) / 2
        return Spread(count, mean, np.sqrt(squares / (count - 1)), np.sqrt(successive))


def normal_z(t: Floats, freedom: Floats | Ints) -> Floats:
    """The standard normal z as improbable as ``t`` is under Student's distribution with ``freedom`` degrees (both (s,)).

    So one limit fits a baseline of ten nights and one of thirty.
    Source: Quesenberry, "SPC Q charts for start-up processes and short or long runs", Journal of Quality Technology 23 (1991).
    """
    tail = special.ndtri(special.stdtr(np.maximum(freedom, 1), -np.abs(t)))
    return np.asarray(np.sign(t) * np.minimum(-tail, _LARGEST_Z), dtype=np.float64)


class Difference(NamedTuple):
    """How far the mean of some nights is from that of others: as a normal z, and the standard deviation of a night it was judged by."""

    z: float
    sigma: float


def difference(before: Floats, after: Floats, least_sigma: float) -> Difference:
    """Of two stretches of nights (n,) and (m,), NaN left out; their standard deviation is not believed below ``least_sigma``.

    The scatter of both stretches counts: three nights that disagree prove less, and a short baseline gains two degrees of freedom.
    Source: Student's test of two samples with one variance ("The probable error of a mean", Biometrika 6, 1908; Fisher,
    "Applications of Student's distribution", Metron 5, 1925).
    """
    samples = [values[np.isfinite(values)] for values in (before, after)]
    freedom = sum(values.size for values in samples) - 2
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in samples)
    sigma = max(float(np.sqrt(squares / freedom)), least_sigma)
    t = (samples[1].mean() - samples[0].mean()) / (sigma * np.sqrt(sum(1 / values.size for values in samples)))
    return Difference(float(normal_z(np.array([t]), np.array([freedom]))[0]), sigma)


def without_gross(window: Floats, least: float) -> Floats:
    """The window (s, w) with NaN for nights that lie ``least`` and five robust standard deviations from the median.

    Source: Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974).
    """
    away = np.abs(window - row_medians(window)[:, None])
    sigma = MAD_TO_SIGMA * row_medians(away)[:, None]
    return np.where(away > np.maximum(_GROSS_Z * sigma, least), np.nan, window)


def row_medians(values: Floats) -> Floats:
    """Median of each row of (s, w), NaN left out; NaN for a row without a value. (``numpy.nanmedian`` takes row by row.)"""
    ordered = np.sort(values, axis=1)
    count = np.isfinite(values).sum(axis=1)
    rows, last = np.arange(count.size), values.shape[1] - 1
    return np.asarray((ordered[rows, np.maximum(count - 1, 0) // 2] + ordered[rows, np.minimum(count // 2, last)]) / 2)


def split(trail: Floats, last: int) -> tuple[Floats, Floats]:
    """The nights of a trail (w,) before the last ones, and these: no more than half of all; NaN left out."""
    known = trail[np.isfinite(trail)]
    cut = known.size - min(last, known.size // 2)
    return known[:cut], known[cut:]


def push(buffer: Floats, rows: Bools, value: Floats) -> None:
    """Append ``value`` (s,) to the right end of the buffer (s, w), in the given rows; the oldest falls out."""
    buffer[rows, :-1] = buffer[rows, 1:]
    buffer[rows, -1] = value[rows]


def is_slide(trail: Floats) -> bool:
    """Whether a series (w,), oldest first, clearly ends on a slide rather than on a step; NaN for nights it does not have.

    Each shape (a level, then another one; a level, then a straight line away from it) is fitted at every place where it
    could begin. Both have two parameters beside the place, so their sums of squares compare.
    """
    values = trail[np.isfinite(trail)]
    after = np.arange(values.size) - np.arange(values.size - 1)[:, None]
    about_step = _squares_about(values, (after > 0).astype(np.float64)).min()
    about_slide = _squares_about(values, np.maximum(after, 0).astype(np.float64)).min()
    return bool(about_step - about_slide > _SLIDE_MARGIN * about_slide / max(values.size - 3, 1))


def _squares_about(values: Floats, shapes: Floats) -> Floats:
    """Sum of squares of ``values`` (n,) about level + size * shape, both fitted, for each of ``shapes`` (m, n)."""
    centred = values - values.mean()
    shapes = shapes - shapes.mean(axis=1, keepdims=True)
    return np.asarray(centred @ centred - (shapes @ centred) ** 2 / (shapes**2).sum(axis=1))
