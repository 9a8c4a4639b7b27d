"""What a roofline picture shows, in numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from make_ceilings import DATA, H200_LEVELS, H200_PEAKS, any_ceilings, make_ceilings

from ert.ceilings import Ceilings, load
from ert.ceilings.kinds import ComputeCeiling
from ert.chart import Chart, chart_of
from ert.errors import AnalysisError

CPU = load(DATA / "cpu.json")
SIMPLE = make_ceilings(
    {"L2": 5e12, "DRAM": 1e12}, {("fp32", "vector"): 100e12, ("fp64", "vector"): 50e12}, mixed=("fp32",), corner_exponent=4
)


def test_slopes_run_to_the_highest_line_and_flats_begin_at_the_steepest_slope():
    chart = chart_of(SIMPLE)
    assert [(s.level, s.x_end) for s in chart.slopes] == [("L2", 20), ("DRAM", 100)]
    assert [(f.precision, f.x_start) for f in chart.flats] == [("fp64", 10), ("fp32", 20)]


def test_every_level_meets_every_roof_at_a_ridge():
    ridges = {(r.level, r.precision): (r.ai_flop_per_byte, r.rate_flop_per_s) for r in chart_of(SIMPLE).ridges}
    assert ridges == {("L2", "fp32"): (20, 1e14), ("L2", "fp64"): (10, 5e13), ("DRAM", "fp32"): (100, 1e14), ("DRAM", "fp64"): (50, 5e13)}


@pytest.mark.parametrize(("peak", "label"), [(3.514e12, "3.51"), (1.2349e15, "1230"), (1.852e11, "0.185")])
def test_ridge_is_labelled_in_three_digits(peak: float, label: str):
    assert [r.label for r in chart_of(make_ceilings({"DRAM": 1e12}, {("fp8", "tensor"): peak})).ridges] == [label]


def test_one_series_per_level_and_precision_with_the_measured_numbers():
    chart = chart_of(CPU)
    assert [(s.level, s.precision) for s in chart.series] == [(lv, p) for lv in ("L1", "L2", "L3", "DRAM") for p in ("fp64", "fp32")]
    # fp64: 1 FLOP per 16 bytes up to 1024; the last DRAM point of the file: 34359738368 FLOP x 2^10 / 2^8 in its median time.
    assert chart.series[0].ai_flop_per_byte == tuple(2.0**k / 16 for k in range(11))
    p = next(p for p in CPU.points if p.id == "mixed-fp64-DRAM-256")
    assert chart.series[6].rate_flop_per_s[8] == p.flops / sorted(p.samples_s)[2]


def test_points_that_failed_or_have_no_place_on_the_axes_are_left_out():
    bad = [replace(p, status="error", reason="x") for p in SIMPLE.points[:3]] + [replace(p, flops=0) for p in SIMPLE.points[3:6]]
    chart = chart_of(replace(SIMPLE, points=(*bad, *SIMPLE.points[6:])))
    assert sum(len(s.ai_flop_per_byte) for s in chart.series) == len(SIMPLE.points) - 6


def assert_axes_contain_everything(chart: Chart) -> None:
    xs = [r.ai_flop_per_byte for r in chart.ridges] + [x for s in chart.series for x in s.ai_flop_per_byte]
    ys = [f.rate_flop_per_s for f in chart.flats] + [y for s in chart.series for y in s.rate_flop_per_s]
    ys += [s.bandwidth_bytes_per_s * x for s in chart.slopes for x in (chart.x[0], s.x_end)]
    assert all(chart.x[0] < x < chart.x[1] for x in xs)
    assert all(chart.y[0] < y < chart.y[1] for y in ys)
    assert all(chart.x[0] <= f.x_start < chart.x[1] for f in chart.flats)
    assert all(chart.x[0] < s.x_end <= chart.x[1] for s in chart.slopes)


@settings(max_examples=100, deadline=None)
@given(any_ceilings(min_compute=0))
def test_axes_contain_every_ridge_point_and_roof(c: Ceilings):
    assert_axes_contain_everything(chart_of(c))


def test_points_far_from_any_ridge_stretch_the_axes():
    far = replace(SIMPLE.points[0], id="far", flops=1, bytes=10**6, samples_s=(1.0,))
    chart = chart_of(replace(SIMPLE, points=(far,)))
    assert_axes_contain_everything(chart)
    assert chart.x[0] < 1e-6


def test_point_above_the_roof_stays_in_the_picture():
    above = replace(SIMPLE.points[0], id="above", flops=10**15, bytes=10**9, samples_s=(0.1,))
    assert_axes_contain_everything(chart_of(replace(SIMPLE, points=(above,))))


def test_rounded_corner_is_drawn_where_it_leaves_the_ideal_roof():
    curve = next(c for c in chart_of(SIMPLE, rounded=True).curves if (c.level, c.precision) == ("DRAM", "fp32"))
    ideal = np.minimum(1e12 * curve.ai_flop_per_byte, 1e14)
    assert (curve.rate_flop_per_s < 0.99 * ideal).all()
    # At the ridge the p-norm is the fourth root of two below.
    assert (curve.rate_flop_per_s / ideal).min() == pytest.approx(2**-0.25, rel=1e-2)
    assert curve.ai_flop_per_byte[0] < 100 < curve.ai_flop_per_byte[-1]


def test_other_operations_are_lines_of_their_own():
    flats = {(f.precision, f.op): f.is_roof for f in chart_of(CPU).flats}
    assert flats["fp64", "fma"] is True
    assert flats["fp64", "fma+add"] is False


def test_with_many_lines_only_roofs_are_drawn_and_slopes_end_at_them():
    c = make_ceilings({"DRAM": 1e12}, {key: rate * 1e12 for key, rate in H200_PEAKS.items()})
    extra = tuple(
        ComputeCeiling(precision=p, path="vector", op="add", value=5e15, ci95=None, roof=False, kernel="add")
        for p in ("fp64", "fp32", "fp16", "bf16")
    )
    chart = chart_of(replace(c, compute_ceilings=c.compute_ceilings + extra))
    assert len(chart.flats) == len(H200_PEAKS)
    assert chart.slopes[0].x_end == pytest.approx(1580)


def test_levels_alone_and_roofs_alone_are_drawn_from_edge_to_edge():
    levels = chart_of(make_ceilings({name: v * 1e12 for name, v in H200_LEVELS.items()}, {}))
    assert {s.x_end for s in levels.slopes} == {levels.x[1]}
    roofs = chart_of(make_ceilings({}, {("fp64", "vector"): 1e12}))
    assert roofs.flats[0].x_start == roofs.x[0]


def test_nothing_to_draw_is_explained():
    with pytest.raises(AnalysisError, match="no ceilings to draw"):
        chart_of(make_ceilings({}, {}))


def test_rounded_without_a_fitted_corner_is_explained():
    with pytest.raises(AnalysisError, match="no fitted corner"):
        chart_of(make_ceilings({"DRAM": 1e12}, {("fp64", "vector"): 1e12}), rounded=True)
