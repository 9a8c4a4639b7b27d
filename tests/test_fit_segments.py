"""The cut into straight pieces against exhaustive search, and the noise and outliers it rests on."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.fit.noise import first_sigma, outliers, side_medians
from ert.fit.rows import Sizes, group_medians
from ert.fit.segments import FALL_PER_OCTAVE, RISE_PER_OCTAVE, _Pieces, _place, cut

pytestmark = pytest.mark.filterwarnings("error")


def cost_of(ends, pieces):
    starts = [0, *ends[:-1]]
    return sum(pieces.cost[_place(i, j)] for i, j in zip(starts, ends, strict=True))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=2, max_size=9), st.integers(0, 100))
def test_cut_is_the_cheapest_of_all_cuts(log_rate, seed):
    n = len(log_rate)
    octave = np.cumsum(np.random.default_rng(seed).uniform(0.05, 0.5, n))
    rate, weight = np.array(log_rate), np.full(n, 1 / 0.02**2)
    pieces = _Pieces(octave, rate, weight)
    every = [(*inner, n) for size in range(n) for inner in combinations(range(1, n), size)]
    found = cut(octave, rate, weight)
    assert cost_of([p.stop for p in found], pieces) == pytest.approx(min(cost_of(ends, pieces) for ends in every))


def test_pieces_follow_each_other_and_cover_the_curve():
    rng = np.random.default_rng(1)
    found = cut(np.arange(50) / 8, rng.standard_normal(50), np.ones(50))
    assert [p.start for p in found] == [0, *(p.stop for p in found[:-1])]
    assert found[-1].stop == 50


def test_line_of_a_piece_is_the_weighted_least_squares_line():
    rng = np.random.default_rng(2)
    octave, weight = np.arange(30) / 8, rng.uniform(1e4, 1e5, 30)
    rate = -0.5 * octave + 0.003 * rng.standard_normal(30)
    (piece,) = cut(octave, rate, weight)
    slope, intercept = np.polyfit(octave, rate, 1, w=np.sqrt(weight))
    assert not piece.is_plateau
    assert piece.slope == pytest.approx(slope)
    assert piece.log_rate == pytest.approx(intercept + slope * piece.octave)


@pytest.mark.parametrize(("slope", "is_plateau"), [(0.0, True), (-0.05, True), (0.02, True), (-0.2, False), (0.2, False)])
def test_slope_tells_a_plateau_from_a_ramp(slope, is_plateau):
    octave = np.arange(24) / 8
    (piece,) = cut(octave, slope * octave, np.full(24, 1 / 0.01**2))
    assert piece.is_plateau == is_plateau
    if is_plateau:
        assert FALL_PER_OCTAVE <= piece.slope <= RISE_PER_OCTAVE


@pytest.mark.parametrize("sigma", [0.01, 0.03])
def test_sigma_is_that_of_the_noise_despite_steps_ramps_and_outliers(sigma):
    rng = np.random.default_rng(3)
    octave = np.arange(160) / 10
    rate = np.where(octave < 5, 2.0, np.where(octave < 8, 1.0 - 0.3 * (octave - 5), 0.0)) + sigma * rng.standard_normal(160)
    rate[rng.random(160) < 0.08] -= 0.7
    assert sigma / 1.5 < np.median(first_sigma(Sizes(octave, rate))) < 1.5 * sigma


def test_lone_stalls_are_outliers_and_steps_ramps_and_agreeing_runs_are_not():
    rate = np.concatenate([np.zeros(20), np.linspace(-0.1, -0.9, 9), np.full(20, -1.0), np.full(20, -2.0)])
    rate[[5, 40]] -= 0.5
    rate[55:58] += 1.0  # three that agree: something was measured there
    found = outliers(Sizes(np.arange(rate.size) / 8, rate), np.full(rate.size, 0.01))
    assert np.flatnonzero(found).tolist() == [5, 40]


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=30))
def test_side_medians_are_the_medians_of_up_to_five_neighbours(values):
    left, right = side_medians(np.array(values))
    n = len(values)
    for k in range(n):
        before, after = values[max(0, k - 5) : k], values[k + 1 : k + 6]
        assert left[k] == pytest.approx(np.median(before or after))
        assert right[k] == pytest.approx(np.median(after or before))


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-5, 5)), min_size=1, max_size=40))
def test_group_medians_are_numpys(rows):
    _, group = np.unique([g for g, _ in rows], return_inverse=True)
    values = np.array([v for _, v in rows])
    expected = [np.median(values[group == g]) for g in range(group.max() + 1)]
    assert group_medians(values, group) == pytest.approx(expected)
