"""The bandwidth of one level, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ert.fit.model import Floats, Interval
from ert.fit.plateaus import Plateau
from ert.fit.rows import Sizes
from ert.stats import MAD_TO_SIGMA

# Tukey's biweight: no weight beyond six MAD-sigmas, and Student's t with 0.7 of the usual degrees of freedom, as
# Mosteller & Tukey (Data Analysis and Regression, 1977, chapter 10) advise; checked by coverage in tests/test_fit_value.py.
_BIWEIGHT = 6.0
_FREEDOM_SHARE = 0.7
_ROUNDS, _SETTLED = 20, 1e-4
# At either end this share of a level's sizes does not count: the last ones may already feel the ramp. Below six there is none to spare.
_TRIM_SHARE, _LEAST_TO_TRIM = 0.15, 6
# A slope is fitted from this many sizes on.
_LEAST_FOR_SLOPE = 8
_LEAST_FOR_CORRELATION = 12


@dataclass(frozen=True, slots=True)
class Sustained:
    """value  bytes/s, with its 95 % interval; slope  log bandwidth per octave inside the level."""

    value_bytes_per_s: float
    ci95: Interval
    slope: float


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """A robust line: its centre, and residuals (n,) with their weights (n,) and biweight scale."""

    log_rate: float
    slope: float
    residual: Floats
    weight: Floats
    scale: float
    parameters: int


def sustained(sizes: Sizes, plateau: Plateau) -> Sustained:
    """Bandwidth of a level in bytes/s and its 95 % interval.

    A robust line through the level's interior, taken at its centre: dips and outliers lose their weight, and a slow decline
    does not widen the interval. What does is that the ends of a declining level are known to about one sampling step only,
    and the start of one that follows a launch to about what is still missing there.
    Source: Tukey's biweight by iterated least squares, Holland & Welsch, Comm. Statistics A6 (1977).
    """
    inner = _interior(plateau.members)
    line = _robust_line(sizes.octave[inner], sizes.log_rate[inner])
    step = float(sizes.octave[inner[-1]] - sizes.octave[inner[0]]) / (inner.size - 1)
    half = float(np.sqrt(_half_width(line) ** 2 + (1.96 * line.slope * step) ** 2 + plateau.missing**2))
    low, value, high = np.exp([line.log_rate - half, line.log_rate, line.log_rate + half])
    return Sustained(float(value), (float(low), float(high)), line.slope)


def _interior(members: NDArray[np.int64]) -> NDArray[np.int64]:
    trim = round(_TRIM_SHARE * members.size) if members.size >= _LEAST_TO_TRIM else 0
    return members[trim : members.size - trim]


def _robust_line(x: Floats, y: Floats) -> _Line:
    parameters = 2 if x.size >= _LEAST_FOR_SLOPE else 1
    weight = np.ones_like(y)
    for _ in range(_ROUNDS):
        total = weight.sum()
        centre, rate = float(weight @ x / total), float(weight @ y / total)
        spread = float(weight @ (x - centre) ** 2)
        slope = float(weight @ ((x - centre) * (y - rate))) / spread if parameters == 2 and spread > 0 else 0.0
        residual = y - rate - slope * (x - centre)
        scale = _BIWEIGHT * max(MAD_TO_SIGMA * _median(np.abs(residual)), 1e-12)
        fresh = np.clip(1 - (residual / scale) ** 2, 0, None) ** 2
        settled = float(np.abs(fresh - weight).max()) < _SETTLED
        weight = fresh
        if settled:
            break
    return _Line(rate, slope, residual, weight, scale, parameters)


def _median(values: Floats) -> float:
    """As np.median, without its overhead, which would be most of the time spent here."""
    ordered, n = np.sort(values), values.size
    return float(ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def _half_width(line: _Line) -> float:
    """Half of the 95 % interval of the line at its centre.

    Standard error of an M-estimate, sqrt(sum psi^2) / sum psi' (Huber & Ronchetti, Robust Statistics, 2009, chapter 6).
    """
    n = line.residual.size
    psi = line.weight * line.residual
    square = np.minimum((line.residual / line.scale) ** 2, 1.0)
    bend = float(np.sum((1 - square) * (1 - 5 * square)))
    freedom = max(n - line.parameters, 1)
    # With few points the curvature may come out near zero; no sample loses more than 70 % of its information.
    error = float(np.sqrt(psi @ psi * n / freedom)) / max(bend, 0.3 * n)
    return float(stdtrit(max(_FREEDOM_SHARE * freedom, 1.0), 0.975)) * error * _correlation_factor(psi)


def _correlation_factor(psi: Floats) -> float:
    """How much correlated residuals widen the interval: n of them count for n (1 - rho) / (1 + rho).

    Source: Bayley & Hammersley, J. R. Stat. Soc. Suppl. 8 (1946), for a first-order process.
    """
    power = float(psi @ psi)
    if psi.size < _LEAST_FOR_CORRELATION or power == 0:
        return 1.0
    rho = float(psi[1:] @ psi[:-1]) / power
    return float(np.sqrt((1 + rho) / (1 - rho))) if rho > 2 / np.sqrt(psi.size) else 1.0
