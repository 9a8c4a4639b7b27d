"""The rounded corner of a roof, from time per element against FLOPs per element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import fdtri

from ert.errors import AnalysisError
from ert.findings import Finding
from ert.fit.model import Floats, Interval
from ert.stats import MAD_TO_SIGMA
from ert.units import with_prefix

# 1/p is fitted: it runs from 0, the ideal corner, to 1, no overlap of memory and compute at all. At p = 256 the corner is
# within 0.3 % of the ideal one, and no measurement tells them apart.
LARGEST_EXPONENT = 256.0
_SHARPEST, _SOFTEST = 1 / LARGEST_EXPONENT, 1.0
_STARTS = (0.03, 0.2, 0.6)
# Parameters in the order of a vector: ln B, ln P, 1/p.
_BANDWIDTH, _PEAK, _SOFTNESS = range(3)
_PARAMETERS = 3
# At least this many different FLOP counts on either side of the ridge, or one of the two roofs is a guess.
_EACH_SIDE = 2
# Residuals beyond this many sigmas count linearly instead of squared.
_SOFT_SIGMAS = 2.0
_FIRST_SIGMA, _LEAST_SIGMA, _SIGMA_ROUNDS = 0.02, 1e-6, 3
_ROUNDS, _SETTLED, _STUCK = 60, 1e-8, 1e9
# No interval of ln B or ln P is wider than a factor e^3 either way. Its ends are found to 1 % of its width.
_WIDEST, _LEAST_STEP, _PRECISION = 3.0, 1e-7, 0.01


@dataclass(frozen=True, slots=True)
class CornerFit:
    """t(f) = ((bytes/B)^p + (f/P)^p)^(1/p), with 95 % intervals.

    exponent  p; LARGEST_EXPONENT at an end of its interval means the ideal corner
    """

    bandwidth_bytes_per_s: float
    bandwidth_ci95: Interval
    peak_flop_per_s: float
    peak_ci95: Interval
    exponent: float
    exponent_ci95: Interval


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """ln of FLOPs, bytes and seconds per element, (n,) each, one per FLOP count; sigma of ln seconds."""

    log_flops: Floats
    log_bytes: Floats
    log_time: Floats
    sigma: float

    def residual(self, parameters: Floats) -> tuple[Floats, Floats]:
        """(n,) measured minus modelled ln t, and the model's derivatives (n, 3)."""
        memory, compute = self.log_bytes - parameters[_BANDWIDTH], self.log_flops - parameters[_PEAK]
        softness = parameters[_SOFTNESS]
        far = np.exp(-np.abs(memory - compute) / softness)
        model = np.maximum(memory, compute) + softness * np.log1p(far)
        share = np.where(memory > compute, 1.0, far) / (1 + far)  # of memory in the time
        mixed = share * memory + (1 - share) * compute
        return self.log_time - model, np.stack([-share, share - 1, (model - mixed) / softness], axis=1)

    def loss(self, residual: Floats) -> float:
        """Sum of Huber's loss in units of sigma^2: squares up to _SOFT_SIGMAS, straight lines beyond."""
        size = np.abs(residual) / self.sigma
        return float(np.sum(np.where(size <= _SOFT_SIGMAS, size**2, _SOFT_SIGMAS * (2 * size - _SOFT_SIGMAS))))


def fit_corner(flops_per_element: ArrayLike, time_per_element_s: ArrayLike, bytes_per_element: ArrayLike) -> CornerFit:
    """Fit both roofs and the corner between them to one mixed sweep.

    flops_per_element   (n,) positive; several rows of one count are samples, their median counts
    time_per_element_s  (n,) positive
    bytes_per_element   a number, or (n,)

    Huber's loss on ln t, so that every count weighs the same and one stall does not bend the roof; intervals by profile
    likelihood, which stays right where p runs into the ideal corner. Raises AnalysisError for bad values, fewer counts
    than parameters + 1, or a sweep that leaves one of the roofs open.
    Source: roofs from a sweep of FLOPs per element, Lo et al., Roofline Model Toolkit, PMBS 2014; profile likelihood, Bates & Watts,
    Nonlinear Regression Analysis and Its Applications, 1988, chapter 6.
    """
    best, points = _fit_from_starts(_one_per_count(*_checked(flops_per_element, time_per_element_s, bytes_per_element)))
    _check_sides(points, best)
    bandwidth, peak, softness = (_interval(points, best, index) for index in range(_PARAMETERS))
    return CornerFit(
        bandwidth_bytes_per_s=float(np.exp(best[_BANDWIDTH])),
        bandwidth_ci95=(float(np.exp(bandwidth[0])), float(np.exp(bandwidth[1]))),
        peak_flop_per_s=float(np.exp(best[_PEAK])),
        peak_ci95=(float(np.exp(peak[0])), float(np.exp(peak[1]))),
        exponent=float(1 / best[_SOFTNESS]),
        exponent_ci95=(1 / softness[1], 1 / softness[0]),
    )


def check_corner(
    corner: CornerFit, bandwidth: tuple[float, Interval | None], peak: tuple[float, Interval | None], where: str
) -> list[Finding]:
    """Findings where the corner's roofs and the directly measured ones (value, interval) disagree beyond their intervals.

    where  names the roof in the message: "DRAM, fp32 vector"
    """
    pairs = (
        ("bandwidth", "B/s", corner.bandwidth_bytes_per_s, corner.bandwidth_ci95, bandwidth),
        ("peak", "FLOP/s", corner.peak_flop_per_s, corner.peak_ci95, peak),
    )
    return [
        _disagreement(where, what, unit, fitted, direct[0])
        for what, unit, fitted, interval, direct in pairs
        if not _overlap(interval, direct[1] or (direct[0], direct[0]))
    ]


def _disagreement(where: str, what: str, unit: str, fitted: float, direct: float) -> Finding:
    message = (
        f"{where}: the mixed sweep gives a {what} of {with_prefix(fitted, unit)}, the direct measurement {with_prefix(direct, unit)}; "
        "their intervals do not meet."
    )
    remedy = "Compare clock and power of both; the mixed kernel may be limited by something else, such as its stores."
    return Finding(f"corner_{what}_disagrees", message, fitted / direct, remedy)


def _overlap(a: Interval, b: Interval) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def _checked(flops: ArrayLike, time_s: ArrayLike, size: ArrayLike) -> tuple[Floats, Floats, Floats]:
    columns = [np.asarray(c, dtype=np.float64) for c in (flops, time_s, size)]
    columns[2] = np.broadcast_to(columns[2], columns[0].shape) if columns[2].ndim == 0 else columns[2]
    names = ("flops_per_element", "time_per_element_s", "bytes_per_element")
    for name, column in zip(names, columns, strict=True):
        if column.ndim != 1 or column.shape != columns[0].shape:
            raise AnalysisError(f"{name} differs in length from the other columns of the mixed sweep.")
        if not (np.isfinite(column) & (column > 0)).all():
            raise AnalysisError(f"{name} must be positive and finite in a mixed sweep. Leave out points that were not measured.")
    return columns[0], columns[1], columns[2]


def _one_per_count(flops: Floats, time_s: Floats, size: Floats) -> _Points:
    """The median time of each FLOP count; the first sigma is that of an ordinary sweep."""
    counts, group = np.unique(np.stack([flops, size]), axis=1, return_inverse=True)
    if counts.shape[1] <= _PARAMETERS:
        raise AnalysisError(f"{counts.shape[1]} FLOP counts are too few for a corner, which needs {_PARAMETERS + 1}. Sweep more of them.")
    median = np.array([np.median(np.log(time_s[group.ravel() == g])) for g in range(counts.shape[1])])
    return _Points(np.log(counts[0]), np.log(counts[1]), median, _FIRST_SIGMA)


def _fit_from_starts(points: _Points) -> tuple[Floats, _Points]:
    """The best parameters, and the points with the sigma that the residuals show."""
    start = [float(np.max(points.log_bytes - points.log_time)), float(np.max(points.log_flops - points.log_time))]
    for _ in range(_SIGMA_ROUNDS):
        found = [_solve(points, np.array([*start, softness])) for softness in _STARTS]
        best = min(found, key=lambda parameters: points.loss(points.residual(parameters)[0]))
        away = np.sort(np.abs(points.residual(best)[0]))
        # As many residuals as parameters can be made zero, so the smallest of them say nothing.
        sigma = MAD_TO_SIGMA * float(np.median(away[_PARAMETERS:] if away.size > 2 * _PARAMETERS else away))
        points = replace(points, sigma=max(sigma, _LEAST_SIGMA))
    return best, points


def _solve(points: _Points, start: Floats, fixed: int | None = None) -> Floats:
    """Least Huber loss over the parameters that are not ``fixed``.

    Source: Levenberg-Marquardt with iterated weights, Marquardt, SIAM J. Applied Math. 11 (1963); Huber, Ann. Math. Stat. 35 (1964).
    """
    parameters, damping = start.copy(), 1e-3
    residual, slopes = points.residual(parameters)
    loss = points.loss(residual)
    for _ in range(_ROUNDS):
        weight = np.minimum(1.0, _SOFT_SIGMAS * points.sigma / np.maximum(np.abs(residual), 1e-300))
        downhill = slopes.T @ (weight * residual)
        free = [i for i in range(_PARAMETERS) if i != fixed and not _is_held(parameters, downhill, i)]
        normal = (slopes[:, free] * weight[:, None]).T @ slopes[:, free]
        trial = parameters.copy()
        trial[free] += np.linalg.solve(normal + np.diag(damping * normal.diagonal() + 1e-12), downhill[free])
        trial[_SOFTNESS] = min(max(trial[_SOFTNESS], _SHARPEST), _SOFTEST)
        tried, tried_slopes = points.residual(trial)
        gain = loss - points.loss(tried)
        damping = damping / 5 if gain > 0 else damping * 5
        if gain > 0:
            parameters, residual, slopes, loss = trial, tried, tried_slopes, loss - gain
        if 0 < gain < _SETTLED * loss or damping > _STUCK:
            break
    return parameters


def _is_held(parameters: Floats, downhill: Floats, index: int) -> bool:
    """True for 1/p at an end of its range that it would leave."""
    if index != _SOFTNESS:
        return False
    at = parameters[_SOFTNESS]
    return bool((at <= _SHARPEST and downhill[index] < 0) or (at >= _SOFTEST and downhill[index] > 0))


def _check_sides(points: _Points, best: Floats) -> None:
    """Raise AnalysisError unless the sweep shows both roofs."""
    ridge = best[_PEAK] - best[_BANDWIDTH]
    ai = points.log_flops - points.log_bytes
    below, above = int((ai < ridge).sum()), int((ai > ridge).sum())
    if min(below, above) < _EACH_SIDE:
        raise AnalysisError(
            f"the mixed sweep has {below} FLOP counts below and {above} above the ridge at {np.exp(ridge):.3g} FLOP/byte, and needs "
            f"{_EACH_SIDE} on either side. Sweep {'fewer' if below < _EACH_SIDE else 'more'} FLOPs per element."
        )


def _interval(points: _Points, best: Floats, index: int) -> Interval:
    """95 % interval of one parameter: where the loss, least over the other two, rises by what an F test allows."""
    residual, slopes = points.residual(best)
    least, freedom = points.loss(residual), points.log_time.size - _PARAMETERS
    allowed = least * float(fdtri(1, freedom, 0.95)) / freedom
    bounds = (_SHARPEST, _SOFTEST) if index == _SOFTNESS else (best[index] - _WIDEST, best[index] + _WIDEST)
    # Where a parabola with the curvature at the best point would cross: the first guess.
    curvature = np.linalg.pinv(slopes.T @ slopes)[index, index]
    guess = max(float(np.sqrt(max(allowed, 0.0) * curvature)) * points.sigma, _LEAST_STEP)

    def excess(value: float) -> float:
        start = best.copy()
        start[index] = value
        return points.loss(points.residual(_solve(points, start, index))[0]) - least - allowed

    low, high = (_crossing(excess, float(best[index]), float(b), s) for b, s in zip(bounds, (-guess, guess), strict=True))
    return low, high


def _crossing(excess: Callable[[float], float], inside: float, bound: float, step: float) -> float:
    """Where ``excess`` turns positive on the way from a point inside the interval to the bound; the bound if it does not."""
    while inside != bound:
        end = max(inside + step, bound) if step < 0 else min(inside + step, bound)
        if excess(end) > 0:
            return float(brentq(excess, inside, end, xtol=abs(step) * _PRECISION))
        inside, step = end, 2 * step
    return bound
