"""The rounded corner: planted parameters come back, intervals cover them, and contradictions with direct ceilings are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.errors import AnalysisError
from ert.fit.corner import LARGEST_EXPONENT, check_corner, fit_corner

pytestmark = pytest.mark.filterwarnings("error")

BANDWIDTH, PEAK, BYTES = 4e10, 1.3e11, 8.0
FLOPS = 2.0 ** np.arange(11)


def time_s(exponent, flops=FLOPS):
    memory, compute = BYTES / BANDWIDTH, flops / PEAK
    if exponent == np.inf:
        return np.maximum(memory, compute)
    return (memory**exponent + compute**exponent) ** (1 / exponent)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.0, 8.0])
def test_noise_free_sweep_gives_back_what_was_planted(exponent):
    corner = fit_corner(FLOPS, time_s(exponent), BYTES)
    assert corner.bandwidth_bytes_per_s == pytest.approx(BANDWIDTH, rel=1e-3)
    assert corner.peak_flop_per_s == pytest.approx(PEAK, rel=1e-3)
    assert corner.exponent == pytest.approx(exponent, rel=0.01)
    assert corner.exponent_ci95[1] < LARGEST_EXPONENT


def test_interval_of_an_ideal_corner_ends_at_the_largest_exponent():
    corner = fit_corner(FLOPS, time_s(np.inf) * np.exp(0.003 * np.random.default_rng(1).standard_normal(FLOPS.size)), BYTES)
    assert corner.exponent_ci95[1] == pytest.approx(LARGEST_EXPONENT)


@pytest.mark.parametrize(("exponent", "noise", "samples"), [(2.0, 0.01, 1), (4.0, 0.01, 5)])
def test_intervals_cover_the_planted_values(exponent, noise, samples):
    rng = np.random.default_rng(2)
    flops, times = np.repeat(FLOPS, samples), np.repeat(time_s(exponent), samples)
    hits = np.zeros(3)
    for _ in range(80):
        corner = fit_corner(flops, times * np.exp(noise * rng.standard_normal(times.size)), BYTES)
        for k, (low, high), true in (
            (0, corner.bandwidth_ci95, BANDWIDTH),
            (1, corner.peak_ci95, PEAK),
            (2, corner.exponent_ci95, exponent),
        ):
            hits[k] += low <= true <= high
    # Three standard errors of 0.95 over 80 draws are 0.07.
    assert (hits / 80 >= 0.88).all(), hits / 80


def test_one_stalled_count_does_not_bend_the_roof():
    times = time_s(3.0) * np.exp(0.002 * np.random.default_rng(3).standard_normal(FLOPS.size))
    times[4] *= 1.5
    corner = fit_corner(FLOPS, times, BYTES)
    assert corner.bandwidth_bytes_per_s == pytest.approx(BANDWIDTH, rel=0.01)
    assert corner.peak_flop_per_s == pytest.approx(PEAK, rel=0.01)


@settings(max_examples=10, deadline=None)
@given(st.floats(1.2, 6.0), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_and_order_do_not_matter(exponent, unit_of_time, unit_of_bytes):
    plain = fit_corner(FLOPS, time_s(exponent), BYTES)
    other = fit_corner(FLOPS[::-1], time_s(exponent)[::-1] * unit_of_time, BYTES * unit_of_bytes)
    assert other.exponent == pytest.approx(plain.exponent, rel=1e-2)
    assert other.bandwidth_bytes_per_s == pytest.approx(plain.bandwidth_bytes_per_s * unit_of_bytes / unit_of_time, rel=1e-3)


def test_bytes_may_differ_from_count_to_count():
    size = np.where(FLOPS < 100, 8.0, 16.0)
    times = (size / BANDWIDTH) ** 3 + (FLOPS / PEAK) ** 3
    corner = fit_corner(FLOPS, times ** (1 / 3), size)
    assert corner.bandwidth_bytes_per_s == pytest.approx(BANDWIDTH, rel=1e-3)


@pytest.mark.parametrize(
    ("flops", "time_per_element", "message"),
    [
        (FLOPS[:3], time_s(2.0)[:3], "3 FLOP counts are too few"),
        (FLOPS[:4] / 64, time_s(2.0, FLOPS[:4] / 64), "0 above the ridge|1 above the ridge"),
        (FLOPS[6:], time_s(2.0, FLOPS[6:]), "below and"),
        (FLOPS, np.where(FLOPS == 4, 0.0, time_s(2.0)), "time_per_element_s must be positive"),
        (FLOPS, time_s(2.0)[:-1], "time_per_element_s differs in length"),
        (np.append(FLOPS[:-1], np.nan), time_s(2.0), "flops_per_element must be positive"),
    ],
)
def test_sweep_that_leaves_a_roof_open_is_refused(flops, time_per_element, message):
    with pytest.raises(AnalysisError, match=message):
        fit_corner(flops, time_per_element, BYTES)


def test_agreement_with_the_direct_ceilings_is_silent_and_disagreement_has_both_numbers():
    corner = fit_corner(FLOPS, time_s(3.0) * np.exp(0.002 * np.random.default_rng(4).standard_normal(FLOPS.size)), BYTES)
    agreeing = check_corner(corner, (BANDWIDTH, (0.99 * BANDWIDTH, 1.01 * BANDWIDTH)), (PEAK, None), "DRAM, fp32 vector")
    assert [f.code for f in agreeing if f.code == "corner_bandwidth_disagrees"] == []
    (finding,) = check_corner(corner, (2 * BANDWIDTH, (1.9 * BANDWIDTH, 2.1 * BANDWIDTH)), (PEAK, (0.9 * PEAK, 1.1 * PEAK)), "DRAM, fp32")
    assert finding.code == "corner_bandwidth_disagrees"
    assert "DRAM, fp32" in finding.message
    assert "80 GB/s" in finding.message
    assert finding.value == pytest.approx(0.5, rel=0.01)
