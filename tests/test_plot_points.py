"""Kernels on the picture: every point inside the axes, labels that touch nothing, what is not named is counted."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from example_gpu import EXAMPLE_GPU
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from ert.ceilings import save
from ert.chart import chart_of
from ert.compare import compare
from ert.figure import draw_roofline
from ert.figure_points import marker_size
from ert.plot import save_roofline
from ert.plot_points import MOST_LABELS, PlotKernels, plot_kernels
from ert.points.ceilings import load_ceilings
from ert.points.formats import read_points
from ert.points.model import KernelPoint, Origin, Reading

ORIGIN = Origin("app.csv", 1)
NERSC = str(Path(__file__).parent / "data" / "foreign" / "nersc.txt")


def kernel(name: str = "k", time_s: float = 1e-3, flops: float = 1e9, label: str | None = None, **levels: float | None) -> KernelPoint:
    return KernelPoint(name, time_s, {"fp32": flops} if flops else {}, levels, ORIGIN, label=label)


def plotted(*points: KernelPoint) -> PlotKernels:
    return plot_kernels(compare(EXAMPLE_GPU, [Reading("csv", "app.csv", points)]))


def many(count: int) -> list[KernelPoint]:
    draw = random.Random(count)
    found = []
    for i in range(count):
        ai, time_s = 10 ** draw.uniform(-2, 2.5), 10 ** draw.gauss(-4, 1)
        flops = min(20e12, 2e12 * ai) * draw.uniform(0.1, 1) * time_s
        found.append(kernel(f"kernel_{i}", time_s, flops, DRAM=flops / ai, L2=2 * flops / ai, L1=5 * flops / ai))
    return found


def label_boxes(figure: Figure, names: set[str | None]) -> list[tuple[float, float, float, float]]:
    figure.canvas.draw()
    return [t.get_window_extent().extents for t in figure.texts if t.get_text() in names]


def test_one_place_per_level_fast_to_slow():
    found = plotted(kernel(DRAM=1e9, L1=4e9, L2=2e9))
    assert [(p.level, p.ai_flop_per_byte, p.rate_flop_per_s) for p in found.kernels[0].places] == [
        ("L1", 0.25, 1e12),
        ("L2", 0.5, 1e12),
        ("DRAM", 1.0, 1e12),
    ]
    assert found.kernels[0].anchor.level == "DRAM"


def test_kernels_without_flops_or_traffic_are_counted_not_drawn():
    found = plotted(kernel("copy", flops=0, DRAM=1e9), kernel("resident", DRAM=0.0, L2=1e9), kernel("cpu", DRAM=0.0))
    assert [k.label for k in found.kernels] == ["resident"]
    assert [p.level for p in found.kernels[0].places] == ["L2"]
    assert found.captions == ("2 without known FLOPs or traffic at a level with a roof: not on this chart.",)


def test_only_copies_leave_a_chart_with_roofs_and_a_message(tmp_path: Path):
    found = plotted(kernel("copy", flops=0, DRAM=1e9))
    assert found.kernels == ()
    save_roofline(EXAMPLE_GPU, tmp_path / "roofs.svg", kernels=found)
    assert "not on this chart" in (tmp_path / "roofs.svg").read_text()


def test_the_longest_are_named_and_the_rest_is_counted():
    found = plotted(*many(500))
    assert sum(k.label is not None for k in found.kernels) == MOST_LABELS
    longest = sorted(found.kernels, key=lambda k: -k.time_share)[:MOST_LABELS]
    assert all(k.label for k in longest)
    assert "488 of 500 kernels have no label" in found.captions[0]


def test_marker_area_grows_with_the_share_of_time():
    smallest, half, largest = (marker_size(share) ** 2 for share in (0.0, 0.5, 1.0))
    assert half == pytest.approx((smallest + largest) / 2, rel=0.1)


def test_versions_of_a_kernel_are_joined_by_arrows():
    found = plotted(
        kernel("gemm", 4e-3, label="naive", DRAM=1e9), kernel("copy", flops=0, DRAM=1.0), kernel("gemm", 2e-3, label="tiled", DRAM=5e8)
    )
    assert found.arrows == ((0, 1),)
    assert [k.label for k in found.kernels] == ["gemm [naive]", "gemm [tiled]"]


@given(st.lists(st.tuples(st.floats(1e-6, 1e7), st.floats(1e3, 1e15)), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_axes_contain_every_point_and_every_ridge(places):
    found = plotted(*(kernel(f"k{i}", 1.0, rate, DRAM=rate / ai) for i, (ai, rate) in enumerate(places)))
    chart = chart_of(EXAMPLE_GPU, series=found.series)
    drawn = [(ai, rate) for s in chart.series for ai, rate in zip(s.ai_flop_per_byte, s.rate_flop_per_s, strict=True)]
    assert len(drawn) == len(found.kernels)
    drawn += [(r.ai_flop_per_byte, r.rate_flop_per_s) for r in chart.ridges]
    assert all(chart.x[0] < ai < chart.x[1] and chart.y[0] < rate < chart.y[1] for ai, rate in drawn)
    assert max(s.x_end * s.bandwidth_bytes_per_s for s in chart.slopes) == pytest.approx(300e12)


@pytest.mark.parametrize("count", [3, 12, 500])
def test_labels_touch_no_other_label_and_stay_on_the_picture(count):
    found = plotted(*many(count))
    figure = draw_roofline(EXAMPLE_GPU, kernels=found)
    labels = [str(k.label) for k in sorted(found.kernels, key=lambda k: -k.time_share) if k.label]
    if count > MOST_LABELS:
        # Crowded: numbers by the markers, the longest first, and a key to them.
        labels = [text for number, label in enumerate(labels, 1) for text in (str(number), f"{number}  {label}")]
    boxes = label_boxes(figure, set(labels))
    assert len(boxes) == len(labels)
    for (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) in combinations(boxes, 2):
        assert ax1 <= bx0 or bx1 <= ax0 or ay1 <= by0 or by1 <= ay0
    for x0, y0, x1, y1 in boxes:
        assert x0 >= 0 and y0 >= 0 and x1 <= figure.bbox.width and y1 <= figure.bbox.height


def test_hostile_names_are_text_not_markup():
    names = ["<script>alert(1)</script>", "a$b$_{c}", "x\ny", "k" * 4000, r"\frac{"]
    figure = draw_roofline(EXAMPLE_GPU, kernels=plotted(*(kernel(name, DRAM=1e8 * (i + 1)) for i, name in enumerate(names))))
    figure.canvas.draw()
    assert all(len(t.get_text()) < 120 for t in figure.texts)


def test_points_far_off_the_default_axes_with_labels_that_hold_commas():
    ceilings, reading = load_ceilings(NERSC), read_points(NERSC)
    found = plot_kernels(compare(ceilings, [reading]))
    assert [k.label for k in found.kernels] == ["tiny, nw=1", "mid", "big"]
    assert sum(len(k.places) for k in found.kernels) == 9
    chart = chart_of(ceilings, series=found.series)
    assert chart.x[0] < 2.5e-4 and chart.x[1] > 500
    figure = draw_roofline(ceilings, kernels=found)
    assert len(label_boxes(figure, {"tiny, nw=1", "mid", "big"})) == 3


def test_plot_command_draws_points_and_counts_what_is_missing(tmp_path: Path):
    save(EXAMPLE_GPU, tmp_path / "gpu.json")
    (tmp_path / "p.csv").write_text("name,time_s,precision,flops,dram_bytes\na,1e-3,fp32,1e9,1e9\ncopy,1e-3,none,0,1e9\nlost,,fp32,1,1\n")
    program = Path(sys.executable).with_name("ert")
    for suffix in ("png", "svg", "pdf"):
        done = subprocess.run(
            [program, "plot", "gpu.json", "p.csv", "-o", f"p.{suffix}"], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert (done.returncode, done.stdout) == (0, "")
        assert "with 1 of 2 kernels" in done.stderr and "lost" in done.stderr
        assert "1 without known FLOPs or traffic at a level with a roof: not on this chart." in done.stderr
        assert (tmp_path / f"p.{suffix}").stat().st_size > 5000
