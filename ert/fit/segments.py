"""A curve cut into straight pieces: plateaus, whose slope is bounded, and ramps, whose slope is free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ert.fit.model import Floats

# Largest fall and rise of log bandwidth per octave that still is one level: caches decline by up to 5 % (= 0.051) per octave,
# and a plateau approached from a launch-limited start rises a little.
FALL_PER_OCTAVE = -0.06
RISE_PER_OCTAVE = 0.03
# What a piece must gain in half squared residuals (sigma = 1) to be worth its parameters, about 1.5 ln(n) as in BIC; a ramp has a free
# slope more. Too many pieces do no harm, since neighbours without a step between them become one level later.
_PLATEAU_COST = 8.0
_RAMP_COST = 10.0
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

    def at(self, octave: float) -> float:
        return self.log_rate + self.slope * (octave - self.octave)


def cut(octave: Floats, log_rate: Floats, weight: Floats) -> list[Segment]:
    """The cheapest cut of a curve (n,) into plateaus and ramps, exact, O(n^2).

    weight  1/sigma^2 per size; 0 leaves a size out

    Source: optimal partitioning, Jackson et al., IEEE Signal Processing Letters 12 (2005); least squares of every
    piece from running sums as in Bai & Perron, J. Applied Econometrics 18 (2003); slopes bounded as in constrained least squares.
    """
    pieces = _Pieces(octave, log_rate, weight)
    n = octave.size
    best, start_of = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    for stop in range(1, n + 1):
        total = best[:stop] + pieces.cost[:stop, stop]
        start_of[stop] = np.argmin(total)
        best[stop] = total[start_of[stop]]
    found: list[Segment] = []
    stop = n
    while stop > 0:
        start = int(start_of[stop])
        found.append(pieces.segment(start, stop))
        stop = start
    return found[::-1]


class _Pieces:
    """Least-squares line of every piece [i, j) at once: arrays (n + 1, n + 1) from running sums."""

    def __init__(self, octave: Floats, log_rate: Floats, weight: Floats) -> None:
        self._raw = octave, log_rate
        x, y = octave - octave.mean(), log_rate - log_rate.mean()
        self._shift = float(octave.mean()), float(log_rate.mean())
        total = _between(weight)
        safe = np.maximum(total, _TINY)
        self._x, self._y = _between(weight * x) / safe, _between(weight * y) / safe
        sxx = np.maximum(_between(weight * x * x) - total * self._x**2, _TINY)
        sxy = _between(weight * x * y) - total * self._x * self._y
        syy = np.maximum(_between(weight * y * y) - total * self._y**2, 0.0)
        self._free = sxy / sxx
        self._bounded = np.clip(self._free, FALL_PER_OCTAVE, RISE_PER_OCTAVE)
        plateau = np.maximum(syy - 2 * self._bounded * sxy + self._bounded**2 * sxx, 0.0) / 2 + _PLATEAU_COST
        ramp = np.maximum(syy - self._free * sxy, 0.0) / 2 + _RAMP_COST
        self.cost = np.minimum(plateau, ramp)
        self._is_plateau = (plateau <= ramp) & (total > 0)

    def segment(self, i: int, j: int) -> Segment:
        flat = bool(self._is_plateau[i, j])
        slope = float(self._bounded[i, j] if flat else self._free[i, j])
        if not flat and j - i == 1:
            return Segment(i, j, False, float(self._raw[0][i]), float(self._raw[1][i]), 0.0)
        return Segment(i, j, flat, float(self._x[i, j]) + self._shift[0], float(self._y[i, j]) + self._shift[1], slope)


def _between(values: Floats) -> Floats:
    """(n + 1, n + 1): sum of values[i:j] at [i, j]."""
    sums: Floats = np.concatenate([[0.0], np.cumsum(values)])
    return np.subtract.outer(sums, sums).T
