"""Where labels can stand without touching anything: boxes, lines and points in the plane, in pixels. No drawing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations

import numpy as np
from numpy.typing import NDArray

# (n, 2) positions, or (n, 4) lines as x0, y0, x1, y1
Array = NDArray[np.float64]
_MOST_ORDERS = 720


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle around (x, y), turned by ``angle_rad``."""

    x: float
    y: float
    width: float
    height: float
    angle_rad: float = 0.0

    def corners(self) -> Array:
        """(4, 2), in order around the box."""
        half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (self.width / 2, self.height / 2)
        return half @ self._axes() + (self.x, self.y)

    def upright(self) -> Box:
        """The smallest unturned box around this one: what a renderer calls its bounding box."""
        low, high = self.corners().min(axis=0), self.corners().max(axis=0)
        return Box(*(low + high) / 2, *(high - low))

    def overlaps(self, other: Box) -> bool:
        """True if the two share area (separating axis theorem)."""
        mine, theirs = self.corners(), other.corners()
        for axis in (*self._axes(), *other._axes()):
            a, b = mine @ axis, theirs @ axis
            if a.max() <= b.min() or b.max() <= a.min():
                return False
        return True

    def contains(self, other: Box) -> bool:
        """True if all of ``other`` lies inside this box."""
        return bool((np.abs(self._local(other.corners())) <= (self.width / 2 + 1e-9, self.height / 2 + 1e-9)).all())

    def count_points(self, points: Array, radius: float) -> int:
        """How many discs of this radius around ``points`` reach into the box (corners taken as square)."""
        near = np.abs(self._local(points)) < (self.width / 2 + radius, self.height / 2 + radius)
        return int(near.all(axis=1).sum())

    def count_lines(self, lines: Array) -> int:
        """How many of the straight ``lines`` pass through the box (Liang and Barsky 1984)."""
        start, end = self._local(lines[:, :2]), self._local(lines[:, 2:])
        half, step = np.array([self.width, self.height]) / 2, end - start
        with np.errstate(divide="ignore", invalid="ignore"):
            one, two = (-half - start) / step, (half - start) / step
        outside = (step == 0) & (np.abs(start) >= half)
        still = step == 0
        enter = np.where(still, -np.inf, np.minimum(one, two)).max(axis=1).clip(0)
        leave = np.where(still, np.inf, np.maximum(one, two)).min(axis=1).clip(max=1)
        return int(((enter < leave) & ~outside.any(axis=1)).sum())

    def _axes(self) -> Array:
        c, s = math.cos(self.angle_rad), math.sin(self.angle_rad)
        return np.array([[c, s], [-s, c]])

    def _local(self, points: Array) -> Array:
        turned: Array = (points - (self.x, self.y)) @ self._axes().T
        return turned


@dataclass(slots=True)
class Obstacles:
    """What labels must keep clear of; every label placed is one more.

    frame   all labels stay inside
    points  (n, 2) centres of markers of ``point_radius``
    lines   (n, 4)
    """

    frame: Box
    points: Array
    point_radius: float
    lines: Array
    boxes: list[Box] = field(default_factory=list)

    def cost(self, box: Box) -> float:
        """0 if the box is free. Other labels weigh most (by the boxes a renderer sees), then points, then lines."""
        upright = box.upright()
        if not self.frame.contains(upright):
            return 1e7
        met = sum(upright.overlaps(other.upright()) for other in self.boxes)
        return 1e6 * met + 300 * box.count_points(self.points, self.point_radius) + 200 * box.count_lines(self.lines)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place for a label: its box, what the place costs by itself, and where a leader line would end, if it needs one."""

    box: Box
    cost: float
    anchor: tuple[float, float] | None = None

    def bounds(self) -> list[float]:
        """Left, bottom, right, top of the box a renderer sees."""
        upright = self.box.upright()
        return [
            upright.x - upright.width / 2,
            upright.y - upright.height / 2,
            upright.x + upright.width / 2,
            upright.y + upright.height / 2,
        ]

    def leader_bounds(self) -> list[float]:
        """Left, bottom, right, top of the leader line; a dot in the label where there is none."""
        x, y = self.anchor or (self.box.x, self.box.y)
        return [min(x, self.box.x), min(y, self.box.y), max(x, self.box.x), max(y, self.box.y)]


def choose(labels: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """One candidate for each label so that no two meet, at the least cost found.

    Every order of the labels (of the first six) is tried, each label taking the best place left: with the handful of
    memory levels there are, that finds the best arrangement or one that looks like it.
    """
    costs = [np.array([c.cost for c in candidates], dtype=np.float64) for candidates in labels]
    boxes = [np.array([c.bounds() for c in candidates]) for candidates in labels]
    leaders = [np.array([c.leader_bounds() for c in candidates]) for candidates in labels]
    best_total, best = math.inf, [0] * len(labels)
    for order in islice(permutations(range(len(labels))), _MOST_ORDERS):
        picks, total = [0] * len(labels), 0.0
        for position, index in enumerate(order):
            cost = costs[index].copy()
            for other in order[:position]:
                box, leader = boxes[other][picks[other]], leaders[other][picks[other]]
                cost += 1e6 * _meet(boxes[index], box) + 1e5 * (_meet(leaders[index], box) + _meet(boxes[index], leader))
            picks[index] = int(cost.argmin())
            total += float(cost[picks[index]])
        if total < best_total:
            best_total, best = total, picks
    return [candidates[index] for candidates, index in zip(labels, best, strict=True)]


def _meet(many: Array, one: Array) -> Array:
    """1.0 for each of the (n, 4) bounds that shares area with ``one``."""
    meets: Array = ((many[:, 0] < one[2]) & (one[0] < many[:, 2]) & (many[:, 1] < one[3]) & (one[1] < many[:, 3])).astype(np.float64)
    return meets


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least ``gap`` apart, inside [low, high], in the order of ``wanted`` and as near to it as possible.

    wanted   ascending
    Least squares by pooling adjacent violators (Ayer et al. 1955), then clipped, which keeps it optimal. What does not
    fit into [low, high] starts at ``low`` and leaves ``high`` behind.
    """
    shifts = [w - index * gap for index, w in enumerate(wanted)]
    pools: list[tuple[float, int]] = []
    for shift in shifts:
        total, count = shift, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            earlier_total, earlier_count = pools.pop()
            total, count = total + earlier_total, count + earlier_count
        pools.append((total, count))
    level = [total / count for total, count in pools for _ in range(count)]
    top = max(high - (len(level) - 1) * gap, low)
    return [min(max(value, low), top) + index * gap for index, value in enumerate(level)]
