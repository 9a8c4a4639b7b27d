"""The roofline as a picture: labels keep clear of each other, of points and of the frame; files are whole and the same every time."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from make_ceilings import DATA, H200_LEVELS, H200_PEAKS, any_ceilings, make_ceilings
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from ert.ceilings import Ceilings, load
from ert.errors import AnalysisError, ConfigError, ErtError
from ert.figure import draw_roofline
from ert.label_boxes import Box, Boxes
from ert.plot import FORMATS, plot_format, render_roofline, save_roofline

CPU = load(DATA / "cpu.json")
GPU = make_ceilings(
    {k: v * 1e12 for k, v in H200_LEVELS.items()}, {k: v * 1e12 for k, v in H200_PEAKS.items()}, mixed=("fp64", "fp32"), corner_exponent=6
)
# Five levels 8 % apart, whose slopes leave no room for a label between them.
CLOSE = make_ceilings(
    {"shared": 1.36e12, "L1": 1.26e12, "L2": 1.166e12, "L3": 1.08e12, "DRAM": 1e12},
    {("fp64", "vector"): 33e12, ("fp32", "vector"): 66e12},
    mixed=("fp64", "fp32"),
)
# Twelve roofs within a few percent, whose labels want the same place.
STACKED = make_ceilings(
    {"DRAM": 1e12}, {(p, path): 1e14 * (1 + i / 300) for i, (p, path) in enumerate([*H200_PEAKS, ("fp8", "vector")])}, mixed=("fp64",)
)
# A label of the lower slope fits between it and the next one, but stands nearer to that: above the lower line, then below the upper one.
NARROW = [
    make_ceilings({"L2": 1.795e9, "L3": 1.08e9, "DRAM": 1e9}, {}),
    make_ceilings({"L2": 8.009e12, "L3": 4.819e12, "DRAM": 4.462e12}, {}),
    make_ceilings({"shared": 6.019e15, "L1": 2.435e15, "L2": 2.075e14, "L3": 1.338e13, "DRAM": 1e12}, {}),
    make_ceilings({"L1": 5.651e14, "L2": 7.101e13, "L3": 5.74e12, "DRAM": 3.827e12}, {("int16", "tensor"): 3.72e14}),
    make_ceilings(
        {"shared": 8.678e10, "L1": 8.678e9, "L2": 7.889e9, "L3": 4e9, "DRAM": 1e9},
        {("int32", "vector"): 1.93e12, ("tf32", "vector"): 4.08e10},
        mixed=("tf32",),
    ),
]


def labels(figure: Figure) -> list[Text]:
    """Every text of the picture that is drawn."""
    axes = figure.axes[0]
    ticks = [
        tick.label1
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high
    ]
    return [*figure.texts, *ticks, axes.xaxis.label, axes.yaxis.label]


def extents(figure: Figure) -> list[tuple[str, Bbox]]:
    """What the renderer says each text covers; the legend is one."""
    figure.draw_without_rendering()
    found = [(text.get_text(), text.get_window_extent()) for text in labels(figure)]
    return found + [("legend", legend.get_window_extent()) for legend in figure.legends]


def turned_box(text: Text) -> Box:
    """The box of a text that is drawn turned about its centre."""
    angle = text.get_rotation()
    text.set_rotation(0)
    extent = text.get_window_extent()
    text.set_rotation(angle)
    return Box((extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2, extent.width, extent.height, math.radians(angle))


def assert_labels_keep_clear(figure: Figure) -> None:
    found = extents(figure)
    page = Bbox.from_bounds(0, 0, figure.bbox.width, figure.bbox.height)
    for text, extent in found:
        assert page.x0 <= extent.x0 and page.y0 <= extent.y0 and extent.x1 <= page.x1 and extent.y1 <= page.y1, f"'{text}' leaves the page"
    for (text, a), (other, b) in combinations(found, 2):
        apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
        assert apart, f"'{text}' meets '{other}'"


def inner_texts(figure: Figure) -> list[Text]:
    """Texts inside the frame: labels of slopes and ridges."""
    frame = figure.axes[0].get_window_extent()
    return [t for t in figure.texts if frame.contains((box := turned_box(t)).x, box.y)]


def assert_labels_leave_points_and_frame_free(figure: Figure) -> None:
    axes = figure.axes[0]
    frame = axes.get_window_extent()
    markers = [
        (axes.transData.transform(line.get_xydata()), line.get_markersize() * 100 / 72 / 2)
        for line in axes.lines
        if line.get_marker() != "None"
    ]
    for text in inner_texts(figure):
        box = turned_box(text)
        left, bottom, right, top = box.bounds()
        is_inside = frame.x0 <= left and frame.y0 <= bottom and right <= frame.x1 and top <= frame.y1
        assert is_inside, f"'{text.get_text()}' crosses the frame"
        for places, radius in markers:
            # Half the marker: discs and diamonds do not fill their square.
            assert Boxes.of(box).count_points(places, radius / 2) == 0, f"'{text.get_text()}' covers a point"


def assert_slope_labels_name_their_own_line(figure: Figure, c: Ceilings) -> None:
    """A turned label lies nearer to its own slope than to any other; a level one has a dot on its slope."""
    axes = figure.axes[0]
    dots = [line.get_xydata()[0] * (figure.bbox.width, figure.bbox.height) for line in figure.artists if line.get_marker() == "o"]
    bandwidths = {level: roof.value for level, roof in c.bandwidth_roofs.items()}
    for level, value in bandwidths.items():
        (text,) = [t for t in figure.texts if t.get_text().startswith(f"{level} read ")]
        if text.get_rotation() == 0:
            on_line = [math.log10(y / x / value) for x, y in (axes.transData.inverted().transform(dot) for dot in dots)]
            assert min(map(abs, on_line), default=math.inf) < 1e-6, f"'{text.get_text()}' has no leader to its line"
        else:
            box = turned_box(text)
            x, y = axes.transData.inverted().transform((box.x, box.y))
            nearest = min(bandwidths, key=lambda name: abs(math.log10(y / x / bandwidths[name])))
            assert nearest == level, f"'{text.get_text()}' stands beside {nearest}"


def with_narrow_strips(test: Callable[[Ceilings], None]) -> Callable[[Ceilings], None]:
    for c in NARROW:
        test = example(c)(test)
    return test


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_ceilings(min_compute=0))
@example(GPU)
@example(CLOSE)
@example(STACKED)
@with_narrow_strips
def test_labels_keep_clear_of_each_other_the_points_and_the_frame(c: Ceilings):
    figure = draw_roofline(c)
    assert_labels_keep_clear(figure)
    assert_labels_leave_points_and_frame_free(figure)
    assert_slope_labels_name_their_own_line(figure, c)


@pytest.mark.parametrize("c", [CPU, GPU], ids=["cpu", "gpu"])
def test_rounded_corners_leave_the_labels_clear_too(c: Ceilings):
    figure = draw_roofline(c, rounded=True)
    assert_labels_keep_clear(figure)
    assert_labels_leave_points_and_frame_free(figure)


def test_picture_names_every_level_every_roof_and_where_it_comes_from():
    texts = [t.get_text() for t in draw_roofline(CPU).texts]
    for expected in [
        "L1 triad  1.44 TB/s",
        "DRAM read  76.2 GB/s",
        "fp64  267 GFLOP/s",
        "fp64 fma+add  399 GFLOP/s",
        "int8  2.14 TOP/s",
        "AMD EPYC 9575F 64-Core Processor (cpu)",
        "4.2 GHz, 2 threads, 2026-12-01 02:00 UTC, ert 0.1.0 (4dc828e1)",
        "3.51",
    ]:
        assert expected in texts
    assert "fp16 tensor  804 TFLOP/s" in [t.get_text() for t in draw_roofline(GPU).texts]


def test_axes_carry_decimal_units():
    for c, unit, tick in ((CPU, "rate (GFLOP/s)", "1000"), (GPU, "rate (TFLOP/s)", "100")):
        axes = draw_roofline(c).axes[0]
        assert axes.get_ylabel() == unit
        assert axes.get_xlabel() == "arithmetic intensity (FLOP/byte)"
        assert tick in [label.get_text() for label in axes.get_yticklabels()]


def test_levels_and_precisions_differ_without_colour():
    axes = draw_roofline(GPU).axes[0]
    slopes = [line for line in axes.lines if line.get_color() == "#222222" and line.get_marker() == "None"]
    assert len({str(line._unscaled_dash_pattern) for line in slopes}) == len(H200_LEVELS)
    series = [
        line
        for line in axes.lines
        if line.get_marker() != "None" and line.get_fillstyle() in {"full", "none"} and len(line.get_xdata()) == 11
    ]
    assert len({(line.get_marker(), line.get_fillstyle()) for line in series}) == len(series) == 8


def test_roof_reaches_the_right_edge_and_slopes_the_left_one():
    axes = draw_roofline(GPU).axes[0]
    (low, high), lines = axes.get_xlim(), [line for line in axes.lines if line.get_marker() == "None"]
    flats = [line for line in lines if np.ptp(line.get_ydata()) == 0]
    assert len(flats) == len(H200_PEAKS)
    assert all(line.get_xdata()[1] == high for line in flats)
    assert all(line.get_xdata()[0] == low for line in lines if line not in flats)


def test_long_name_ends_in_dots_and_stays_on_the_page():
    figure = draw_roofline(replace(CPU, device={**CPU.device, "name": "Very long name " * 20}))
    assert_labels_keep_clear(figure)
    assert any(t.get_text().endswith("...") for t in figure.texts)


@pytest.mark.parametrize("name", ["50 $ off $ chip_1^2", "\\frac{1}{2}", "处理器", "a\nb"])
def test_name_is_text_whatever_it_holds(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert render_roofline(replace(CPU, device={**CPU.device, "name": name}), "png")


@pytest.mark.parametrize("suffix", FORMATS)
def test_picture_is_of_its_kind_and_the_same_every_time(tmp_path: Path, suffix: str):
    one, two = tmp_path / f"one.{suffix}", tmp_path / "new folder" / f"two.{suffix}"
    save_roofline(CPU, one)
    save_roofline(CPU, two)
    assert one.read_bytes() == two.read_bytes()
    if suffix == "png":
        with Image.open(one) as image:
            assert image.size == (1680, 1040)
    elif suffix == "svg":
        assert ElementTree.parse(one).getroot().tag.endswith("svg")
    else:
        assert one.read_bytes().startswith(b"%PDF-")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_suffix_decides_the_format_whatever_its_case():
    assert [plot_format(f"a.b/c.{suffix}") for suffix in ("png", "SVG", "Pdf")] == ["png", "svg", "pdf"]


@pytest.mark.parametrize("name", ["x.htm", "x.jpg", "x", "png"])
def test_other_suffixes_are_refused_naming_the_known_ones(name: str):
    with pytest.raises(ConfigError, match=r"Known: \.png, \.svg, \.pdf, \.html\."):
        plot_format(name)


def test_picture_that_cannot_be_written_is_explained(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ErtError, match=r"file/x\.png: cannot be written"):
        save_roofline(CPU, tmp_path / "file" / "x.png")


def test_old_picture_survives_when_there_is_nothing_to_draw(tmp_path: Path):
    path = tmp_path / "x.png"
    path.write_bytes(b"old")
    with pytest.raises(AnalysisError):
        save_roofline(make_ceilings({}, {}), path)
    assert path.read_bytes() == b"old"


def test_drawing_leaves_the_callers_matplotlib_settings_alone():
    code = (
        "import sys, matplotlib as mpl; mpl.rcParams['font.size'] = 33;"
        f"from ert.ceilings import load; from ert.plot import render_roofline; render_roofline(load({str(DATA / 'cpu.json')!r}), 'svg');"
        "assert 'matplotlib.pyplot' not in sys.modules; assert mpl.rcParams['font.size'] == 33"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
