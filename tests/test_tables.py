"""The tables of ceilings: the numbers of the file, whole, at any width."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_ceilings import DATA, H200_LEVELS, H200_PEAKS, any_ceilings, make_ceilings
from rich.console import Console

from ert.ceilings import Ceilings, load
from ert.findings import Finding
from ert.tables import ceilings_report

CPU = load(DATA / "cpu.json")
GPU = make_ceilings({k: v * 1e12 for k, v in H200_LEVELS.items()}, {k: v * 1e12 for k, v in H200_PEAKS.items()})


def printed(c: Ceilings, width: int = 120) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    console.print(ceilings_report(c, width))
    return console.file.getvalue().splitlines()


def row(lines: list[str], start: str) -> str:
    """The first line that starts with these words, its blanks made single."""
    return next(text for text in (" ".join(line.split()) for line in lines) if text.startswith(start))


def test_bandwidth_row_holds_value_interval_share_working_set_and_kernel():
    assert row(printed(CPU), "L1 read") == "L1 read 1.066 TB/s 1.064 .. 1.068 99.1 % 16 KiB .. 88 KiB read"
    assert row(printed(CPU), "DRAM update").endswith("update noisy")


def test_roof_carries_its_star_and_comes_first_in_its_level():
    assert row(printed(CPU), "L1").startswith("L1 triad *")


def test_compute_row_counts_integer_work_in_operations():
    assert row(printed(CPU), "fp64 fma") == "fp64 fma * 267.1 GFLOP/s 266.9 .. 267.3 99.4 % fma_chain"
    assert row(printed(CPU), "int8 fma").startswith("int8 fma * 2.136 TOP/s")


def test_ridge_points_are_peak_over_bandwidth():
    # 267.1 / 1442, / 517, / 258, / 76.2
    assert row(printed(CPU), "fp64 0") == "fp64 0.185 0.517 1.04 3.51"


def test_large_ridge_points_are_written_out():
    assert row(printed(make_ceilings({"DRAM": 1e12}, {("fp8", "tensor"): 1.2349e15})), "fp8 tensor 12") == "fp8 tensor 1230"


def test_tensor_path_is_a_row_of_its_own():
    lines = printed(make_ceilings({"DRAM": 2e12}, {("fp16", "vector"): 4e13, ("fp16", "tensor"): 3e14}))
    assert row(lines, "fp16 tensor 1") == "fp16 tensor 150"
    assert row(lines, "fp16 2") == "fp16 20"


def test_levels_stand_fast_to_slow_whatever_the_order_of_the_file():
    backwards = replace(CPU, bandwidth_ceilings=CPU.bandwidth_ceilings[::-1])
    assert printed(backwards)[:26] == printed(CPU)[:26]


def test_warnings_failures_launch_time_and_command_are_told():
    text = "\n".join(printed(CPU))
    assert "warning: DRAM update: noise 1.6 % is above 1 % [noisy]\n         remedy: try --min-time 0.02" in text
    assert "unsupported: fp16 fma_chain (1 point): this CPU has no avx512_fp16" in text
    assert "starting a kernel takes 1.8 us" in text
    assert "no physical limit known for: L3, DRAM" in text
    assert "capacity: L1 96 KiB, L2 2 MiB, L3 32 MiB" in text
    assert text.endswith("Made by: ert sweep --device cpu --config default")


def test_interval_across_a_prefix_keeps_both_units():
    c = make_ceilings({"DRAM": 1e12}, {})
    assert "990 GB/s .. 1.01 TB/s" in "\n".join(printed(c))


def test_missing_interval_says_why():
    c = make_ceilings({"DRAM": 1e12}, {})
    c = replace(c, bandwidth_ceilings=(replace(c.bandwidth_ceilings[0], ci95=None),))
    assert "too few samples" in "\n".join(printed(c))


def test_brackets_of_a_name_are_text_and_no_markup():
    c = replace(CPU, device={**CPU.device, "name": "[red]chip[/nope]"}, warnings=(Finding("x", "[bold]loud[/]"),))
    text = "\n".join(printed(c))
    assert "[red]chip[/nope] (cpu)" in text
    assert "warning: [bold]loud[/] [x]" in text


@pytest.mark.parametrize("c", [CPU, GPU], ids=["cpu", "gpu"])
def test_at_80_columns_no_number_is_cut(c: Ceilings):
    numbers = re.compile(r"[\d.]+ [GT]?(?:B|FLOP|OP)/s|[\d.]+ \.\. [\d.]+|[\d.]+ %")
    narrow, wide = ("\n".join(printed(c, width)) for width in (80, 200))
    assert max(map(len, narrow.splitlines())) <= 80
    assert numbers.findall(narrow) == numbers.findall(wide)
    assert len(numbers.findall(narrow)) >= 2 * len(c.all_ceilings)


@settings(max_examples=20, deadline=None)
@given(any_ceilings(min_compute=0), st.sampled_from([80, 100, 200]))
def test_every_roof_has_its_row(c: Ceilings, width: int):
    lines = printed(c, width)
    assert sum(" * " in line for line in lines) == len(c.bandwidth_roofs) + len(c.compute_roofs)
    assert all(line.isascii() or set(line) == {"─"} for line in lines)
