"""ert.checks: what is doubtful about a sweep, each with a number and a remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from make_ceilings import DATA

from ert.ceilings import Ceilings, load
from ert.ceilings.kinds import BandwidthCeiling, ComputeCeiling
from ert.ceilings.point import Point
from ert.checks import above_limit, is_above_limit, name_of, sweep_findings
from ert.columns import unit_of

BASE: Ceilings = replace(
    load(DATA / "cpu.json"), bandwidth_ceilings=(), compute_ceilings=(), roofs=(), points=(), warnings=(), environment={}
)
L1 = BandwidthCeiling(
    level="L1", op="read", value=400e9, ci95=(399e9, 401e9), roof=True, kernel="read", limit=410e9, limit_source="a manual"
)
L2 = replace(L1, level="L2", value=200e9, ci95=(199e9, 201e9))
FP64 = ComputeCeiling(precision="fp64", path="vector", op="fma", value=1e11, ci95=(0.99e11, 1.01e11), roof=True, kernel="fma")


def codes(ceilings: Ceilings) -> list[str]:
    return [finding.code for finding in sweep_findings(ceilings)]


def test_a_sweep_without_doubts_has_no_warnings():
    assert codes(replace(BASE, bandwidth_ceilings=(L1, L2), compute_ceilings=(FP64,), environment={"governor": "performance"})) == []


@pytest.mark.parametrize(("value", "is_above"), [(410e9, False), (414e9, False), (415e9, True)])
def test_a_value_is_above_its_limit_from_one_percent_on(value, is_above):
    assert is_above_limit(replace(L1, value=value)) is is_above


def test_without_a_known_limit_nothing_is_above_it():
    assert not is_above_limit(replace(L1, limit=None, value=1e15))


def test_the_refusal_names_value_limit_and_source():
    finding = above_limit(replace(L1, value=820e9))
    assert finding.message == (
        "L1 read measured 820 GB/s, above the physical limit of 410 GB/s at the measured clock (a manual); it is not published"
    )
    assert finding.value == 820e9


def test_a_wide_interval_is_said_with_its_half_width():
    wide = replace(BASE, compute_ceilings=(replace(FP64, ci95=(0.95e11, 1.05e11)),))
    (finding,) = sweep_findings(wide)
    assert finding.code == "wide_interval"
    assert finding.value == pytest.approx(0.05)
    assert "fp64 vector fma" in finding.message
    assert "+-5.0%" in finding.message


def test_a_ceiling_without_an_interval_is_not_called_wide():
    assert codes(replace(BASE, compute_ceilings=(replace(FP64, ci95=None),))) == []


def test_a_slower_level_that_reads_faster_is_said():
    (finding,) = sweep_findings(replace(BASE, bandwidth_ceilings=(replace(L1, value=100e9, ci95=None), replace(L2, ci95=None))))
    assert finding.code == "levels_out_of_order"
    assert finding.message == "L2 reads faster than L1: 200 GB/s against 100 GB/s"
    assert finding.value == pytest.approx(2.0)


def test_disturbed_ceilings_are_counted_and_the_first_named():
    ceilings = tuple(replace(L1, op=op, flags=("disturbed",)) for op in ("read", "write", "copy", "triad", "update"))
    (finding,) = sweep_findings(replace(BASE, bandwidth_ceilings=ceilings))
    assert finding.value == 5
    assert "L1 read, L1 write, L1 copy, L1 triad and 1 more" in finding.message


def test_l1_may_read_faster_than_the_shared_memory_beside_it():
    shared = replace(L1, level="shared", value=100e9, ci95=None)
    assert codes(replace(BASE, bandwidth_ceilings=(shared, replace(L1, ci95=None), replace(L2, ci95=None)))) == []


def test_throttled_ceilings_name_the_samples_the_reasons_and_the_clocks():
    """Twelve samples of 1.8 TB/s under SwPowerCap, at 1290 of 1980 MHz."""
    times_s = tuple(0.01 + 1e-6 * i for i in range(12))
    point = Point(id="a", kernel="fma", measures="compute", op="fma", precision="fp64", path="vector", repeats=1, samples_s=times_s)
    slowed = replace(FP64, ci95=None, flags=("throttled",), clock_hz=1.29e9, point_ids=("a",))
    point = replace(point, throttled=(("SwPowerCap",),) * 12)
    found = sweep_findings(replace(BASE, device={**BASE.device, "clock_max_hz": 1.98e9}, compute_ceilings=(slowed,), points=(point,)))
    (finding,) = [f for f in found if f.code == "throttled"]
    expected = "12 of 12 samples of fp64 vector fma were throttled (SwPowerCap), median clock 1.29 GHz of 1.98 GHz"
    assert finding.message == expected


def test_failed_points_are_counted_with_the_first_reason():
    failed = Point(
        id="fma/fp64", kernel="fma", measures="compute", op="fma", precision="fp64", path="vector", status="error", reason="it lies"
    )
    (finding,) = sweep_findings(replace(BASE, points=(failed, replace(failed, id="x"))))
    assert finding.value == 2
    assert finding.message == "2 points failed, the first: fma/fp64: it lies"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"governor": "powersave", "huge_pages": "always"}, ["governor"]),
        ({"governor": None, "huge_pages": "never"}, ["no_huge_pages"]),
        ({"governor": "performance", "huge_pages": "madvise"}, []),
        ({}, []),
    ],
)
def test_what_the_surroundings_cost_is_said_with_the_command_that_changes_it(environment, expected):
    found = sweep_findings(replace(BASE, environment=environment))
    assert [finding.code for finding in found] == expected
    assert all(finding.remedy for finding in found)


def test_names_and_units_are_those_of_the_tables():
    assert name_of(L1) == "L1 read"
    assert name_of(FP64) == "fp64 vector fma"
    assert unit_of(L1) == "B/s"
    assert unit_of(FP64) == "FLOP/s"
    assert unit_of(replace(FP64, precision="int8")) == "OP/s"
