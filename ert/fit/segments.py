"""A curve cut into straight pieces: plateaus, whose slope is bounded, and ramps, whose slope is free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ert.fit.model import Floats

# Largest fall and rise of log bandwidth per octave that still is one level: caches decline by up to 5 % (= 0.051) per octave,
# and a plateau approached from a launch-limited start rises a little.
FALL_PER_OCTAVE = -0.06
RISE_PER_OCTAVE = 0.03
# What a piece must gain in log likelihood to be worth its parameters (level, slope, end: about 1.5 ln(n) as in BIC); the slope
# of a ramp is wide open and costs more. Too many pieces do no harm: neighbours without a step between them are joined later.
_PLATEAU_COST = 6.0
_RAMP_COST = 9.5
# How far the noise of one piece may differ from the local estimate: that of a variance with 4 degrees of freedom.
_FREEDOM = 4.0
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight piece over sizes ``start`` (inclusive) to ``stop`` (exclusive).

    octave, log_rate  its weighted centre
    slope             log bandwidth per octave
    """

    start: int
    stop: int
    is_plateau: bool
    octave: float
    log_rate: float
    slope: float


def cut(octave: Floats, log_rate: Floats, weight: Floats) -> list[Segment]:
    """The likeliest cut of a curve (n,) into plateaus and ramps; exact, O(n^2).

    weight  1/sigma^2 of each size; 0 leaves a size out

    Source: optimal partitioning, Jackson et al., IEEE Signal Processing Letters 12 (2005); the line of every piece
    from running sums as in Bai & Perron, J. Applied Econometrics 18 (2003); the likelihood of a piece with its variance
    integrated out, Fearnhead, Statistics and Computing 16 (2006).
    """
    pieces = _Pieces(octave, log_rate, weight)
    best, start_of = np.zeros(octave.size + 1), np.zeros(octave.size + 1, dtype=np.int64)
    for stop in range(1, octave.size + 1):
        total = best[:stop] + pieces.cost[_place(0, stop) : _place(stop, stop)]
        start_of[stop] = total.argmin()
        best[stop] = total[start_of[stop]]
    found: list[Segment] = []
    stop = int(octave.size)
    while stop > 0:
        start = int(start_of[stop])
        found.append(pieces.segment(start, stop))
        stop = start
    return found[::-1]


class _Pieces:
    """The least-squares line of every piece [i, j), i < j, at once: arrays in the order of ``_place``, from running sums."""

    def __init__(self, octave: Floats, log_rate: Floats, weight: Floats) -> None:
        self._shift = float(octave.mean()), float(log_rate.mean())
        x, y = octave - self._shift[0], log_rate - self._shift[1]
        total = _sums(weight)
        safe = np.maximum(total, _TINY)
        self._x, self._y = _sums(weight * x) / safe, _sums(weight * y) / safe
        sxx = np.maximum(_sums(weight * x * x) - total * self._x**2, _TINY)
        sxy = _sums(weight * x * y) - total * self._x * self._y
        syy = _sums(weight * y * y) - total * self._y**2
        self._free = sxy / sxx
        self._bounded = np.clip(self._free, FALL_PER_OCTAVE, RISE_PER_OCTAVE)
        counts = _sums((weight > 0).astype(np.float64)).astype(np.int64)
        plateau = _misfit(syy - self._bounded * (2 * sxy - self._bounded * sxx), counts) + _PLATEAU_COST
        ramp = _misfit(syy - self._free * sxy, counts) + _RAMP_COST
        self.cost = np.minimum(plateau, ramp)
        self._is_plateau = (plateau <= ramp) & (counts > 0)

    def segment(self, i: int, j: int) -> Segment:
        at = _place(i, j)
        flat = bool(self._is_plateau[at])
        slope = self._bounded[at] if flat else self._free[at]
        return Segment(i, j, flat, float(self._x[at]) + self._shift[0], float(self._y[at]) + self._shift[1], float(slope))


def _place(i: int, j: int) -> int:
    """Where the piece [i, j) stands: by end, then by start."""
    return j * (j - 1) // 2 + i


@lru_cache(maxsize=4)
def _pairs(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(i, j) of every piece of n sizes, in the order of ``_place``."""
    j = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    i = np.arange(j.size) - j * (j - 1) // 2
    return i, j


def _sums(values: Floats) -> Floats:
    """The sum of values[i:j] of every piece."""
    i, j = _pairs(values.size)
    running: Floats = np.concatenate([[0.0], np.cumsum(values)])
    return running[j] - running[i]


def _misfit(squares: Floats, counts: NDArray[np.int64]) -> Floats:
    """Negative log likelihood of pieces with these weighted squared residuals, up to a constant per size.

    The variance of a piece is the local one times an unknown factor with an inverse-gamma prior, integrated out.
    """
    n = np.arange(counts.max() + 1)
    normalizer = gammaln(_FREEDOM / 2) - gammaln((_FREEDOM + n) / 2) + n / 2 * np.log(_FREEDOM / 2)
    likelihood: Floats = normalizer[counts] + (_FREEDOM + counts) / 2 * np.log1p(np.maximum(squares, 0.0) / _FREEDOM)
    return likelihood
