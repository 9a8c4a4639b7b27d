"""The levels of curves: real ones a person has read, traps with a planted answer, and properties every fit has."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ert.errors import AnalysisError
from ert.fit.levels import CapacityFact, Curve, fit_levels
from ert.fit.read import read_curves, read_facts
from tests.support.curves import draw_curve, step_curve

pytestmark = pytest.mark.filterwarnings("error")

CURVES = Path(__file__).parent / "data" / "curves"
REAL = json.loads((CURVES / "expected.json").read_text())
MIB = 2**20
# name of the trap -> levels in GB/s, their tolerance, capacities in bytes and the factor they may be off
TRAPS = {
    "2-levels": ([3000, 900], 0.02, [6291456], 1.3),
    "3-levels": ([19000, 5500, 1800], 0.02, [20971520, 62914560], 1.3),
    "noise-outliers": ([12000, 4000, 1500], 0.04, [8388608, 67108864], 1.4),
    "short-dram": ([15000, 4000, 1600], 0.03, [4 * MIB, 32 * MIB], 1.3),
    "close-levels": ([9000, 2600, 2200], 0.02, [2 * MIB, 64 * MIB], 1.3),
    "stops-inside-l2": ([16000, 5000], 0.02, [2 * MIB], 1.3),
    "throttle-midway": ([11000, 4000, 1500], 0.02, [4 * MIB, 40 * MIB], 1.3),
    "timer-too-coarse": ([1700], 0.03, [], 1.0),
}


def fitted(name, facts=(), clocks=None):
    (read,) = read_curves(CURVES / name, clocks).curves
    return fit_levels(read.curve, facts)


def curve_of(drawn):
    return Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s)


def codes(fit):
    return {finding.code for finding in fit.warnings}


@pytest.mark.parametrize("name", REAL)
def test_real_curve_has_the_levels_a_person_reads_off_it(name):
    fit, expected = fitted(name), REAL[name]
    assert [level.value_bytes_per_s / 1e9 for level in fit.levels] == pytest.approx(expected["levels_GBps"], rel=expected["tol_rel"])
    for level, (low, high) in zip(fit.levels, expected["boundaries_bytes"], strict=False):
        assert low <= level.capacity_bytes <= high
    assert fit.levels[-1].capacity_bytes is None


@pytest.mark.parametrize("trap", TRAPS)
def test_trap_has_its_planted_levels_and_boundaries(trap):
    values, tolerance, capacities, factor = TRAPS[trap]
    fit = fitted(f"curve-{trap}.csv")
    assert [level.value_bytes_per_s / 1e9 for level in fit.levels] == pytest.approx(values, rel=tolerance)
    for level, capacity in zip(fit.levels, capacities, strict=False):
        assert capacity / factor <= level.capacity_bytes <= capacity * factor
        assert level.capacity_ci95[0] <= level.capacity_bytes <= level.capacity_ci95[1]


def test_three_levels_without_facts_are_l1_l2_dram():
    fit = fitted("curve-3-levels.csv")
    assert [level.name for level in fit.levels] == ["L1", "L2", "DRAM"]
    assert "names_by_position" in codes(fit)


def test_curve_that_stops_inside_a_cache_has_no_dram_and_says_so():
    fit = fitted("curve-stops-inside-l2.csv", read_facts(CURVES / "curve-stops-inside-l2-device.json"))
    assert [level.name for level in fit.levels] == ["L1", "L2"]
    (finding,) = [f for f in fit.warnings if f.code == "dram_not_reached"]
    assert finding.value == 32 * MIB
    assert "200 MiB" in finding.remedy  # 4 x 50 MiB


def test_throttled_rows_are_left_out_when_the_clock_is_known():
    fit = fitted("curve-throttle-midway.csv", clocks=CURVES / "curve-throttle-midway-clocks.csv")
    assert [level.value_bytes_per_s / 1e9 for level in fit.levels] == pytest.approx([11000, 4000, 1500], rel=0.02)
    (finding,) = [f for f in fit.warnings if f.code == "throttled_rows"]
    assert finding.value == 89  # rows at 1110 MHz in the file of clocks
    assert fit.levels[-1].working_set_bytes[0] < 210e6  # the first size after the spell; without clocks it is 226 MB


def test_short_last_level_is_believed_and_marked():
    drawn = step_curve([4e12, 1e12], octaves=[3.95, 0.4], step=0.1)
    fit = fit_levels(curve_of(drawn))
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([4e12, 1e12], rel=0.01)
    assert "short" in fit.levels[-1].flags
    assert "last_level_short" in codes(fit)


@pytest.mark.parametrize(("ratio", "count"), [(1.05, 1), (1.08, 1), (1.15, 2), (1.3, 2)])
def test_neighbours_closer_than_8_percent_are_one_and_15_percent_apart_are_two(ratio, count):
    drawn = step_curve([1e12 * ratio, 1e12], octaves=[3.0, 3.0], step=0.125, noise=0.005)
    assert len(fit_levels(curve_of(drawn)).levels) == count


def test_slow_decline_inside_a_cache_is_one_level():
    drawn = step_curve([4e12, 1e12], octaves=[6.0, 3.0], step=0.125, noise=0.005, decline=0.05)
    fit = fit_levels(curve_of(drawn))
    assert len(fit.levels) == 2
    assert "declining" in fit.levels[0].flags
    assert fit.levels[0].value_bytes_per_s == pytest.approx(4e12 * 0.95**3, rel=0.01)  # the middle of six octaves


def test_a_curve_that_ends_on_a_ramp_says_that_a_slower_level_was_not_reached():
    drawn = step_curve([4e12, 1e12], octaves=[4.0, 3.0], step=0.125)
    cut_off = drawn.working_set_bytes < 2.0**18.6
    slope = np.where(drawn.working_set_bytes > 2.0**18, (drawn.working_set_bytes / 2.0**18) ** -1.5, 1.0)
    fit = fit_levels(Curve(drawn.working_set_bytes[cut_off], (4e12 * slope)[cut_off]))
    assert len(fit.levels) == 1
    assert "last_level_not_reached" in codes(fit)


def test_launch_limited_start_is_no_level_and_does_not_pull_the_first_one_down():
    x = np.arange(10.0, 24.0, 0.125)
    rate = 1 / (2.0**8 / (2.0**x * 1e12) + 1 / 1e12)  # T = V/b + a with a = 256 bytes / b
    fit = fit_levels(Curve(2.0**x, rate * np.exp(0.005 * np.random.default_rng(1).standard_normal(x.size))))
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([1e12], rel=0.01)
    assert "launch_limited" in codes(fit)


def test_dip_is_reported_and_not_a_level():
    drawn = step_curve([4e12, 1e12], octaves=[5.0, 3.0], step=0.125, noise=0.005)
    dip = (drawn.working_set_bytes > 2.0**16) & (drawn.working_set_bytes < 2.0**16.8)
    rate = np.where(dip, 0.75, 1.0) * drawn.bandwidth_bytes_per_s
    fit = fit_levels(Curve(drawn.working_set_bytes, rate))
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([4e12, 1e12], rel=0.01)
    (finding,) = [f for f in fit.warnings if f.code == "dip"]
    assert finding.value == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("taken_in", ["random", "passes"])
def test_slow_spell_is_found_by_the_order_of_time(taken_in):
    drawn = step_curve([8e12, 4e12, 1e12], octaves=[4.0, 3.0, 4.0], step=0.125, noise=0.01, repeats=3)
    n = drawn.working_set_bytes.size
    order = np.random.default_rng(2).permutation(n).astype(float) if taken_in == "random" else np.arange(n) // 3 + np.arange(n) % 3 * n / 3
    spell = (order > 0.3 * n) & (order < 0.5 * n)
    fit = fit_levels(Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s * np.where(spell, 0.65, 1.0), order))
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([8e12, 4e12, 1e12], rel=0.01)
    (finding,) = [f for f in fit.warnings if f.code == "slow_spell"]
    assert finding.value == pytest.approx(spell.sum(), rel=0.1)


def test_spell_across_the_end_of_a_level_is_neither_level_nor_boundary():
    drawn = step_curve([8e12, 2e12], octaves=[5.0, 5.0], step=0.1, noise=0.005)
    spell = (drawn.working_set_bytes > 2.0**18) & (drawn.working_set_bytes < 2.0**20)
    fit = fit_levels(Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s * np.where(spell, 0.7, 1.0)))
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([8e12, 2e12], rel=0.01)


def test_level_that_only_throttled_rows_show_keeps_its_place_with_a_flag():
    drawn = step_curve([8e12, 4e12, 1e12], octaves=[4.0, 3.0, 4.0], step=0.125, noise=0.005)
    hot = (drawn.working_set_bytes >= 2.0**18) & (drawn.working_set_bytes < 2.0**21.1)
    clock = np.where(hot, 1.2e9, 1.5e9)
    fit = fit_levels(Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s * clock / 1.5e9, None, clock))
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([8e12, 3.2e12, 1e12], rel=0.01)
    assert ["throttled" in level.flags for level in fit.levels] == [False, True, False]


def test_all_rows_throttled_gives_levels_with_a_flag_and_no_empty_table():
    drawn = step_curve([4e12, 1e12], octaves=[4.0, 4.0], step=0.125)
    everything = np.ones(drawn.working_set_bytes.size, dtype=bool)
    fit = fit_levels(Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s, throttled=everything))
    assert [level.flags for level in fit.levels] == [("throttled",), ("throttled",)]
    assert "all_throttled" in codes(fit)


FACTS = (CapacityFact("L1", 2**18), CapacityFact("L2", 2**23), CapacityFact("DRAM", None))


@example(192030)  # a slow spell that was one in only one of two orders
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_neither_the_order_of_rows_nor_facts_nor_units_change_the_levels(seed):
    drawn = draw_curve(seed)
    plain = fit_levels(curve_of(drawn))
    time_order = np.random.default_rng(seed).permutation(drawn.working_set_bytes.size)
    shuffled = Curve(drawn.working_set_bytes[time_order], drawn.bandwidth_bytes_per_s[time_order], time_order.astype(float))
    named = fit_levels(curve_of(drawn), FACTS)
    assert [level.value_bytes_per_s for level in named.levels] == [level.value_bytes_per_s for level in plain.levels]
    assert [level.ci95 for level in named.levels] == [level.ci95 for level in plain.levels]
    # Sums in another order differ in their last digits.
    others = fit_levels(shuffled).levels
    assert [level.value_bytes_per_s for level in others] == pytest.approx([level.value_bytes_per_s for level in plain.levels], rel=1e-9)
    scaled = fit_levels(Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s / 1e3))
    assert [1e3 * level.value_bytes_per_s for level in scaled.levels] == pytest.approx([level.value_bytes_per_s for level in plain.levels])


@settings(max_examples=40, deadline=None)
# Four sizes, each an outlier beside its neighbours.
@example([(1.0, 1e3), (3.3e10, 4.9e13), (5.3e10, 3.2e13), (2.8e11, 1e3)])
@given(st.lists(st.tuples(st.floats(1, 1e12), st.floats(1e3, 1e14)), min_size=2, max_size=40))
def test_any_rows_give_levels_that_hold_together(rows):
    size, rate = (np.array(column) for column in zip(*rows, strict=True))
    if np.unique(size).size < 2:
        size[0] *= 2
    fit = fit_levels(Curve(size, rate))
    for level in fit.levels:
        assert rate.min() * 0.999 <= level.value_bytes_per_s <= rate.max() * 1.001
        assert level.ci95[0] <= level.value_bytes_per_s <= level.ci95[1]
        assert level.working_set_bytes[0] <= level.working_set_bytes[1]
        assert level.points >= 4
    assert [level.value_bytes_per_s for level in fit.levels] == sorted((level.value_bytes_per_s for level in fit.levels), reverse=True)


@pytest.mark.parametrize(
    ("size", "rate", "message"),
    [
        ([1024.0], [1e9], "fewer than two sizes"),
        ([1024.0, 1024.0], [1e9, 1e9], "fewer than two sizes"),
        ([1024.0, 2048.0], [1e9], "differ in length"),
        ([1024.0, 0.0], [1e9, 1e9], r"working_set_bytes\[1\] is 0.0"),
        ([1024.0, 2048.0], [1e9, float("nan")], r"bandwidth_bytes_per_s\[1\] is nan"),
        ([1024.0, 2048.0], [float("inf"), 1e9], r"bandwidth_bytes_per_s\[0\] is inf"),
    ],
)
def test_arrays_that_are_no_curve_are_refused(size, rate, message):
    with pytest.raises(AnalysisError, match=message):
        fit_levels(Curve(np.array(size), np.array(rate)))


def test_three_sizes_are_too_few_for_a_level():
    fit = fit_levels(Curve(np.array([1e3, 2e3, 4e3]), np.array([1e9, 1e9, 1e9])))
    assert fit.levels == ()
    assert "too_few_sizes" in codes(fit)


def test_noise_free_flat_curve_is_one_level_with_an_interval_around_its_value():
    fit = fit_levels(Curve(2.0 ** np.arange(10, 24, 0.5), np.full(28, 3e11)))
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([3e11])
    assert fit.levels[0].ci95 == pytest.approx((3e11, 3e11))


@pytest.mark.parametrize(("rows", "limit_s"), [(200, 0.2), (100_000, 5.0)])
def test_a_curve_is_fitted_in_the_time_a_person_waits(rows, limit_s):
    octave = np.linspace(14, 32, rows)
    rate = np.where(octave < 18, 8e12, np.where(octave < 24, 4e12, 1e12)) * np.exp(0.01 * np.random.default_rng(3).standard_normal(rows))
    curve = Curve(2.0**octave, rate)
    fit_levels(curve)  # the first call imports and fills caches
    start = time.process_time()  # what else the machine does must not decide
    fit = fit_levels(curve)
    assert time.process_time() - start < limit_s
    assert [level.value_bytes_per_s for level in fit.levels] == pytest.approx([8e12, 4e12, 1e12], rel=0.01)
