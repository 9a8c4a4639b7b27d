"""ert.history_stats: against NumPy, SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from ert.history_stats import difference, is_slide, normal_z, push, row_medians, split, spread, without_gross

NAN = np.nan


def test_spread_is_that_of_the_nights_that_are_there() -> None:
    window = np.array([[NAN, 1.0, 2.0, 4.0, NAN], [3.0, 3.0, 3.0, 3.0, 3.0]])
    found = spread(window)
    assert found.nights.tolist() == [3, 5]
    assert found.mean.tolist() == pytest.approx([7 / 3, 3.0])
    assert found.sigma.tolist() == pytest.approx([np.std([1, 2, 4], ddof=1), 0.0])
    # Half the mean square of the steps 1 and 2.
    assert found.successive.tolist() == pytest.approx([np.sqrt((1 + 4) / 2 / 2), 0.0])


def test_successive_differences_do_not_see_a_slide_and_agree_with_sigma_without_one() -> None:
    noise = 0.005 * np.random.default_rng(1).standard_normal((2000, 28))
    flat, sliding = spread(noise), spread(noise - 0.001 * np.arange(28))
    assert np.sqrt((flat.successive**2).mean()) == pytest.approx(0.005, rel=0.02)
    assert np.sqrt((sliding.successive**2).mean()) == pytest.approx(0.005, rel=0.03)
    assert np.sqrt((sliding.sigma**2).mean()) > 0.009


@pytest.mark.parametrize(("t", "freedom"), [(-5.8, 13), (2.0, 6), (0.0, 9), (-1.3, 400)])
def test_normal_z_is_as_improbable_as_t(t: float, freedom: int) -> None:
    found = normal_z(np.array([t]), np.array([freedom]))
    assert stats.norm.cdf(found[0]) == pytest.approx(stats.t.cdf(t, freedom), rel=1e-9)


def test_normal_z_of_the_impossible_is_finite() -> None:
    assert np.isfinite(normal_z(np.array([-1e9, 1e9, -np.inf]), np.array([1000, 1000, 1000]))).all()


@given(
    arrays(np.float64, (14,), elements=st.floats(-0.1, 0.1), unique=True),
    arrays(np.float64, (3,), elements=st.floats(-0.1, 0.1), unique=True),
)
def test_a_difference_is_as_improbable_as_students_test_of_two_samples_says(before: np.ndarray, after: np.ndarray) -> None:
    found, expected = difference(before, after, 1e-9), stats.ttest_ind(after, before)
    assert found.z == pytest.approx(np.sign(expected.statistic) * stats.norm.isf(expected.pvalue / 2), rel=1e-6, abs=1e-6)
    assert found.sigma == pytest.approx(np.sqrt((13 * before.var(ddof=1) + 2 * after.var(ddof=1)) / 15))


def test_a_difference_leaves_out_what_is_missing_and_believes_no_noise_below_the_least() -> None:
    before, after = np.array([0.0, 0.001, NAN, -0.001, 0.0]), np.array([-0.01, NAN, -0.01])
    found = difference(before, after, 0.002)
    assert found.sigma == 0.002
    # Six nights, four degrees of freedom; t = -0.01 / (0.002 sqrt(1/4 + 1/2)).
    assert stats.norm.cdf(found.z) == pytest.approx(stats.t.cdf(-5 / np.sqrt(0.75), 4))


@given(arrays(np.float64, (4, 7), elements=st.floats(-5, 5) | st.just(NAN)))
def test_row_medians_are_numpys(values: np.ndarray) -> None:
    found = row_medians(values)
    for row, median in zip(values, found, strict=True):
        known = row[np.isfinite(row)]
        assert median == pytest.approx(np.median(known)) if known.size else np.isnan(median)


def test_only_what_is_far_by_both_measures_is_gross() -> None:
    quiet, noisy = np.zeros(9), np.array([-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0])
    quiet[4] = -0.01
    assert np.isfinite(without_gross(quiet[None], 0.015)).all()
    quiet[4] = -0.02
    assert np.isnan(without_gross(quiet[None], 0.015))[0].tolist() == [i == 4 for i in range(9)]
    assert np.isfinite(without_gross(noisy[None], 0.015)).all()


def test_split_gives_the_last_nights_no_more_than_half() -> None:
    trail = np.array([NAN, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert [part.tolist() for part in split(trail, 1)] == [[1.0, 2.0, 3.0, 4.0], [5.0]]
    assert [part.tolist() for part in split(trail, 4)] == [[1.0, 2.0, 3.0], [4.0, 5.0]]


def test_push_moves_the_chosen_rows_only() -> None:
    buffer = np.array([[1.0, 2.0], [3.0, 4.0]])
    push(buffer, np.array([True, False]), np.array([9.0, 9.0]))
    assert buffer.tolist() == [[2.0, 9.0], [3.0, 4.0]]


def test_a_step_is_no_slide_and_a_slide_is_no_step() -> None:
    generator = np.random.default_rng(2)
    noise = 0.004 * generator.standard_normal((300, 28))
    steps = noise - 0.03 * (np.arange(28) >= 22)
    slides = noise - 0.002 * np.arange(28)
    assert np.mean([is_slide(row) for row in steps]) < 0.05
    assert np.mean([is_slide(row) for row in slides]) > 0.95
    assert not is_slide(np.array([NAN, NAN, 0.0, 0.001, -0.03, -0.03]))
