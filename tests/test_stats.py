"""ert.stats against closed forms, published tables and coverage over many seeded draws."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import AnalysisError
from ert.stats import MAD_TO_SIGMA, median_ci95, relative_half_width

FINITE = st.floats(-1e300, 1e300)


def test_median_of_odd_and_even_counts():
    assert median_ci95([3.0, 1.0, 2.0]).median == 2.0
    assert median_ci95([4.0, 1.0, 2.0, 3.0]).median == 2.5


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_six_samples_have_no_interval(n):
    # min to max covers the median with 1 - 2^(1-n): 0.9375 at n = 5.
    assert median_ci95(np.arange(n, dtype=float))[1:] == (None, None)
    assert relative_half_width(np.arange(1.0, n + 1)) is None


@pytest.mark.parametrize(("n", "depth"), [(6, 1), (9, 2), (12, 3), (20, 6), (25, 8), (50, 18)])
def test_interval_lies_between_the_order_statistics_of_the_published_table(n, depth):
    # Depths for 95 % from Conover, Practical Nonparametric Statistics, and Dixon & Massey, table A-25.
    _, lo, hi = median_ci95(np.arange(1.0, n + 1))
    assert depth <= lo < depth + 1
    assert lo + hi == pytest.approx(n + 1)


@pytest.mark.parametrize("n", [6, 7, 10, 15, 30, 101])
@pytest.mark.parametrize("draw", ["normal", "lognormal", "laplace"])
def test_interval_covers_the_true_median_in_95_percent_of_draws(n, draw):
    generator = np.random.default_rng(n)
    true = 1.0 if draw == "lognormal" else 0.0
    hits = 0
    for _ in range(3000):
        _, lo, hi = median_ci95(getattr(generator, draw)(size=n))
        hits += lo <= true <= hi
    # Three standard errors of a share of 0.95 over 3000 draws are 0.012; interpolation is exact to about 0.005.
    assert 0.935 <= hits / 3000 <= 0.967


@given(st.lists(FINITE, min_size=1, max_size=60))
def test_interval_holds_the_median_and_stays_inside_the_samples(samples):
    median, lo, hi = median_ci95(samples)
    assert min(samples) <= median <= max(samples)
    if lo is not None:
        slack = 1e-12 * max(abs(s) for s in samples)
        assert min(samples) - slack <= lo <= median + slack
        assert median - slack <= hi <= max(samples) + slack


@given(st.lists(st.floats(0.1, 10), min_size=6, max_size=40), st.floats(1e-9, 1e9))
def test_relative_half_width_does_not_depend_on_the_unit(samples, unit):
    assert relative_half_width(np.array(samples) * unit) == pytest.approx(relative_half_width(samples), rel=1e-9, abs=1e-12)


def test_relative_half_width_around_zero_is_none():
    assert relative_half_width([-1.0, -1, 0, 0, 0, 1, 1]) is None


def test_one_stall_does_not_move_the_median():
    calm = [1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0]
    assert median_ci95([*calm[:-1], 1e6]).median == 1.0


def test_the_mad_of_normal_values_is_scaled_to_their_standard_deviation():
    values = np.random.default_rng(1).normal(5, 0.3, 100_000)
    assert MAD_TO_SIGMA * np.median(np.abs(values - np.median(values))) == pytest.approx(0.3, rel=0.02)


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [math.inf]])
def test_no_samples_or_ones_that_are_not_finite_are_refused(samples):
    with pytest.raises(AnalysisError, match="sample"):
        median_ci95(samples)


def test_a_stopping_rule_can_afford_it():
    samples = list(np.random.default_rng(3).normal(1, 0.1, 50))
    start = time.process_time()
    for _ in range(2000):
        relative_half_width(samples)
    # CPU time: what else the machine does must not decide. It takes 0.03 s.
    assert time.process_time() - start < 1.0
