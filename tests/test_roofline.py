"""The model, against the worked example: P_peak 100 TFLOP/s, B 1 TB/s, F = 1e10 FLOP, D = 1e9 B."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import AnalysisError
from ert.roofline import attainable, bound, ridge

PEAK, BANDWIDTH = 100e12, 1e12
RATES = st.floats(1e6, 1e18)


@pytest.mark.parametrize(("ai", "tflop_per_s"), [(1, 1), (10, 10), (100, 100), (200, 100), (1000, 100)])
def test_roof_of_the_worked_example(ai: float, tflop_per_s: float):
    assert attainable(ai, BANDWIDTH, PEAK) == tflop_per_s * 1e12


def test_ridge_of_the_worked_example():
    assert ridge(BANDWIDTH, PEAK) == 100


def test_times_of_the_worked_example():
    found = bound(1e10, {"DRAM": 1e9}, {"DRAM": BANDWIDTH}, PEAK)
    assert (found.kind, found.level) == ("bandwidth", "DRAM")
    assert found.time_floor_s == pytest.approx(1e-3, rel=1e-12)  # t_memory; t_compute is 0.1 ms
    assert found.margin == pytest.approx(10, rel=1e-12)
    assert found.attainable_flop_per_s == pytest.approx(10e12, rel=1e-12)
    measured = 1e10 / 2e-3
    assert measured == 5e12
    assert measured / found.attainable_flop_per_s == pytest.approx(0.50, rel=1e-12)
    assert measured / PEAK == pytest.approx(0.05, rel=1e-12)


def test_at_intensity_200_the_peak_needs_half_a_terabyte_per_second():
    assert attainable(200, 0.5e12, PEAK) == PEAK
    assert attainable(200, 0.4999e12, PEAK) < PEAK


def test_array_of_intensities_gives_array_of_rates():
    np.testing.assert_array_equal(attainable(np.array([1.0, 10, 100, 200, 1000]), BANDWIDTH, PEAK), np.array([1, 10, 100, 100, 100]) * 1e12)


def test_vector_add_and_axpy_sit_where_their_bytes_put_them():
    assert attainable(1 / 12, BANDWIDTH, PEAK) == pytest.approx(0.083e12, rel=5e-3)
    assert attainable(2 / 12, BANDWIDTH, PEAK) == pytest.approx(0.167e12, rel=5e-3)


@pytest.mark.parametrize(("m", "ai"), [(1, 1.0), (128, 120.5)])
def test_gemm_with_few_rows_is_bound_by_its_weights(m: int, ai: float):
    k = n = 4096
    flops, amount = 2 * m * k * n, 2 * (m * k + k * n + m * n)
    assert flops / amount == pytest.approx(ai, rel=1e-3)
    expected = "bandwidth" if ai < 100 else "compute"
    assert bound(flops, {"DRAM": amount}, {"DRAM": BANDWIDTH}, PEAK).kind == expected


def test_rounded_corner_at_the_ridge_is_the_pth_root_of_two_below():
    assert attainable(100, BANDWIDTH, PEAK, exponent=1) == pytest.approx(PEAK / 2, rel=1e-12)
    assert attainable(100, BANDWIDTH, PEAK, exponent=4) == pytest.approx(PEAK / 2**0.25, rel=1e-12)


def test_rounded_roof_is_the_p_norm_of_the_two_times():
    by_hand = 1 / ((1 / (BANDWIDTH * 30)) ** 3 + (1 / PEAK) ** 3) ** (1 / 3)
    assert attainable(30, BANDWIDTH, PEAK, exponent=3) == pytest.approx(by_hand, rel=1e-12)


@given(ai=st.floats(1e-9, 1e9), bandwidth=RATES, peak=RATES, exponent=st.floats(1, 1e4))
def test_rounded_roof_lies_between_half_and_all_of_the_ideal_one(ai: float, bandwidth: float, peak: float, exponent: float):
    ideal = attainable(ai, bandwidth, peak)
    rounded = attainable(ai, bandwidth, peak, exponent=exponent)
    assert ideal / 2 * (1 - 1e-12) <= rounded <= ideal * (1 + 1e-12)
    assert math.isfinite(rounded)


@given(ai=st.floats(1e-6, 1e6), bandwidth=RATES, peak=RATES)
def test_large_exponent_is_the_ideal_corner(ai: float, bandwidth: float, peak: float):
    assert attainable(ai, bandwidth, peak, exponent=1e6) == pytest.approx(attainable(ai, bandwidth, peak), rel=1e-5)


@given(a=st.floats(1e-6, 1e6), b=st.floats(1e-6, 1e6), exponent=st.none() | st.floats(1, 50))
def test_roof_never_falls_with_intensity(a: float, b: float, exponent: float | None):
    low, high = sorted((a, b))
    assert attainable(low, BANDWIDTH, PEAK, exponent=exponent) <= attainable(high, BANDWIDTH, PEAK, exponent=exponent) * (1 + 1e-12)


@pytest.mark.parametrize("ai", [0.0, -1.0, math.nan])
def test_intensity_that_is_not_positive_is_refused(ai: float):
    with pytest.raises(AnalysisError, match="above 0 FLOP/byte"):
        attainable(ai, BANDWIDTH, PEAK)


def test_exponent_below_one_is_refused():
    with pytest.raises(AnalysisError, match="below 1"):
        attainable(1, BANDWIDTH, PEAK, exponent=0.5)


def test_work_at_the_ridge_is_compute_bound_with_margin_one():
    found = bound(10e12, {"DRAM": 2e12}, {"DRAM": 2e12}, 10e12)
    assert (found.kind, found.margin, found.attainable_flop_per_s) == ("compute", 1, 10e12)


def test_slowest_level_binds_in_the_hierarchy():
    found = bound(1e9, {"L1": 8e9, "L2": 4e9, "DRAM": 1e8}, {"L1": 1e12, "L2": 4e11, "DRAM": 1e11}, 1e12)
    assert (found.kind, found.level, found.time_floor_s) == ("bandwidth", "L2", 1e-2)


def test_small_work_is_bound_by_its_launch():
    found = bound(1e3, {"DRAM": 1e3}, {"DRAM": BANDWIDTH}, PEAK, launch_s=5e-6)
    assert (found.kind, found.level, found.time_floor_s) == ("latency", None, 5e-6)
    assert found.attainable_flop_per_s == pytest.approx(2e8)


def test_copy_has_a_time_floor_and_no_rate():
    found = bound(0, {"DRAM": 2e9}, {"DRAM": 2e12}, None)
    assert (found.kind, found.time_floor_s, found.attainable_flop_per_s, found.margin) == ("bandwidth", 1e-3, None, None)


def test_work_that_never_touches_a_level_is_not_bound_by_it():
    assert bound(1e12, {"DRAM": 0, "L2": 1e9}, {"DRAM": 1e9, "L2": 1e12}, 1e12).kind == "compute"


@pytest.mark.parametrize(
    ("flops", "amounts", "peak", "message"),
    [
        (1, {"L9": 1}, 1.0, "level 'L9' has no roof. Known: DRAM"),
        (1, {"DRAM": 1}, None, "flat roof of its precision"),
        (-1, {"DRAM": 1}, 1.0, "negative"),
        (1, {"DRAM": -1}, 1.0, "negative"),
        (0, {}, None, "no bound"),
    ],
)
def test_work_that_cannot_be_judged_is_refused(flops: float, amounts: dict[str, float], peak: float | None, message: str):
    with pytest.raises(AnalysisError, match=message):
        bound(flops, amounts, {"DRAM": 1.0}, peak)
