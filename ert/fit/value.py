"""The numbers of one level: sustained bandwidth and capacity, each with its interval."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from ert.fit.model import Floats, Interval
from ert.fit.plateaus import Plateau
from ert.fit.rows import Sizes
from ert.stats import MAD_TO_SIGMA

# Tukey's biweight with this constant loses 5 % efficiency on normal noise and gives no weight to gross outliers (Beaton & Tukey 1974).
_BIWEIGHT = 4.685
_TRIM_SHARE = 0.15
_LEAST_FOR_LINE = 8


def sustained(sizes: Sizes, plateau: Plateau) -> tuple[float, Interval]:
    """Bandwidth of a level in bytes/s and its 95 % interval.

    A robust line through the level's interior, taken at its centre: equal sizes in octaves count equally, dips and
    outliers lose their weight, and a slow decline does not widen the interval.
    Source: Tukey's biweight by iterated least squares, Holland & Welsch, Comm. Statistics A6 (1977); Student's t with the
    residual variance of the weighted points; correlated residuals count for fewer, Bayley & Hammersley, J. R. Stat. Soc. Suppl. 8 (1946).
    """
    inner = _interior(plateau.members)
    x, y = sizes.octave[inner], sizes.log_rate[inner]
    weight = np.ones_like(y)
    for _ in range(20):
        centre, rate, slope = _line(x, y, weight)
        residual = y - rate - slope * (x - centre)
        scale = max(MAD_TO_SIGMA * float(np.median(np.abs(residual))), 1e-9)
        fresh = np.clip(1 - (residual / (_BIWEIGHT * scale)) ** 2, 0, None) ** 2
        if np.allclose(fresh, weight, atol=1e-4):
            break
        weight = fresh
    half = _half_width(residual, weight, 2 if y.size >= _LEAST_FOR_LINE else 1)
    return float(np.exp(rate)), (float(np.exp(rate - half)), float(np.exp(rate + half)))


def _interior(members: np.ndarray) -> np.ndarray:
    trim = int(np.ceil(_TRIM_SHARE * members.size)) if members.size >= 6 else 0
    return members[trim : members.size - trim]


def _line(x: Floats, y: Floats, weight: Floats) -> tuple[float, float, float]:
    centre, rate = float(np.average(x, weights=weight)), float(np.average(y, weights=weight))
    if x.size < _LEAST_FOR_LINE:
        return centre, rate, 0.0
    spread = float(np.sum(weight * (x - centre) ** 2))
    return centre, rate, float(np.sum(weight * (x - centre) * (y - rate))) / spread if spread > 0 else 0.0


def _half_width(residual: Floats, weight: Floats, parameters: int) -> float:
    """Half the 95 % interval of a biweight location with these residuals."""
    n = residual.size
    total = float(weight.sum())
    influence = float(np.sum((weight * residual) ** 2))
    freedom = max(n - parameters, 1)
    error = float(np.sqrt(influence * n / freedom)) / total
    if n >= 12:
        rho = float(np.sum(residual[1:] * residual[:-1] * weight[1:] * weight[:-1]) / max(np.sum((weight * residual) ** 2), 1e-30))
        if rho > 2 / np.sqrt(n):
            error *= float(np.sqrt((1 + rho) / (1 - rho)))
    return float(stdtrit(freedom, 0.975)) * error


def leaving(sizes: Sizes, plateau: Plateau, below: Plateau, kept: np.ndarray) -> tuple[float, Interval]:
    """Size in bytes at which the curve leaves ``plateau`` for ``below``, and between which sizes it does so."""
    last, first = int(plateau.members[-1]), int(below.members[0])
    gap = plateau.at(plateau.last) - below.at(below.first)
    depth = max(0.25 * gap, min(0.105, 0.5 * gap))
    between = np.array([i for i in range(last, first + 1) if kept[i]])
    x = sizes.octave[between]
    drop = np.maximum.accumulate(plateau.log_rate + plateau.slope * (x - plateau.octave) - sizes.log_rate[between])
    drop[0] = min(drop[0], 0.5 * depth)
    at = float(np.interp(depth, drop, x))
    end = float(x[np.argmax(drop >= max(0.5 * gap, depth))]) if (drop >= max(0.5 * gap, depth)).any() else float(x[-1])
    return 2.0**at, (2.0 ** float(x[0]), 2.0 ** max(end, at))
