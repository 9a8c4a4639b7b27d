"""Rectangles that labels cover, by the hundred: what lies in each of them. Pixels; no drawing here."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# (n, 2) positions, or (n, 4) lines as x0, y0, x1, y1
Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Answers = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle around (x, y), turned by ``angle_rad``."""

    x: float
    y: float
    width: float
    height: float
    angle_rad: float = 0.0

    def bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right, top of the smallest unturned box around this one: what a renderer calls its bounding box."""
        c, s = abs(math.cos(self.angle_rad)), abs(math.sin(self.angle_rad))
        half_width, half_height = (c * self.width + s * self.height) / 2, (s * self.width + c * self.height) / 2
        return self.x - half_width, self.y - half_height, self.x + half_width, self.y + half_height

    def edge_towards(self, x: float, y: float) -> tuple[float, float]:
        """The place in this box nearest to (x, y), if it is not turned: where a leader line from there ends."""
        left, bottom, right, top = self.bounds()
        return min(max(x, left), right), min(max(y, bottom), top)


@dataclass(frozen=True, slots=True)
class Boxes:
    """Copies of one rectangle around ``centres`` (n, 2), all turned by ``angle_rad``. Every question is answered for each: (n,)."""

    centres: Array
    width: float
    height: float
    angle_rad: float = 0.0

    @classmethod
    def of(cls, box: Box) -> Boxes:
        """A single one."""
        return cls(np.array([[box.x, box.y]], dtype=np.float64), box.width, box.height, box.angle_rad)

    def __getitem__(self, index: int) -> Box:
        x, y = self.centres[index]
        return Box(float(x), float(y), self.width, self.height, self.angle_rad)

    def bounds(self) -> Array:
        """(n, 4), as ``Box.bounds``."""
        one = np.array(Box(0.0, 0.0, self.width, self.height, self.angle_rad).bounds())
        around: Array = np.hstack([self.centres, self.centres]) + one
        return around

    def lie_in(self, frame: Box) -> Answers:
        """Whether all of each lies inside an unturned ``frame``."""
        mine, (left, bottom, right, top) = self.bounds(), frame.bounds()
        return (mine[:, 0] >= left) & (mine[:, 1] >= bottom) & (mine[:, 2] <= right) & (mine[:, 3] <= top)

    def count_points(self, points: Array, radius: float) -> Counts:
        """How many discs of this radius around ``points`` reach into each (corners taken as square)."""
        near = np.abs(self._local(points)) < (self.width / 2 + radius, self.height / 2 + radius)
        counts: Counts = near.all(axis=2).sum(axis=1)
        return counts

    def count_lines(self, lines: Array) -> Counts:
        """How many of the straight ``lines`` pass through each (Liang and Barsky 1984)."""
        start, end = self._local(lines[:, :2]), self._local(lines[:, 2:])
        half, step = np.array([self.width, self.height]) / 2, end - start
        is_still = step == 0
        with np.errstate(divide="ignore", invalid="ignore"):
            one, two = (-half - start) / step, (half - start) / step
        is_outside = is_still & (np.abs(start) >= half)
        enter = np.where(is_still, -np.inf, np.minimum(one, two)).max(axis=2).clip(0)
        leave = np.where(is_still, np.inf, np.maximum(one, two)).min(axis=2).clip(max=1)
        counts: Counts = ((enter < leave) & ~is_outside.any(axis=2)).sum(axis=1)
        return counts

    def _local(self, points: Array) -> Array:
        """(n, m, 2): every point as seen from every box, along its width and its height."""
        c, s = math.cos(self.angle_rad), math.sin(self.angle_rad)
        local: Array = (points[None] - self.centres[:, None]) @ np.array([[c, -s], [s, c]])
        return local


def meet(many: Array, one: Array) -> Answers:
    """For each of the (n, 4) bounds, whether it shares area with ``one``; a common edge is no area."""
    answers: Answers = (many[:, 0] < one[2]) & (one[0] < many[:, 2]) & (many[:, 1] < one[3]) & (one[1] < many[:, 3])
    return answers
