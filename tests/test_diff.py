"""ert.diff: worse, same, better or not comparable, by hand-made pairs of files."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from history_store import a_run, usual
from hypothesis import given
from hypothesis import strategies as st

from ert.ceilings import Ceilings
from ert.diff import compare, relative_change
from ert.errors import ConfigError

BASE = a_run(0, usual())


def with_interval(ceilings: Ceilings, half: float | None) -> Ceilings:
    """Every interval this wide to each side."""

    def interval(value: float) -> tuple[float, float] | None:
        return None if half is None else (value * (1 - half), value * (1 + half))

    return replace(
        ceilings,
        bandwidth_ceilings=tuple(replace(c, ci95=interval(c.value)) for c in ceilings.bandwidth_ceilings),
        compute_ceilings=tuple(replace(c, ci95=interval(c.value)) for c in ceilings.compute_ceilings),
    )


def one(factor: float, half: float | None = 0.005, threshold: float = 0.02) -> tuple[str, str]:
    """(verdict, note) of the first row."""
    found = compare(with_interval(BASE, half), with_interval(a_run(1, usual(factor)), half), threshold)
    return found.rows[0].verdict, found.rows[0].note


@pytest.mark.parametrize(
    ("factor", "half", "verdict"),
    [
        (0.96, 0.005, "worse"),
        (1.05, 0.005, "better"),
        (0.985, 0.005, "same"),
        (1.0, 0.0001, "same"),
        # 4 % down, but both known to 4 %: sqrt(2) * 4 % is more.
        (0.96, 0.04, "same"),
        (0.96, 0.025, "worse"),
        (0.96, None, "worse"),
    ],
)
def test_worse_is_beyond_the_threshold_and_beyond_the_intervals(factor: float, half: float | None, verdict: str) -> None:
    assert one(factor, half)[0] == verdict


def test_why_a_large_change_counts_as_the_same_and_a_bare_one_as_worse() -> None:
    assert one(0.96, 0.04) == ("same", "within the intervals")
    assert one(0.96, None) == ("worse", "without an interval: too few samples")


def test_every_ceiling_of_either_file_has_a_row_and_the_worst_decides() -> None:
    new = usual() | {"L2 read": None, "DRAM read": 2e12 * 0.9, "fp64 vector fma": 9.5e12 * 1.1}
    found = compare(BASE, a_run(1, new | {"fp32 vector fma": 2e13}))
    assert {row.ceiling: (row.verdict, row.note) for row in found.rows} == {
        "L2 read": ("not comparable", "only in the base file"),
        "DRAM read": ("worse", ""),
        "fp64 vector fma": ("better", ""),
        "fp16 tensor mma": ("same", ""),
        "fp32 vector fma": ("not comparable", "only in the new file"),
    }
    assert found.verdict == "worse"
    assert found.rows[1].change == pytest.approx(-0.1)


def test_better_and_same_is_better() -> None:
    assert compare(BASE, a_run(1, usual() | {"DRAM read": 2.2e12})).verdict == "better"


def test_a_throttled_ceiling_is_not_comparable() -> None:
    found = compare(BASE, a_run(1, usual(0.8), throttled=("DRAM read",)))
    row = next(row for row in found.rows if row.ceiling == "DRAM read")
    assert (row.verdict, row.note) == ("not comparable", "throttled in the new file")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"device": {"name": "Other GPU"}}, "name: Example GPU -> Other GPU"),
        ({"device": {"threads": 66}}, ""),
        ({"config": {"sha256": "b" * 64}}, "different configurations"),
    ],
)
def test_another_device_or_sweep_is_not_comparable_as_a_whole(changes: dict, words: str) -> None:
    base = replace(BASE, device={**BASE.device, "threads": 132})
    found = compare(base, a_run(1, usual(0.5), **({"device": {"threads": 132}} | changes)))
    assert found.verdict == "not comparable"
    assert {row.verdict for row in found.rows} == {"not comparable"}
    assert words in found.note
    assert found.rows[0].change == pytest.approx(-0.5)


def test_another_card_of_the_kind_is_comparable_and_another_driver_is_said() -> None:
    found = compare(BASE, a_run(1, usual(0.9), uuid="GPU-2222", environment={"driver": "560.2"}))
    assert found.verdict == "worse"
    assert found.environment == ("driver: 550.1 -> 560.2",)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, math.nan])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(ConfigError, match="share from 0 to 1"):
        compare(BASE, BASE, threshold)


@given(st.floats(0.5, 2), st.floats(0.0001, 0.2))
def test_base_and_new_changed_over_turn_the_change_over(factor: float, half: float) -> None:
    left = with_interval(BASE, half).bandwidth_ceilings[0]
    right = with_interval(a_run(1, usual(factor)), half).bandwidth_ceilings[0]
    change, interval = relative_change(left, right)
    back, turned = relative_change(right, left)
    assert interval is not None
    assert turned is not None
    assert (1 + change) * (1 + back) == pytest.approx(1)
    assert (1 + interval[0]) * (1 + turned[1]) == pytest.approx(1)
    assert interval[0] < change < interval[1]


@given(st.floats(0.3, 3), st.floats(0.0001, 0.1))
def test_a_file_is_never_worse_than_one_that_is_worse_than_it(factor: float, half: float) -> None:
    opposite = {"worse": "better", "better": "worse", "same": "same"}
    base, new = with_interval(BASE, half), with_interval(a_run(1, usual(factor)), half)
    there, back = compare(base, new, 0.0).rows[0].verdict, compare(new, base, 0.0).rows[0].verdict
    assert back == opposite[there]
