"""From straight pieces to levels: what belongs together, and what is a dip, a ramp-up or a mere shelf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.fit.model import Bools, Floats
from ert.fit.noise import local_sigma, outliers
from ert.fit.rows import Sizes
from ert.fit.segments import FALL_PER_OCTAVE, RISE_PER_OCTAVE, cut

# Neighbours closer than 8 % (0.08 in log) are one level and those 15 % apart (0.14) are two: the border lies half-way.
LEAST_STEP = 0.11
# A level is at least four sizes and half an octave; a plateau of exactly half an octave may show a tenth less between its samples.
LEAST_SIZES = 4
LEAST_OCTAVES = 0.45
# A bump is taken for the exception, instead of the slower stretch before it, only if it is at most a third as wide: what slows
# a device down for a while (throttling, a neighbour, pages in conflict) is far commoner than what speeds it up.
_BUMP_SHARE = 1 / 3


@dataclass(frozen=True, slots=True, eq=False)
class Plateau:
    """Sizes of one bandwidth, up to a slow decline: ``members`` index the sizes, outliers left out.

    octave, log_rate, slope  weighted centre and slope per octave of the line through them
    first, last              octaves of its ends, half a sampling step beyond the outermost members
    """

    members: NDArray[np.int64]
    octave: float
    log_rate: float
    slope: float
    first: float
    last: float

    @property
    def octaves(self) -> float:
        return self.last - self.first

    def at(self, octave: float) -> float:
        return self.log_rate + self.slope * (octave - self.octave)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The plateaus of a curve, fast to slow, and the noise and outliers they were found with."""

    plateaus: tuple[Plateau, ...]
    sigma: Floats
    is_outlier: Bools


def split_levels(sizes: Sizes) -> Split:
    """Find the plateaus that are levels."""
    sigma = local_sigma(sizes)
    lone = outliers(sizes, sigma)
    weight = np.where(lone, 0.0, sigma**-2.0)
    pieces = cut(sizes.octave, sizes.log_rate, weight)
    flat = [np.arange(p.start, p.stop)[~lone[p.start : p.stop]] for p in pieces if p.is_plateau]
    found = [_plateau(sizes, weight, members) for members in flat if members.size]
    found = _merge(sizes, weight, found)
    found = [p for i, p in enumerate(found) if _is_level(p, is_last=i == len(found) - 1)]
    found = _drop_violators(_merge(sizes, weight, found))
    return Split(tuple(_merge(sizes, weight, found)), sigma, lone)


def _plateau(sizes: Sizes, weight: Floats, members: NDArray[np.int64]) -> Plateau:
    x, y, w = sizes.octave[members], sizes.log_rate[members], weight[members]
    centre, rate = float(np.average(x, weights=w)), float(np.average(y, weights=w))
    spread = float(np.sum(w * (x - centre) ** 2))
    free = float(np.sum(w * (x - centre) * (y - rate))) / spread if spread > 0 else 0.0
    slope = min(max(free, FALL_PER_OCTAVE), RISE_PER_OCTAVE)
    low, high = max(members[0] - 1, 0), min(members[-1] + 1, len(sizes) - 1)
    return Plateau(members, centre, rate, slope, (x[0] + sizes.octave[low]) / 2, (x[-1] + sizes.octave[high]) / 2)


def _is_level(plateau: Plateau, *, is_last: bool) -> bool:
    """Wide enough; the last may be short, because the sweep ends and not the level."""
    return plateau.members.size >= LEAST_SIZES and (is_last or plateau.octaves >= LEAST_OCTAVES)


def _step(left: Plateau, right: Plateau) -> float:
    """How far log bandwidth falls from ``left`` to ``right``, each line followed to the middle of the gap: decline is no step."""
    middle = (left.last + right.first) / 2
    return left.at(middle) - right.at(middle)


def _merge(sizes: Sizes, weight: Floats, plateaus: list[Plateau]) -> list[Plateau]:
    """Join plateaus without a step between them; what lies between two equal ones is a dip, since no real level comes back."""
    joined = list(plateaus)
    while pair := _closest_equal(joined):
        k, m = pair
        same = [p for p in joined[k : m + 1] if p is joined[k] or p is joined[m] or abs(_step(joined[k], p)) < LEAST_STEP]
        joined[k : m + 1] = [_plateau(sizes, weight, np.concatenate([p.members for p in same]))]
    return joined


def _closest_equal(plateaus: list[Plateau]) -> tuple[int, int] | None:
    """The pair with the smallest step below LEAST_STEP; one that is no level by itself joins its direct neighbours only."""
    best, pair = LEAST_STEP, None
    for k, left in enumerate(plateaus):
        for m in range(k + 1, len(plateaus)):
            far = m > k + 1 and not (_is_level(left, is_last=False) and _is_level(plateaus[m], is_last=False))
            if not far and abs(_step(left, plateaus[m])) < best:
                best, pair = abs(_step(left, plateaus[m])), (k, m)
    return pair


def _drop_violators(plateaus: list[Plateau]) -> list[Plateau]:
    """Bandwidth never rises with the working set: of two plateaus that do, the dip, the ramp-up or the bump goes."""
    kept = list(plateaus)
    while (k := next((k for k in range(len(kept) - 1) if _step(kept[k], kept[k + 1]) < 0), None)) is not None:
        is_bump = kept[k + 1].octaves < _BUMP_SHARE * kept[k].octaves
        del kept[k + 1 if is_bump else k]
    return kept
