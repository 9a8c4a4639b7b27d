"""ert.stopping: enough undisturbed samples, agreeing closely enough, or too many of any kind."""

from __future__ import annotations

import numpy as np
import pytest

from ert.config import Sampling
from ert.stopping import SampleSet, is_in_need, why_stop

RULE = Sampling(min_time_s=1e-4, per_visit=4, min_samples=12, min_visits=3, target_relative=0.01, max_samples=40, sustain_s=0, seed=1)


def samples(times: list[float], disturbed: list[bool] | None = None, visits: int = 3) -> SampleSet:
    return SampleSet(np.array(times), visits, ~np.array(disturbed or [False] * len(times), dtype=bool))


def test_equal_samples_converge_as_soon_as_there_are_enough():
    assert why_stop(samples([1.0] * 11), RULE) is None
    assert why_stop(samples([1.0] * 12), RULE) == "converged"


def test_samples_of_one_moment_are_not_enough_however_they_agree():
    assert why_stop(samples([1.0] * 20, visits=2), RULE) is None
    assert why_stop(samples([1.0] * 20, visits=3), RULE) == "converged"


def test_disturbed_samples_do_not_count_towards_the_least_number():
    assert why_stop(samples([1.0] * 12, [True] + [False] * 11), RULE) is None


def test_disturbed_samples_do_not_keep_quiet_ones_from_converging():
    assert why_stop(samples([1.0] * 12 + [9.0] * 10, [False] * 12 + [True] * 10), RULE) == "converged"


def test_scattered_samples_go_on_until_the_most():
    scattered = list(np.linspace(1.0, 2.0, 39))
    assert why_stop(samples(scattered), RULE) is None
    assert why_stop(samples([*scattered, 1.5]), RULE) == "max_samples"


def test_a_point_that_is_never_quiet_ends_at_the_most_samples():
    assert why_stop(samples([1.0] * 40, [True] * 40), RULE) == "max_samples"


def test_no_samples_are_not_enough():
    assert why_stop(samples([]), RULE) is None


@pytest.mark.parametrize(("noise", "expected"), [(0.003, "converged"), (0.1, None)])
def test_the_target_is_the_half_width_of_the_medians_interval(noise, expected):
    # 30 normal samples: the interval is about +-2 x 1.25 x noise / sqrt(30), so 0.14 % against 4.6 % for a target of 1 %.
    times = 1 + noise * np.random.default_rng(5).standard_normal(30)
    assert why_stop(samples(list(times)), RULE) == expected


NARROW, WIDE = [1.0, 1.001] * 10, [1.0, 1.1] * 10


@pytest.mark.parametrize(
    ("times", "is_ceiling", "expected"),
    [(NARROW, True, False), (NARROW[:11], True, True), (NARROW[:11], False, True), (WIDE, True, True), (WIDE, False, False)],
)
def test_points_in_need_have_few_samples_or_would_be_a_ceiling_with_a_wide_interval(times, is_ceiling, expected):
    assert is_in_need(samples(times), RULE, is_ceiling=is_ceiling) is expected
