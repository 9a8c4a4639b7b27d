"""Boxes that touch, lines that cross, labels that make room for each other."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.label_layout import Box, Candidate, Obstacles, choose, spread

SQUARE = Box(0, 0, 2, 2)
TURNED = Box(0, 0, 2, 2, math.pi / 4)
NOTHING = np.empty((0, 4))


def test_upright_box_of_a_turned_square_is_its_diagonal_wide():
    upright = TURNED.upright()
    assert (upright.width, upright.height) == pytest.approx((2 * math.sqrt(2), 2 * math.sqrt(2)))
    assert (upright.x, upright.y) == pytest.approx((0, 0))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Box(1.9, 0, 2, 2), True),
        (Box(2, 0, 2, 2), False),  # sharing an edge is no overlap
        (Box(2.3, 0, 2, 2, math.pi / 4), True),  # its corner reaches in as far as 2.3 - sqrt 2
        (Box(2.5, 0, 2, 2, math.pi / 4), False),
        # Upright boxes of these two would overlap; they do not.
        (Box(1.8, 1.8, 2, 2, math.pi / 4), False),
        (Box(0, 0, 0.1, 0.1), True),
    ],
)
def test_boxes_overlap_when_they_share_area(other: Box, expected: bool):
    assert SQUARE.overlaps(other) is expected
    assert other.overlaps(SQUARE) is expected


def test_box_contains_what_lies_inside_it_wholly():
    assert SQUARE.contains(Box(0.5, 0.5, 1, 1))
    assert not SQUARE.contains(Box(0.6, 0.5, 1, 1))
    assert not SQUARE.contains(TURNED)


def test_points_count_when_their_disc_reaches_into_the_box():
    points = np.array([[0, 0], [1.2, 0], [1.4, 0], [0, -1.2], [5, 5]], dtype=float)
    assert SQUARE.count_points(points, 0.3) == 3
    assert TURNED.count_points(np.array([[1.3, 0.0], [1.0, 1.0]]), 0.05) == 1


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
    assert SQUARE.count_lines(np.array([line], dtype=float)) == expected


def test_no_lines_and_no_points_cost_nothing():
    assert Obstacles(Box(0, 0, 10, 10), np.empty((0, 2)), 1.0, NOTHING).cost(SQUARE) == 0


def test_a_free_place_costs_less_than_a_line_less_than_a_point_less_than_a_label_less_than_outside():
    def cost(**changes: object) -> float:
        given_things = {"points": np.empty((0, 2)), "point_radius": 1.0, "lines": NOTHING}
        return Obstacles(frame=Box(0, 0, 10, 10), **{**given_things, **changes}).cost(SQUARE)

    outside = Obstacles(Box(9, 0, 10, 10), np.empty((0, 2)), 1.0, NOTHING).cost(SQUARE)
    costs = [cost(), cost(lines=np.array([[-5.0, 0, 5, 0]])), cost(points=np.zeros((1, 2))), cost(boxes=[SQUARE]), outside]
    assert costs == sorted(set(costs))


def test_two_labels_that_want_one_place_share_the_trouble_least():
    first = [Candidate(Box(0, 0, 2, 2), 0), Candidate(Box(0, 9, 2, 2), 50)]
    second = [Candidate(Box(1, 0, 2, 2), 1), Candidate(Box(1, -9, 2, 2), 5)]
    assert [c.box.y for c in choose([first, second])] == [0, -9]


def test_a_leader_line_does_not_run_through_another_label():
    label = [Candidate(Box(0, 0, 2, 2), 0)]
    other = [Candidate(Box(10, 0, 2, 2), 0, anchor=(-10, 0)), Candidate(Box(10, 5, 2, 2), 40)]
    assert choose([label, other])[1].box.y == 5


def test_nothing_to_place_is_no_error():
    assert choose([]) == []


def test_labels_with_room_stay_where_they_want_to_be():
    assert spread([10, 30, 50], 10, 0, 100) == [10, 30, 50]


def test_labels_at_one_height_fan_out_around_it():
    assert spread([50, 50, 50], 10, 0, 100) == [40, 50, 60]


def test_labels_stay_inside_the_ends():
    assert spread([1, 2], 10, 5, 100) == [5, 15]
    assert spread([98, 99], 10, 5, 100) == [90, 100]


def test_crowd_that_does_not_fit_starts_at_the_low_end():
    assert spread([50, 50, 50], 10, 40, 45) == [40, 50, 60]


@given(st.lists(st.floats(0, 1000), max_size=20).map(sorted), st.floats(0.1, 30))
def test_spread_keeps_order_gap_and_ends(wanted: list[float], gap: float):
    found = spread(wanted, gap, 0, 1000)
    assert len(found) == len(wanted)
    assert all(b - a >= gap * (1 - 1e-9) for a, b in pairwise(found))
    assert all(-1e-6 <= y <= 1000 + 1e-6 for y in found)


@given(st.lists(st.floats(0, 1000), min_size=2, max_size=2).map(sorted), st.floats(0.1, 100))
def test_two_labels_move_apart_by_the_same_amount(wanted: list[float], gap: float):
    low, high = spread(wanted, gap, -1000, 2000)
    assert low + high == pytest.approx(sum(wanted), abs=1e-6)
