"""The judgement, on a synthetic GPU with round roofs. Expected numbers are divisions by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from example_gpu import EXAMPLE_GPU
from hypothesis import given
from hypothesis import strategies as st
from make_ceilings import make_ceilings
from ncu_files import TIME, wide
from programs import check_schema
from rich.console import Console

from ert.ceilings import Ceilings
from ert.compare import Comparison, compare, missing_counts, to_dict, to_json
from ert.judge import Judgement
from ert.judge_table import witness_table
from ert.points.document import decode
from ert.points.formats import parse_points
from ert.points.model import KernelPoint, Origin, Reading, Witness

WORKED = make_ceilings({"DRAM": 1e12}, {("fp32", "vector"): 100e12})
ORIGIN = Origin("app.csv", 2)


def point(
    name: str = "k", *, time_s: float = 1e-3, flops: dict[str, float | None] | None = None, launches: int = 1, **levels: float | None
) -> KernelPoint:
    return KernelPoint(name, time_s, flops, levels, ORIGIN, launches)


def judged(p: KernelPoint, ceilings: Ceilings = EXAMPLE_GPU) -> Judgement:
    found = compared(p, ceilings=ceilings)
    assert len(found.kernels) == 1, found.skipped
    return found.kernels[0]


def compared(*points: KernelPoint, ceilings: Ceilings = EXAMPLE_GPU, witnesses: tuple[Witness, ...] = ()) -> Comparison:
    found = compare(ceilings, [Reading("csv", "app.csv", points, witnesses=witnesses)])
    check_schema(json.loads(to_json(found)), "comparison")
    return found


def advice_of(p: KernelPoint, ceilings: Ceilings = EXAMPLE_GPU) -> str:
    text = to_dict(compared(p, ceilings=ceilings))["kernels"][0]["advice"]  # type: ignore[index, call-overload]
    assert isinstance(text, str)
    return text


def test_the_worked_example():
    k = judged(point(time_s=2e-3, flops={"fp32": 1e10}, DRAM=1e9), WORKED)
    assert k.bound is not None and (k.bound.kind, k.bound.level) == ("bandwidth", "DRAM")
    assert k.time_floor_s == pytest.approx(1e-3)
    assert k.attainable_flop_per_s == pytest.approx(10e12)
    assert k.rate_flop_per_s == pytest.approx(5e12)
    assert k.fraction_of_roof == pytest.approx(0.5)
    assert k.ai == {"DRAM": 10}


@pytest.mark.parametrize(("ai", "roof"), [(1, 1e12), (10, 10e12), (100, 100e12), (200, 100e12), (1000, 100e12)])
def test_the_roof_of_the_worked_example_at_several_intensities(ai, roof):
    assert judged(point(time_s=1, flops={"fp32": ai * 1e9}, DRAM=1e9), WORKED).attainable_flop_per_s == pytest.approx(roof)


def test_every_level_has_its_own_intensity_and_the_slowest_time_binds():
    k = judged(point(time_s=1.25e-3, flops={"fp64": 2e9}, DRAM=2e9, L2=4e9, L1=8e9))
    assert k.ai == {"DRAM": 1.0, "L2": 0.5, "L1": 0.25}
    assert k.bound is not None and k.bound.level == "DRAM"
    assert k.fraction_of_roof == pytest.approx(0.8)
    assert k.bandwidth_share == pytest.approx({"DRAM": 0.8, "L2": 0.64, "L1": 0.32})
    k = judged(point(flops={"fp64": 2e9}, DRAM=1e9, L2=4e9, L1=8e9))
    assert k.bound is not None and k.bound.level == "L2"
    assert k.shown_ai == ("L2", 0.5)


def test_the_intensity_that_is_shown_is_the_slowest_levels_where_no_level_binds():
    k = judged(point(time_s=1, flops={"fp64": 2e15}, DRAM=1e9, L1=8e9))
    assert k.bound is not None and k.bound.kind == "compute"
    assert k.shown_ai == ("DRAM", 2e6)
    assert judged(point(flops={}, DRAM=1e9)).shown_ai == ("", None)


def test_precision_and_path_choose_the_roof():
    assert judged(point(flops={"fp32": 9e9}, DRAM=5e7)).attainable_flop_per_s == pytest.approx(20e12)
    assert judged(point(flops={"fp16_tensor": 9e9}, DRAM=1e6)).attainable_flop_per_s == pytest.approx(300e12)
    missing = judged(point(flops={"fp8_tensor": 9e9}, DRAM=1e6))
    assert "no_matching_roof" in missing.flags
    assert (missing.bound, missing.attainable_flop_per_s, missing.fraction_of_roof) == (None, None, None)
    assert missing_counts(compared(missing.point)) == [("a roof for fp8 tensor", 1)]
    assert "fp8 tensor" in advice_of(missing.point)


def test_mixed_precision_takes_the_sum_of_times():
    k = judged(point(flops={"fp32": 20e9, "fp16_tensor": 300e9}, DRAM=1e6, time_s=4e-3))
    # 1 ms of fp32 and 1 ms of tensor work
    assert k.time_floor_s == pytest.approx(2e-3)
    assert k.attainable_flop_per_s == pytest.approx(160e12)
    assert "mixed_precision" in k.flags
    assert "sum of their times" in advice_of(k.point)


def test_a_copy_is_judged_by_bandwidth():
    k = judged(point(time_s=1.25e-3, flops={}, DRAM=2e9, L2=2e9, L1=2e9))
    assert (k.rate_flop_per_s, k.attainable_flop_per_s) == (None, None)
    assert k.fraction_of_roof == pytest.approx(0.8)
    assert k.bound is not None and k.bound.level == "DRAM"
    assert k.flags == ("no_flops",)
    assert "integer work" in advice_of(k.point)


def test_a_level_without_traffic_does_not_bind():
    k = judged(point(flops={"fp32": 15e9}, DRAM=0.0, L2=1.5e9, L1=7.5e9))
    assert k.ai == {"DRAM": None, "L2": 10.0, "L1": 2.0}
    assert k.fraction_of_roof == pytest.approx(0.75)
    assert "Infinity" not in to_json(compared(k.point))


@pytest.mark.parametrize(("rate", "is_above"), [(20.2e12, False), (21e12, True), (40e12, True)])
def test_above_the_roof_begins_at_the_end_of_the_interval(rate, is_above):
    k = judged(point(flops={"fp32": rate * 1e-3}, DRAM=1e8, L2=1e8, L1=1e8))
    assert k.fraction_of_roof == pytest.approx(rate / 20e12)
    assert ("above_roof" in k.flags) is is_above


def test_the_likely_causes_fit_the_kind_of_excess():
    assert "clocks at the sweep" in advice_of(point(flops={"fp32": 21e9}, DRAM=1e8))
    assert "factor of 2" in advice_of(point(flops={"fp32": 40e9}, DRAM=1e8))
    assert "units, precision or counters" in advice_of(point(flops={"fp32": 60e9}, DRAM=1e8))
    assert "served by a cache" in advice_of(point(flops={"fp32": 2.6e8}, DRAM=2.6e9))


@pytest.mark.parametrize(
    ("ai", "kind", "is_near"),
    [(5.0, "compute", True), (4.95, "bandwidth", True), (5.05, "compute", True), (2.5, "bandwidth", False), (10.0, "compute", False)],
)
def test_at_the_ridge_the_answer_is_fixed_and_flagged(ai, kind, is_near):
    k = judged(point(time_s=1e-2, flops={"fp64": ai * 1e9}, DRAM=1e9, L2=1e9, L1=1e9))
    assert k.bound is not None and k.bound.kind == kind
    assert ("near_ridge" in k.flags) is is_near


def test_exactly_at_the_ridge_the_roof_is_the_peak():
    assert judged(point(flops={"fp64": 5e9}, DRAM=1e9)).attainable_flop_per_s == pytest.approx(10e12, rel=1e-15)


def test_small_work_is_bound_by_its_launch():
    ceilings = replace(EXAMPLE_GPU, launch_overhead_s=5e-6)
    k = judged(point(time_s=6e-6, flops={"fp32": 1e6}, DRAM=1e6), ceilings)
    assert k.bound is not None and k.bound.kind == "latency"
    assert k.time_floor_s == pytest.approx(5e-6)
    assert k.fraction_of_roof == pytest.approx(0.5e-6 / 6e-6)
    assert "near_ridge" not in k.flags
    many = judged(point(time_s=6e-2, launches=10000, flops={"fp32": 1e10}, DRAM=1e10), ceilings)
    assert many.bound is not None and many.bound.kind == "latency"
    assert "launch_overhead_assumed" in judged(point(time_s=6e-6, flops={"fp32": 1e6}, DRAM=1e6)).flags
    cpu = replace(EXAMPLE_GPU, device={"id": "cpu", "kind": "cpu"})
    assert judged(point(time_s=6e-6, flops={"fp32": 1e6}, DRAM=1e6), cpu).bound.kind == "bandwidth"  # type: ignore[union-attr]


def test_a_slower_level_cannot_move_more():
    assert "traffic_inverted" in judged(point(flops={"fp64": 1e9}, DRAM=2e9, L2=1e9, L1=3e9)).flags
    assert "traffic_inverted" not in judged(point(flops={"fp64": 1e9}, DRAM=1.01e9, L2=1e9, L1=3e9)).flags


def test_missing_counters_leave_open_what_they_would_tell():
    known = judged(KernelPoint("k", 1e-3, {"fp64": 2e9}, {"DRAM": None, "L2": 4e9}, ORIGIN, missing=("dram__bytes.sum",)))
    assert known.ai == {"DRAM": None, "L2": 0.5}
    assert known.bound is not None and known.bound.level == "L2"
    assert "missing_counters" in known.flags
    unknown = judged(KernelPoint("k", 1e-3, {"fp32": None}, {"DRAM": 1e9}, ORIGIN, missing=("ffma",)))
    assert (unknown.bound, unknown.fraction_of_roof, unknown.rate_flop_per_s) == (None, None, None)
    assert unknown.bandwidth_share == {"DRAM": pytest.approx(0.5)}
    found = compared(known.point, unknown.point)
    assert not found.is_complete
    assert missing_counts(found) == [("dram__bytes.sum", 1), ("ffma", 1)]


def test_no_kernel_disappears():
    found = compared(
        point("placed", flops={"fp32": 1.0}),
        point("nothing", flops={}),
        point("elsewhere", flops={"fp8": 1.0}, L3=5.0),
        point("absurd", flops={"fp32": 1e300}),
    )
    assert [k.point.name for k in found.kernels] == ["placed"]
    assert [s.name for s in found.skipped] == ["nothing", "elsewhere", "absurd"]
    assert all(s.reason for s in found.skipped)


AMOUNTS = st.one_of(st.none(), st.just(0.0), st.floats(1.0, 1e18))


@given(
    st.floats(1e-9, 1e6),
    st.dictionaries(st.sampled_from(["fp32", "fp64", "fp16_tensor", "fp8"]), AMOUNTS),
    st.dictionaries(st.sampled_from(["DRAM", "L2", "L3"]), AMOUNTS),
    st.integers(1, 1000),
)
def test_any_counters_give_strict_json_and_a_place(time_s, flops, levels, launches):
    p = KernelPoint("k", time_s, flops, levels, ORIGIN, launches)
    found = compared(p)
    assert len(found.kernels) + len(found.skipped) == 1
    for k in found.kernels:
        if k.fraction_of_roof is not None and k.attainable_flop_per_s and k.rate_flop_per_s:
            assert k.fraction_of_roof == pytest.approx(k.rate_flop_per_s / k.attainable_flop_per_s)


def test_two_versions_form_a_trajectory_that_tells_whether_time_fell():
    before = point(time_s=2e-3, flops={"fp32": 1e9}, DRAM=2e9)
    better, padded = point(time_s=1e-3, flops={"fp32": 1e9}, DRAM=1e9), point(time_s=2e-3, flops={"fp32": 4e9}, DRAM=2e9)
    (t,) = compared(before, better).trajectories
    assert (t.kernels, t.steps[0].verdict, t.steps[0].time_ratio) == ((0, 1), "faster", pytest.approx(0.5))
    assert t.steps[0].rate_ratio == pytest.approx(2)
    assert t.steps[0].ai_ratio == {"DRAM": pytest.approx(2)}
    assert "up" in t.steps[0].note and "right on DRAM" in t.steps[0].note
    (t,) = compared(before, padded).trajectories
    assert (t.steps[0].verdict, t.steps[0].flags) == ("same", ("more_flops_not_faster",))
    assert "worth nothing" in t.steps[0].note


def test_more_flops_that_pay_are_not_called_out():
    before, blocked = point(time_s=2e-3, flops={"fp32": 1e9}, DRAM=2e9), point(time_s=1e-3, flops={"fp32": 2e9}, DRAM=1e9)
    assert compared(before, blocked).trajectories[0].steps[0].flags == ()


def test_different_numbers_of_launches_are_compared_per_launch():
    step = (
        compared(point(time_s=1.0, launches=10, flops={}, DRAM=1.0), point(time_s=0.5, launches=5, flops={}, DRAM=1.0))
        .trajectories[0]
        .steps[0]
    )
    assert (step.per_launch, step.verdict) == (True, "same")


def test_witnesses_stand_beside_the_ceiling_for_the_same_thing():
    dram = Witness("w", "bandwidth", 1.9e12, ORIGIN, level="DRAM", op="copy")
    pcie = Witness("p", "interconnect", 5e10, ORIGIN, not_comparable="PCIe")
    fp64 = Witness("f", "compute", 5e12, ORIGIN, precision="fp64", op="fma")
    l3 = Witness("l", "bandwidth", 5e12, ORIGIN, level="L3")
    found = compared(witnesses=(dram, pcie, fp64, l3)).witnesses
    assert [b.ratio for b in found] == [pytest.approx(0.95), None, pytest.approx(0.5), None]
    assert [b.reason for b in found] == [None, "PCIe", None, "no such ceiling in this file"]


def test_a_witness_on_integers_is_shown_in_operations():
    int64 = Witness("rocprof-compute int64", "compute", 5e12, ORIGIN, precision="int64", op="fma")
    console = Console(width=120)
    with console.capture() as captured:
        console.print(witness_table(compared(witnesses=(int64,)).witnesses))
    assert "5 TOP/s" in captured.get()


def test_a_witness_whose_arrays_fit_a_cache_is_no_dram_figure():
    cached = replace(
        EXAMPLE_GPU,
        bandwidth_ceilings=tuple(
            replace(c, capacity_bytes=50 * 2**20 if c.level == "L2" else None) for c in EXAMPLE_GPU.bandwidth_ceilings
        ),
    )
    small, large = (Witness("w", "bandwidth", 4e12, ORIGIN, level="DRAM", working_set_bytes=size) for size in (100e6, 1e9))
    found = compared(ceilings=cached, witnesses=(small, large)).witnesses
    assert "below 4 x the last cache" in (found[0].reason or "")
    assert found[1].ratio == pytest.approx(2.0)


def test_traffic_of_two_metric_families_is_told():
    texts = ["lts__t_bytes.sum", "derived__lts__lts2xbar_bytes.sum"]
    readings = [
        parse_points(decode(m, wide({TIME: "ns", m: "byte", "dram__bytes.sum": "byte"}, [("k", ["1,000,000", "8", "8"])]).encode()))
        for m in texts
    ]
    assert "traffic_families" in [f.code for f in compare(EXAMPLE_GPU, readings).findings]
