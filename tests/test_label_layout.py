"""Labels that make room for each other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.label_boxes import Box
from ert.label_layout import Candidate, choose, spread


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
