"""From straight pieces to levels: what belongs together, and what is a dip, a bump or a mere shelf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.fit.model import Bools, Floats
from ert.fit.noise import first_sigma, outliers, refined_sigma
from ert.fit.rows import Sizes
from ert.fit.segments import FALL_PER_OCTAVE, RISE_PER_OCTAVE, Segment, cut

# Neighbours closer than 8 % (0.083 in log) are one level and those 15 % apart (0.14) are two: the border lies half-way.
LEAST_STEP = 0.11
_LEAST_CENTRE_STEP = 0.083
# A piece of fewer sizes may be the foot of a ramp, and joins a plateau only if it lies on it.
_FRAGMENT_STEP = 0.05
# A level is at least four sizes and half an octave; one of exactly half an octave may show a tenth less between its samples.
LEAST_SIZES = 4
LEAST_OCTAVES = 0.4
# A bump is taken for the exception, instead of the slower stretch before it, only if it is at most a quarter as wide: what slows
# a device down for a while (throttling, a neighbour, pages in conflict) is far commoner than what speeds it up.
_BUMP_SHARE = 1 / 4
# A shelf falls by at most 15 % an octave, and the ramps on either side at least four times as fast.
_SHELF_FALL, _SHELF_FACTOR = -0.16, 4.0
# Up to this many sizes between two fragments of one plateau are outliers that the outlier test missed; as many that come back
# to a level after a dip are no accident.
_MOST_BETWEEN = 2


@dataclass(frozen=True, slots=True, eq=False)
class Plateau:
    """Sizes of one bandwidth, up to a slow decline: ``members`` index the sizes, outliers left out.

    octave, log_rate, slope  weighted centre and slope per octave of the line through them
    first, last              octaves of its ends, half a sampling step beyond the outermost members
    missing                  what a level after a launch may still lack where it starts, in log bandwidth
    """

    members: NDArray[np.int64]
    octave: float
    log_rate: float
    slope: float
    first: float
    last: float
    missing: float = 0.0

    @property
    def octaves(self) -> float:
        return self.last - self.first

    @property
    def is_wide(self) -> bool:
        return self.members.size >= LEAST_SIZES and self.octaves >= LEAST_OCTAVES

    def at(self, octave: float) -> float:
        return self.log_rate + self.slope * (octave - self.octave)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSizes:
    """The sizes of a curve with what is known about their noise.

    sigma    (n,) noise of log bandwidth
    is_lone  (n,) outliers; they have weight 0
    """

    sizes: Sizes
    sigma: Floats
    is_lone: Bools

    @property
    def weight(self) -> Floats:
        return np.where(self.is_lone, 0.0, self.sigma**-2.0)

    def plateau(self, members: NDArray[np.int64]) -> Plateau:
        """The line through these sizes, its slope within what one level may have."""
        octaves = self.sizes.octave
        x, y, w = octaves[members], self.sizes.log_rate[members], self.weight[members]
        centre, rate = float(w @ x / w.sum()), float(w @ y / w.sum())
        spread = float(w @ (x - centre) ** 2)
        free = float(w @ ((x - centre) * (y - rate))) / spread if spread > 0 else 0.0
        beyond = np.concatenate([[2 * octaves[0] - octaves[1]], octaves, [2 * octaves[-1] - octaves[-2]]])
        return Plateau(
            members=members,
            octave=centre,
            log_rate=rate,
            slope=min(max(free, FALL_PER_OCTAVE), RISE_PER_OCTAVE),
            first=float(x[0] + beyond[members[0]]) / 2,
            last=float(x[-1] + beyond[members[-1] + 2]) / 2,
        )


def find_plateaus(sizes: Sizes) -> tuple[WeightedSizes, list[Plateau]]:
    """The plateaus of a curve that are levels or look like one, ascending in size; dips and bumps are still among them."""
    sigma = first_sigma(sizes)
    lone = outliers(sizes, sigma)
    rough = cut(sizes.octave, sizes.log_rate, WeightedSizes(sizes, sigma, lone).weight)
    sigma = refined_sigma(sizes, rough, lone, sigma)
    points = WeightedSizes(sizes, sigma, outliers(sizes, sigma))
    pieces = cut(sizes.octave, sizes.log_rate, points.weight)
    flat = [np.arange(p.start, p.stop)[~points.is_lone[p.start : p.stop]] for p in pieces if p.is_plateau or _is_shelf(p, pieces)]
    joined = join_equal(points, [points.plateau(members) for members in flat])
    # The last may be narrow, because there the sweep ends and not the level.
    return points, [p for p in joined if p.is_wide or (p is joined[-1] and p.members.size >= LEAST_SIZES)]


def _is_shelf(piece: Segment, pieces: Sequence[Segment]) -> bool:
    """True for a gentle ramp between two much steeper falls: a level whose ends are rounded so far that they meet.

    A ramp by itself is steepest in the middle, whatever its shape.
    """
    at = pieces.index(piece)
    if not _SHELF_FALL <= piece.slope < 0 or piece.stop - piece.start < LEAST_SIZES or not 0 < at < len(pieces) - 1:
        return False
    return all(side.slope < _SHELF_FACTOR * piece.slope and side.stop - side.start > 1 for side in (pieces[at - 1], pieces[at + 1]))


def step_between(left: Plateau, right: Plateau) -> float:
    """How far log bandwidth falls from ``left`` to ``right``; 0 if it does not clearly do either.

    Seen twice: with both lines followed to the middle of the gap, so that a slow decline is no step, and between the
    centres, so that a bent line is none. What shows only once is no step.
    """
    middle = (left.last + right.first) / 2
    edge, centre = left.at(middle) - right.at(middle), left.log_rate - right.log_rate
    if edge * centre <= 0:
        return 0.0
    return float(np.copysign(min(abs(edge), abs(centre) * LEAST_STEP / _LEAST_CENTRE_STEP), edge))


def join_equal(points: WeightedSizes, plateaus: Sequence[Plateau]) -> list[Plateau]:
    """Join plateaus without a step between them; what lies between two equal ones is a dip, since no real level comes back."""
    joined = list(plateaus)
    while (pair := _closest_equal(joined)) is not None:
        k, m = pair
        outer = joined[k], joined[m]
        same = [p for p in joined[k : m + 1] if p in outer or abs(step_between(joined[k], p)) < LEAST_STEP]
        joined[k : m + 1] = [points.plateau(np.concatenate([p.members for p in same]))]
    return joined


def _closest_equal(plateaus: Sequence[Plateau]) -> tuple[int, int] | None:
    """The pair with the smallest step among those that may join."""
    best: tuple[float, tuple[int, int]] | None = None
    for k, left in enumerate(plateaus):
        for m in range(k + 1, len(plateaus)):
            right = plateaus[m]
            step = abs(step_between(left, right))
            is_fragment = min(left.members.size, right.members.size) < LEAST_SIZES
            is_equal = step < (_FRAGMENT_STEP if is_fragment else LEAST_STEP)
            if is_equal and (best is None or step < best[0]) and _may_join(left, right, plateaus[k + 1 : m]):
                best = step, (k, m)
    return best[1] if best else None


def _may_join(left: Plateau, right: Plateau, between: Sequence[Plateau]) -> bool:
    """Neighbours may; so may a level and what comes back to it, unless more than a bump between them is faster."""
    if sum(p.members.size for p in between) <= _MOST_BETWEEN:
        return True
    faster = (p.octaves for p in between if step_between(left, p) < -LEAST_STEP)
    return left.is_wide and right.members.size >= _MOST_BETWEEN and all(octaves < _BUMP_SHARE * left.octaves for octaves in faster)


def without_exceptions(points: WeightedSizes, plateaus: Sequence[Plateau]) -> list[Plateau]:
    """Bandwidth never rises with the working set: of two plateaus that do, the dip, the ramp-up or the bump goes."""
    kept = list(plateaus)
    while (k := next((k for k in range(len(kept) - 1) if step_between(kept[k], kept[k + 1]) < 0), None)) is not None:
        is_bump = kept[k + 1].octaves < _BUMP_SHARE * kept[k].octaves
        del kept[k + 1 if is_bump else k]
    return join_equal(points, kept)
