"""ert.assemble: planted ceilings come back; disturbed samples and impossible values make none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from engine import DEFAULT, QUICK, RUN, measured, sweep_of, with_sampling
from fake_device import KIB, MIB, FakeDevice, Machine
from programs import check_schema

from ert.assemble import assemble
from ert.candidates import DISTURBED
from ert.ceilings import Ceilings, load, save
from ert.ceilings.file import ceilings_to_json
from ert.columns import interval
from ert.config import restrict
from ert.devices.base import CeilingKey, Sample
from ert.errors import DeviceError, KernelError
from ert.journal import Visit
from ert.kernels import load_kernels
from ert.plan import make_plan


def key_of(ceiling) -> CeilingKey:
    if hasattr(ceiling, "level"):
        return CeilingKey(ceiling.op, level=ceiling.level)
    return CeilingKey(ceiling.op, precision=ceiling.precision, path=ceiling.path)


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> tuple[FakeDevice, Ceilings]:
    device = FakeDevice()
    return device, measured(device, tmp_path_factory.mktemp("quick"))


@pytest.mark.parametrize("seed", range(3))
def test_every_planted_ceiling_is_found_within_one_percent(tmp_path, seed):
    device = FakeDevice(seed=seed)
    ceilings = measured(device, tmp_path)
    shares = {key_of(c): c.value / device.planted(key_of(c)) for c in ceilings.all_ceilings}
    assert len(shares) == 4 * 5 + 6  # five operations on four levels; fp64, fp32 with and without adds, int32, int16
    assert all(0.99 < share < 1.01 for share in shares.values()), shares


def test_the_levels_are_found_from_the_curve_with_their_sizes(quick):
    _, ceilings = quick
    found = {c.level: c.capacity_bytes for c in ceilings.bandwidth_ceilings if c.op == "read"}
    assert list(found) == ["L1", "L2", "L3", "DRAM"]
    assert found["DRAM"] is None
    for level, planted in (("L1", 64 * KIB), ("L2", MIB), ("L3", 32 * MIB)):
        assert planted / 1.5 < found[level] < planted * 1.5


def test_intervals_hold_the_planted_value_or_miss_it_by_little(quick):
    device, ceilings = quick
    for c in ceilings.all_ceilings:
        assert c.ci95 is not None
        low, high = c.ci95
        assert low <= c.value <= high
        assert low * 0.995 < device.planted(key_of(c)) < high * 1.005


def test_each_level_has_one_roof_its_fastest_and_each_precision_its_multiply_add(quick):
    _, ceilings = quick
    assert {c.level: c.op for c in ceilings.bandwidth_ceilings if c.roof} == dict.fromkeys(("L1", "L2", "L3", "DRAM"), "read")
    assert {(c.precision, c.op) for c in ceilings.compute_ceilings if c.roof} == {
        (precision, "fma") for precision in ("fp64", "fp32", "int32", "int16")
    }


def test_ridge_points_are_peak_over_bandwidth_by_hand(quick):
    _, ceilings = quick
    # 100 GFLOP/s over 50 GB/s, and 200 over 800.
    assert ceilings.ridge("DRAM", "fp64") == pytest.approx(2.0, rel=0.02)
    assert ceilings.ridge("L1", "fp32") == pytest.approx(0.25, rel=0.02)


def test_the_planted_corner_is_fitted_and_agrees_with_the_direct_ceilings(tmp_path):
    ceilings = measured(FakeDevice(Machine(corner_exponent=4.0)), tmp_path, DEFAULT)
    corner = ceilings.corner("DRAM", "fp64")
    assert corner is not None
    assert corner.exponent == pytest.approx(4.0, rel=0.15)
    assert corner.bandwidth_bytes_per_s == pytest.approx(0.7 * 50e9, rel=0.02)  # load and store, as an update does
    assert corner.rate_flop_per_s == pytest.approx(100e9, rel=0.02)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_disturbed_samples_do_not_move_the_result(tmp_path, share):
    device = FakeDevice(Machine(disturbed_share=share))
    ceilings = measured(device, tmp_path, with_sampling(QUICK, max_samples=200))
    assert not any("disturbed" in c.flags for c in ceilings.all_ceilings)
    assert all(c.value == pytest.approx(device.planted(key_of(c)), rel=0.01) for c in ceilings.all_ceilings)
    point = next(p for p in ceilings.points if any(p.throttled) and not all(p.throttled))
    assert {why for whys in point.throttled for why in whys} == {DISTURBED}


def test_a_machine_that_is_never_quiet_gives_flagged_ceilings_and_a_warning(tmp_path):
    ceilings = measured(FakeDevice(Machine(disturbed_share=1.0)), tmp_path, with_sampling(QUICK, max_samples=24))
    assert ceilings.all_ceilings
    assert all("disturbed" in c.flags for c in ceilings.all_ceilings)
    assert "disturbed" in [warning.code for warning in ceilings.warnings]


def test_a_ceiling_above_its_physical_limit_is_never_published_and_the_refusal_is_explained(tmp_path):
    device = FakeDevice(Machine(limit_factor=0.9))
    ceilings = measured(device, tmp_path)
    assert ceilings.all_ceilings == ()
    assert ceilings.roofs == ()
    refused = [warning for warning in ceilings.warnings if warning.code == "above_limit"]
    assert len(refused) == 26
    (dram,) = (warning for warning in refused if warning.message.startswith("DRAM read"))
    assert "above the physical limit of 45 GB/s at the measured clock (planted); it is not published" in dram.message
    assert dram.value == pytest.approx(50e9, rel=0.01)
    assert "ert kernels --verify" in (dram.remedy or "")


def test_one_percent_above_the_limit_is_the_error_of_the_clock_and_not_refused(tmp_path):
    assert len(measured(FakeDevice(Machine(limit_factor=0.995, noise=0.0005)), tmp_path).all_ceilings) == 26


def test_a_kernel_that_was_refused_makes_an_error_row_and_no_ceiling(tmp_path):
    ceilings = measured(FakeDevice(Machine(refuses={"fma_add": KernelError("fma_add: it lies")})), tmp_path)
    assert "fma+add" not in {c.op for c in ceilings.compute_ceilings}
    rows = [p for p in ceilings.points if p.kernel == "fma_add"]
    assert {(p.status, p.reason, p.samples_s) for p in rows} == {("error", "fma_add: it lies", ())}
    (warning,) = (w for w in ceilings.warnings if w.code == "points_failed")
    assert "2 points failed, the first: fma_add/fp64" in warning.message
    assert warning.value == 2


def test_a_device_lost_half_way_keeps_the_ceilings_of_what_was_measured(tmp_path):
    faults = {number: DeviceError("the device is gone") for number in range(1000, 100000)}
    ceilings = measured(FakeDevice(Machine(faults=faults)), tmp_path)
    assert ceilings.all_ceilings
    assert "points_failed" in [warning.code for warning in ceilings.warnings]


def test_absent_precisions_are_rows_with_the_reason(quick):
    _, ceilings = quick
    absent = {(p.kernel, p.precision): p.reason for p in ceilings.points if p.status == "unsupported"}
    assert absent == {(k, p): f"the planted machine has no {p} arithmetic" for k, p in (("dot", "bf16"), ("dot", "int8"), ("fma", "fp16"))}


def test_memory_that_was_not_reached_has_no_ceiling_and_a_warning(tmp_path):
    machine = Machine(capacities={"L1": 64 * KIB, "L2": MIB, "L3": 32 * MIB, "DRAM": 96 * MIB})
    ceilings = measured(FakeDevice(machine), tmp_path)
    assert "DRAM" not in {c.level for c in ceilings.bandwidth_ceilings}
    assert "dram_not_reached" in [warning.code for warning in ceilings.warnings]


def test_a_sweep_of_one_precision_and_level_has_the_others_not(tmp_path):
    ceilings = measured(FakeDevice(), tmp_path, restrict(QUICK, precisions=["fp32"], levels=["L2"]))
    assert {c.precision for c in ceilings.compute_ceilings} == {"fp32"}
    assert {c.level for c in ceilings.bandwidth_ceilings} <= {"L2"}


def test_kernels_in_registers_alone_give_a_file_without_levels(tmp_path):
    ceilings = measured(FakeDevice(), tmp_path, kernels={"fma": load_kernels("cpu")["fma"]})
    assert ceilings.bandwidth_ceilings == ()
    assert {c.precision for c in ceilings.compute_ceilings} == {"fp64", "fp32", "int32"}
    assert "no_curve" in [warning.code for warning in ceilings.warnings]


def test_the_file_fits_its_schema_is_strict_and_comes_back_the_same(quick, tmp_path):
    _, ceilings = quick

    def refuse(word):
        raise AssertionError(word)

    document = json.loads(ceilings_to_json(ceilings), parse_constant=refuse)
    check_schema(document, "ceilings")
    assert document["schema_version"] == 1
    save(ceilings, tmp_path / "x.json")
    assert load(tmp_path / "x.json") == ceilings
    assert ceilings_to_json(load(tmp_path / "x.json")) == ceilings_to_json(ceilings)


def test_points_nobody_visited_are_skipped_with_the_reason(tmp_path):
    device = FakeDevice()
    sweep = sweep_of(device, tmp_path)
    first, second, *_ = sweep.states.values()
    first.add(Visit(first.planned.id, flops=1.0, bytes=1.0, repeats=1, working_set_bytes=4096, samples=(Sample(1e-4),)))
    ceilings = assemble(device, QUICK, make_plan(device, QUICK), [first, second], RUN)
    points = {p.id: p for p in ceilings.points}
    assert points[first.planned.id].status == "ok"
    assert points[second.planned.id].status == "skipped"
    assert points[second.planned.id].reason == "the time budget was spent before its first visit"


def test_throttled_samples_are_kept_in_the_file_and_left_out_of_the_ceiling(tmp_path):
    device = FakeDevice()
    plan = make_plan(device, QUICK, {"fma": load_kernels("cpu")["fma"]})
    sweep = sweep_of(device, tmp_path, kernels={"fma": load_kernels("cpu")["fma"]})
    state = next(iter(sweep.states.values()))
    calm, hot = Sample(1.0, 3e9, 3.0), Sample(2.0, 1.5e9, 3.0, throttled=("hw_thermal_slowdown",))
    state.add(Visit(state.planned.id, flops=1e9, repeats=1, samples=(calm,) * 8 + (hot,) * 20))
    ceilings = assemble(device, QUICK, plan, [state], RUN)
    (ceiling,) = ceilings.compute_ceilings
    assert ceiling.value == pytest.approx(1e9)
    assert ceiling.clock_hz == 3e9
    assert len(ceilings.points[0].samples_s) == 28
    assert ceilings.points[0].throttled[-1] == ("hw_thermal_slowdown",)


class Gpu(FakeDevice):
    """A device that says how fast its clock may run."""

    def facts(self):
        return {**super().facts(), "clock_max_hz": 1.98e9}


def fma_ceilings(folder, *visits: Visit) -> Ceilings:
    """What a device that may reach 1.9 TFLOP/s makes of these visits, each of another variant of one kernel."""
    kernels, config = {"fma": load_kernels("cpu")["fma"]}, restrict(DEFAULT, precisions=["fp64"])
    device = Gpu(Machine(rates={"fp64": 1.9e12}))
    states = list(sweep_of(device, folder, config, kernels).states.values())[: len(visits)]
    for state, visit in zip(states, visits, strict=True):
        state.add(replace(visit, id=state.planned.id))
    return assemble(device, config, make_plan(device, config, kernels), states, RUN)


def test_twelve_samples_that_were_all_throttled_make_a_ceiling_that_says_so(tmp_path):
    """1.8e9 operations in 1 ms each, at 1290 of 1980 MHz."""
    samples = [Sample(t, f, 3.0, throttled=("SwPowerCap",)) for t, f in ((998e-6, 1.28e9), (1e-3, 1.29e9), (1002e-6, 1.3e9))] * 4
    ceilings = fma_ceilings(tmp_path, Visit("", flops=1.8e9, repeats=1, samples=tuple(samples)))
    (ceiling,) = ceilings.compute_ceilings
    assert ceiling.value == pytest.approx(1.8e12, rel=1e-9)
    assert (ceiling.flags, ceiling.clock_hz) == (("throttled",), 1.29e9)
    (said,) = [w.message for w in ceilings.warnings if w.code == "throttled"]
    assert said == "12 of 12 samples of fp64 vector fma were throttled (SwPowerCap), median clock 1.29 GHz of 1.98 GHz"
    json.loads(ceilings_to_json(ceilings), parse_constant=pytest.fail)


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_samples_make_a_value_without_an_interval(tmp_path, count):
    visit = Visit("", flops=1.8e9, repeats=1, samples=(Sample(1e-3, 1.29e9, 3.0, throttled=("SwPowerCap",)),) * count)
    (ceiling,) = fma_ceilings(tmp_path, visit).compute_ceilings
    assert (ceiling.value, ceiling.ci95) == (pytest.approx(1.8e12), None)
    assert interval(ceiling) == "too few samples"


LAUNCHED = Visit("", flops=2**31, repeats=1, samples=tuple(Sample(t, 3e9, 3.0) for t in (1130.3e-6, 1130.1e-6, 1131.0e-6) * 4))
REFUSED = Visit("", "error", "cuda:0: fma/fp64: cuLaunchKernel failed: invalid argument")
WRONG = Visit("", "error", "cuda:0: fma/fp64: 1024 of 1024 results are wrong")


def test_launches_that_failed_are_counted_and_make_no_ceiling(tmp_path):
    """They took 3 microseconds: 238 times the rate of those that ran."""
    ceilings = fma_ceilings(tmp_path, REFUSED, LAUNCHED, WRONG)
    (ceiling,) = ceilings.compute_ceilings
    assert ceiling.value == pytest.approx(2**31 / 1130.3e-6, rel=1e-6)
    (failed,) = [w for w in ceilings.warnings if w.code == "points_failed"]
    assert failed.value == 2
    assert [p.status for p in ceilings.points] == ["error", "ok", "error"]
    assert [p.reason for p in ceilings.points] == [REFUSED.reason, None, WRONG.reason]


def test_without_one_launch_that_was_verified_there_is_no_ceiling(tmp_path):
    ceilings = fma_ceilings(tmp_path, REFUSED, WRONG)
    assert ceilings.all_ceilings == ()
    assert [w.value for w in ceilings.warnings if w.code == "points_failed"] == [2]
