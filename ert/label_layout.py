"""Where labels can stand without touching anything: boxes among lines and points in the plane, in pixels. No drawing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations

import numpy as np

from ert.label_boxes import Array, Box, Boxes, meet

_MOST_ORDERS = 720


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

    def costs(self, boxes: Boxes) -> Array:
        """(n,), 0 where a box is free. Other labels weigh most (by the boxes a renderer sees), then points, then lines."""
        bounds = boxes.bounds()
        met = sum((meet(bounds, np.array(other.bounds())) for other in self.boxes), start=np.zeros(len(bounds), dtype=np.int64))
        free = 1e6 * met + 300 * boxes.count_points(self.points, self.point_radius) + 200 * boxes.count_lines(self.lines)
        costs: Array = np.where(boxes.lie_in(self.frame), free, 1e7)
        return costs


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place for a label: its box, what the place costs by itself, and where a leader line would end, if it needs one."""

    box: Box
    cost: float
    anchor: tuple[float, float] | None = None

    def leader_bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right, top of the leader line; a dot in the label where there is none."""
        x, y = self.anchor or (self.box.x, self.box.y)
        return min(x, self.box.x), min(y, self.box.y), max(x, self.box.x), max(y, self.box.y)


def choose(labels: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """One candidate for each label so that no two meet, at the least cost found.

    Every order of the labels (of the first six) is tried, each label taking the best place left: with the handful of
    memory levels there are, that finds the best arrangement or one that looks like it.
    """
    costs = [np.array([c.cost for c in candidates], dtype=np.float64) for candidates in labels]
    boxes = [np.array([c.box.bounds() for c in candidates]) for candidates in labels]
    leaders = [np.array([c.leader_bounds() for c in candidates]) for candidates in labels]
    best_total, best = math.inf, [0] * len(labels)
    for order in islice(permutations(range(len(labels))), _MOST_ORDERS):
        picks, total = [0] * len(labels), 0.0
        for position, index in enumerate(order):
            cost = costs[index].copy()
            for other in order[:position]:
                box, leader = boxes[other][picks[other]], leaders[other][picks[other]]
                cost += 1e6 * meet(boxes[index], box) + 1e5 * (meet(leaders[index], box) | meet(boxes[index], leader))
            picks[index] = int(cost.argmin())
            total += float(cost[picks[index]])
        if total < best_total:
            best_total, best = total, picks
    return [candidates[index] for candidates, index in zip(labels, best, strict=True)]


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
