"""Precisions this version does not know, which files of other tools and of newer versions hold."""

from __future__ import annotations

import pytest
from rich.console import Console

from ert.precisions import is_float, precision_rank, rate_unit
from ert.spec_ridges import Ridges
from ert.specs_table import ridges_table


@pytest.mark.parametrize(
    ("precision", "unit"),
    [("fp64", "FLOP/s"), ("int8", "OP/s"), ("int64", "OP/s"), ("uint4", "OP/s"), ("fp4", "FLOP/s"), ("unknown", "FLOP/s")],
)
def test_integers_count_operations_also_those_of_other_tools(precision: str, unit: str):
    assert is_float(precision) == (unit == "FLOP/s")
    assert rate_unit(precision) == unit


def test_an_unknown_precision_follows_the_known_ones():
    assert sorted(["fp4", "int8", "fp64", "fp32"], key=precision_rank) == ["fp64", "fp32", "int8", "fp4"]


def test_ridge_points_of_an_unknown_precision_have_their_column():
    points = {("fp4", "tensor"): 5.25, ("fp64", "vector"): 1.5}
    console = Console(width=100)
    with console.capture() as captured:
        console.print(ridges_table([Ridges("New GPU", "measured", 2027, 2e12, points)], 100))
    assert {"5.25", "1.5"} <= set(captured.get().split())
