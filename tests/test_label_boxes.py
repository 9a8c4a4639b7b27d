"""Boxes that touch, lines that cross, points that reach in."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ert.label_boxes import Box, Boxes, meet
from ert.label_layout import Obstacles

SQUARE = Box(0, 0, 2, 2)
TURNED = Box(0, 0, 2, 2, math.pi / 4)
NOTHING = np.empty((0, 4))


def test_bounds_of_a_turned_square_are_its_diagonal_wide():
    half = math.sqrt(2)
    assert Box(3, 5, 2, 2, math.pi / 4).bounds() == pytest.approx((3 - half, 5 - half, 3 + half, 5 + half))
    # A strip of 4 by 2 at 30 degrees: 4 cos 30 + 2 sin 30 wide, 4 sin 30 + 2 cos 30 high.
    left, bottom, right, top = Box(0, 0, 4, 2, -math.pi / 6).bounds()
    assert (right - left, top - bottom) == pytest.approx((4.4641016, 3.7320508))


def test_many_boxes_have_the_bounds_of_each():
    centres = np.array([[0, 0], [3, -7]], dtype=float)
    boxes = Boxes(centres, 4, 2, 0.3)
    assert boxes.bounds() == pytest.approx(np.array([Box(x, y, 4, 2, 0.3).bounds() for x, y in centres]))
    assert boxes[1] == Box(3, -7, 4, 2, 0.3)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Box(1.9, 0, 2, 2), True),
        (Box(2, 0, 2, 2), False),  # sharing an edge is no overlap
        (Box(2.3, 0, 2, 2, math.pi / 4), True),  # its corner reaches in as far as 2.3 - sqrt 2
        (Box(2.5, 0, 2, 2, math.pi / 4), False),
        (Box(0, 0, 0.1, 0.1), True),
    ],
)
def test_bounds_meet_when_they_share_area(other: Box, expected: bool):
    assert meet(np.array([SQUARE.bounds()]), np.array(other.bounds())).tolist() == [expected]
    assert meet(np.array([other.bounds()]), np.array(SQUARE.bounds())).tolist() == [expected]


@pytest.mark.parametrize(("point", "edge"), [((5, 0.5), (1, 0.5)), ((-3, -9), (-1, -1)), ((0.2, 0.3), (0.2, 0.3))])
def test_a_leader_ends_at_the_nearest_edge(point: tuple[float, float], edge: tuple[float, float]):
    assert SQUARE.edge_towards(*point) == edge


def test_box_lies_in_a_frame_that_holds_all_of_it():
    boxes = Boxes(np.array([[0.5, 0.5], [0.6, 0.5], [-0.5, -0.5]]), 1, 1)
    assert boxes.lie_in(SQUARE).tolist() == [True, False, True]
    assert Boxes.of(TURNED).lie_in(SQUARE).tolist() == [False]


def test_points_count_when_their_disc_reaches_into_the_box():
    points = np.array([[0, 0], [1.2, 0], [1.4, 0], [0, -1.2], [5, 5]], dtype=float)
    assert Boxes(np.array([[0.0, 0.0], [5.0, 5.0]]), 2, 2).count_points(points, 0.3).tolist() == [3, 1]
    assert Boxes.of(TURNED).count_points(np.array([[1.3, 0.0], [1.0, 1.0]]), 0.05).tolist() == [1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ((-5, 0, 5, 0), 1),
        ((-5, 0, -2, 0), 0),  # ends before
        ((0, 0, 0.1, 0.1), 1),  # inside
        ((-5, 1.5, 5, 1.5), 0),
        ((0.5, -5, 0.5, 5), 1),
        ((0, 3, 3, 0), 0),
        ((0, 1.5, 1.5, 0), 1),  # cuts the corner
    ],
)
def test_lines_count_when_they_pass_through(line: tuple[float, ...], expected: int):
    assert Boxes.of(SQUARE).count_lines(np.array([line], dtype=float)).tolist() == [expected]


def test_lines_are_counted_along_a_turned_box():
    # The first strip lies on y = x, the second on y = x + 9; "beside" keeps 1 / sqrt 2 from the first, which is 1 wide.
    strips = Boxes(np.array([[0.0, 0.0], [0.0, 9.0]]), 10, 1, math.pi / 4)
    along, across, beside = (-3, -3.2, 3, 2.8), (-3, 3, 3, -3), (-3, -2, 3, 4)
    assert strips.count_lines(np.array([along, across, beside], dtype=float)).tolist() == [2, 0]


def test_no_lines_and_no_points_cost_nothing():
    assert Obstacles(Box(0, 0, 10, 10), np.empty((0, 2)), 1.0, NOTHING).costs(Boxes.of(SQUARE)).tolist() == [0]


def test_a_free_place_costs_less_than_a_line_less_than_a_point_less_than_a_label_less_than_outside():
    def cost(**changes: object) -> float:
        given_things = {"points": np.empty((0, 2)), "point_radius": 1.0, "lines": NOTHING}
        return float(Obstacles(frame=Box(0, 0, 10, 10), **{**given_things, **changes}).costs(Boxes.of(SQUARE))[0])

    outside = float(Obstacles(Box(9, 0, 10, 10), np.empty((0, 2)), 1.0, NOTHING).costs(Boxes.of(SQUARE))[0])
    costs = [cost(), cost(lines=np.array([[-5.0, 0, 5, 0]])), cost(points=np.zeros((1, 2))), cost(boxes=[SQUARE]), outside]
    assert costs == sorted(set(costs))
