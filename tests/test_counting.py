"""ert.counting: undisturbed times of the faster visits count, without rewarding luck; each core is judged on its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.counting import clock_by_core, counted_by_core, in_fastest_visits, times_by_core
from ert.devices.base import Sample

PER_VISIT = 8


def visits_of(count: int, per_visit: int = PER_VISIT) -> list[int]:
    """The numbers of the visits of ``count`` visits' samples."""
    return [visit for visit in range(count) for _ in range(per_visit)]


def counted_visits(time_s: list[float], visits: list[int], usable: list[bool] | None = None) -> set[int]:
    counted = in_fastest_visits(time_s, visits, usable or [True] * len(time_s))
    return {visit for visit, is_counted in zip(visits, counted, strict=True) if is_counted}


def test_of_two_rates_that_visits_keep_to_the_faster_one_counts_whole():
    states = [1.3, 1.0, 1.3, 1.0, 1.001, 1.3]
    time_s = [state for state in states for _ in range(PER_VISIT)]
    assert counted_visits(time_s, visits_of(6)) == {1, 3, 4}


def test_visits_of_one_rate_all_count():
    noise = 1 + 0.002 * np.random.default_rng(1).standard_normal(10 * PER_VISIT)
    assert counted_visits(list(noise), visits_of(10)) == set(range(10))


def test_a_fast_moment_that_came_up_once_is_not_the_number():
    """One visit of six may not come up again: the faster half counts beside it, and so does the interval that tells of it."""
    states = [1.0, 1.1, 1.1, 1.1, 1.1, 1.1]
    time_s = [state for state in states for _ in range(PER_VISIT)]
    counted = in_fastest_visits(time_s, visits_of(6), [True] * len(time_s))
    assert np.median(np.array(time_s)[counted]) == 1.1


def test_a_visit_is_not_fast_by_one_lucky_half():
    """Even samples are fast in one visit, odd ones in another: each half chooses for the other, and nothing is won by luck."""
    slow, lucky = [1.2] * PER_VISIT, [1.0, 1.2] * (PER_VISIT // 2)
    time_s = [*slow, *lucky, *slow, *slow]
    counted = in_fastest_visits(time_s, visits_of(4), [True] * len(time_s))
    assert np.median(np.array(time_s)[counted]) == 1.2


@pytest.mark.parametrize("noise", [0.005, 0.05])
def test_noise_that_no_visit_keeps_to_makes_no_number_too_good(noise):
    """The median of all counted times stays that of the noise; the best of eight visits by itself would be 1.4 sigmas of a median off."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(400):
        time_s = 1 + noise * rng.standard_normal(8 * PER_VISIT)
        found.append(np.median(time_s[in_fastest_visits(list(time_s), visits_of(8), [True] * time_s.size)]))
    # 400 medians of at least 32 times: their mean is known to 1.25 x noise / sqrt(32 x 400), which is 0.011 noise.
    assert abs(np.mean(found) - 1) < 0.06 * noise


def test_few_usable_times_all_count():
    time_s = [1.0, 2.0, 1.5, 1.0, 2.0, 1.5]
    usable = [True, True, False, True, True, False]
    assert list(in_fastest_visits(time_s, [0, 0, 0, 1, 1, 1], usable)) == usable


def test_one_usable_time_a_visit_is_enough():
    """Beside a busy neighbour."""
    usable = [i % PER_VISIT == 0 for i in range(20 * PER_VISIT)]
    counted = in_fastest_visits([1.0] * len(usable), visits_of(20), usable)
    assert counted.sum() == 20


@pytest.mark.parametrize("doubles", [1, 6, 10, 40])
def test_single_usable_times_count_beside_slow_visits_that_have_two(doubles):
    """A hundred moments with one quiet time each, and a few slow ones with two."""
    visits = [*range(100), *(100 + i // 2 for i in range(2 * doubles))]
    time_s = [1.0] * 100 + [2.0] * (2 * doubles)
    counted = in_fastest_visits(time_s, visits, [True] * len(time_s))
    assert counted[:100].all()
    assert np.median(np.array(time_s)[counted]) == 1.0


TIMES = st.lists(st.tuples(st.floats(1e-6, 1e3), st.integers(0, 9), st.booleans()), min_size=1, max_size=80)


@given(TIMES)
def test_only_usable_times_count_and_some_do_if_there_are_any(rows):
    time_s, visits, usable = (list(column) for column in zip(*rows, strict=True))
    counted = in_fastest_visits(time_s, visits, usable)
    assert not (counted & ~np.array(usable)).any()
    assert counted.sum() >= min(12, sum(usable))


@given(TIMES, st.sampled_from([0.25, 4.0, 1024.0]))
def test_the_unit_of_time_does_not_matter(rows, factor):
    time_s, visits, usable = (list(column) for column in zip(*rows, strict=True))
    assert list(in_fastest_visits([factor * t for t in time_s], visits, usable)) == list(in_fastest_visits(time_s, visits, usable))


def beside(first_s: float, second_s: float, widths: tuple[float, float] = (4.0, 4.0), **more: object) -> Sample:
    """A sample of two cores: the whole takes as long as the slower one."""
    return Sample(max(first_s, second_s), core_times_s=(first_s, second_s), core_widths=widths, core_clocks_hz=(3e9, 2e9), **more)


def test_each_core_counts_in_its_own_fastest_visits():
    """Never both cores in their fast state at once: 1 s and 1 s of the work each, though every whole sample took 1.5 s."""
    samples = [beside(1.0, 1.5)] * 24 + [beside(1.5, 1.0)] * 24
    visits = visits_of(6)
    first, second = counted_by_core(samples, visits, 3.0)
    assert list(first) == [True] * 24 + [False] * 24
    assert list(second) == [False] * 24 + [True] * 24
    assert times_by_core(samples, [first, second]) == pytest.approx([1.0] * 24)


def test_the_joined_time_is_that_of_the_sum_of_the_rates():
    samples = [beside(1.0, 2.0)] * 12
    # 1/1 + 1/2 shares of a core's work a second; the whole work is two shares.
    assert times_by_core(samples, counted_by_core(samples, visits_of(3, 4), 3.0)) == pytest.approx([2 / 1.5] * 12)


def test_a_disturbed_core_does_not_count_while_the_other_does():
    samples = [beside(1.0, 9.0, (4.0, 1.0))] * 6 + [beside(1.0, 1.0)] * 8
    first, second = counted_by_core(samples, [0] * 14, 3.0)
    assert (first.sum(), second.sum()) == (14, 8)
    assert times_by_core(samples, [first, second]) == pytest.approx([1.0] * 8)


def test_throttled_samples_and_those_without_times_by_core_do_not_count():
    samples = [beside(1.0, 1.0, throttled=("power",)), Sample(1.0), beside(2.0, 2.0)]
    assert [list(mask) for mask in counted_by_core(samples, [0, 0, 0], 3.0)] == [[False, False, True]] * 2


def test_the_clock_is_that_of_the_moments_that_count():
    samples = [beside(1.0, 1.0), beside(1.0, 1.0, (4.0, 1.0))]
    assert clock_by_core(samples, [np.array([True, True]), np.array([False, False])]) == 3e9
    assert clock_by_core(samples, [np.array([False, False])] * 2) is None


def test_without_cores_there_are_no_joined_times():
    assert counted_by_core([Sample(1.0)], [0], 3.0) == []
    assert times_by_core([Sample(1.0)], []).size == 0
