"""The roof in a terminal: read back as rows and columns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from make_ceilings import DATA, any_ceilings, make_ceilings

from ert.ceilings import load
from ert.errors import AnalysisError
from ert.terminal_plot import LEAST_WIDTH, terminal_roofline

# DRAM 1 TB/s and fp64 10 TFLOP/s: the ridge is at 10 FLOP/byte.
SIMPLE = make_ceilings({"DRAM": 1e12}, {("fp64", "vector"): 10e12})


def rows(ceilings=SIMPLE, width=100, height=24, **options):
    return terminal_roofline(ceilings, width, height, **options).plain.splitlines()


def columns_of(line, character):
    return [i for i, c in enumerate(line) if c == character]


def test_the_slope_rises_to_the_flat_roof_and_stops_there():
    drawn = [line for line in rows(is_unicode=False) if "|" in line]
    flat = next(line for line in drawn if "---" in line)
    above = drawn[: drawn.index(flat)]
    assert not any("/" in line.partition(" fp64")[0] for line in above)
    starts = [columns_of(line.partition("DRAM 1 TB/s")[0] or line, "/") for line in drawn[drawn.index(flat) + 1 :]]
    firsts = [cells[0] for cells in starts if cells]
    assert firsts == sorted(firsts, reverse=True)
    assert "fp64 10 TFLOP/s" in flat


def test_the_ridge_stands_above_its_intensity():
    drawn = rows(is_unicode=False, width=140)
    flat = next(line for line in drawn if "---" in line)
    axis = next(line for line in drawn if "+-" in line)
    labels = drawn[drawn.index(axis) + 1]
    # The tick of 10 FLOP/byte is the middle of its label.
    ten = re.search(r"(?<!\S)10(?!\S)", labels).start() + 1
    assert abs(flat.index("-") - ten) <= 2


def test_every_roof_is_named_and_every_decade_has_a_tick():
    text = "\n".join(rows(load(DATA / "cpu.json"), width=120))
    for name in ("L1 1.442 TB/s", "L2 517 GB/s", "L3 258 GB/s", "DRAM 76.2 GB/s", "fp64 267.1 GFLOP/s", "int8 2.136 TOP/s"):
        assert name in text
    for tick in ("  1T", "100G", " 10G", "  1G"):
        assert tick in text


def test_a_level_is_written_on_its_own_line_and_its_bandwidth_beside_the_picture():
    # 24 lines and the axes around them: DRAM at 1 TB/s is at 10 TFLOP/s where the intensity is 10.
    far = make_ceilings({"L1": 100e12, "L2": 10e12, "DRAM": 1e12}, {("fp64", "vector"): 10e12})
    drawn = [line[6:] for line in rows(far, is_unicode=False) if "|" in line]
    for level in ("L1", "L2", "DRAM"):
        (row,) = [i for i, line in enumerate(drawn) if re.search(rf"{level}(?! \d)", line)]
        column = drawn[row].index(level)
        # The line goes on right above the word, or left and right of it where it is flat.
        around = drawn[row - 1][column - 2 : column + len(level) + 3] + drawn[row][column - 1] + drawn[row][column + len(level)]
        assert "/" in around
    assert [line.split()[-3:] for line in drawn[-3:]] == [["L1", "100", "TB/s"], ["L2", "10", "TB/s"], ["DRAM", "1", "TB/s"]]


def test_ascii_is_ascii():
    assert "\n".join(rows(load(DATA / "cpu.json"), is_unicode=False)).isascii()


@settings(max_examples=40, deadline=None)
@given(any_ceilings(min_compute=0))
def test_any_ceilings_fit_the_width(ceilings):
    for width in (60, 80, 200):
        drawn = rows(ceilings, width)
        # Long names of flat roofs give way before the picture does.
        assert max(map(len, drawn)) <= max(width, LEAST_WIDTH + 8 + len("fp64 tensor"))


def test_nothing_to_draw_is_said():
    with pytest.raises(AnalysisError, match="no ceilings to draw"):
        terminal_roofline(make_ceilings({}, {}), 80)
