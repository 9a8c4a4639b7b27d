"""What turns out to be a roof is measured again after seconds of unbroken work; what the device keeps up is the roof."""

from __future__ import annotations

import pytest
from engine import QUICK, measured, sweep_of, with_sampling
from fake_device import FakeDevice, Machine

import ert.sweep
from ert.config import restrict
from ert.errors import MeasurementError
from ert.fit.measured import points_of_visits
from ert.fit.points import fit_points
from ert.journal import read_journal
from ert.kernels import load_kernels

CONFIG = with_sampling(restrict(QUICK, levels=["DRAM"], precisions=["fp64"]), sustain_s=2.0)


def roofs(ceilings):
    return {c.level if hasattr(c, "level") else c.precision: c for c in ceilings.all_ceilings if c.roof}


def sustained_points(ceilings):
    return [p for p in ceilings.points if p.sustain_s]


def test_without_the_wish_nothing_is_measured_twice(tmp_path):
    ceilings = measured(FakeDevice(Machine(capped={"read": 0.5})), tmp_path, with_sampling(CONFIG, sustain_s=0.0))
    assert sustained_points(ceilings) == []
    assert all(c.burst is None for c in ceilings.all_ceilings)


def test_a_roof_that_is_not_sustained_stands_at_what_is(tmp_path):
    ceilings = measured(FakeDevice(Machine(capped={"fma": 0.8})), tmp_path, CONFIG)
    roof = roofs(ceilings)["fp64"]
    assert roof.value == pytest.approx(0.8 * 100e9, rel=0.01)
    assert roof.burst is not None
    assert roof.burst.value == pytest.approx(100e9, rel=0.01)
    assert ceilings.ridge("DRAM", "fp64") == pytest.approx(80e9 / 50e9, rel=0.02)


def test_a_roof_that_is_sustained_has_no_burst_and_keeps_its_value(tmp_path):
    ceilings = measured(FakeDevice(Machine(noise=0.02)), tmp_path, CONFIG)
    assert {p.level or p.precision for p in sustained_points(ceilings)} == {"DRAM", "fp64"}
    assert all(roof.burst is None for roof in roofs(ceilings).values())


def test_sustained_samples_that_another_program_disturbed_say_nothing(tmp_path):
    ceilings = measured(FakeDevice(Machine(disturbed_share=1.0, capped={"fma": 0.5})), tmp_path, CONFIG)
    assert sustained_points(ceilings)
    assert all(c.burst is None for c in ceilings.all_ceilings)


def test_the_highest_sustained_operation_is_the_roof_of_a_level(tmp_path):
    # A read reaches 50 GB/s at first and 30 in the end; a triad 45 all the time.
    ceilings = measured(FakeDevice(Machine(capped={"read": 0.6})), tmp_path, CONFIG)
    roof = roofs(ceilings)["DRAM"]
    assert (roof.op, roof.burst) == ("triad", None)
    assert roof.value == pytest.approx(45e9, rel=0.01)
    read = next(c for c in ceilings.bandwidth_ceilings if c.op == "read")
    assert read.value == pytest.approx(30e9, rel=0.01)
    # The copy at 40 GB/s cannot be the roof any more.
    assert {p.op for p in sustained_points(ceilings) if p.level} == {"read", "triad"}


def test_the_samples_before_are_left_out(tmp_path):
    ceilings = measured(FakeDevice(Machine(capped={"fma": 0.8}, cap_s=1.9)), tmp_path, CONFIG)
    (point,) = [p for p in sustained_points(ceilings) if p.op == "fma"]
    assert len(point.samples_s) == CONFIG.sampling.min_samples
    assert max(point.samples_s) == pytest.approx(min(point.samples_s), rel=0.05)


def test_follow_ups_are_in_the_journal_and_not_measured_again_by_a_resumed_run(tmp_path):
    device = FakeDevice(Machine(capped={"fma": 0.8}))
    first = sweep_of(device, tmp_path, CONFIG, name="first")
    before = first.run()
    visits = read_journal(tmp_path / "first.points.jsonl").visits
    assert len([v for v in visits if v.id.endswith("/sustained")]) == 2
    again = FakeDevice(Machine(capped={"fma": 0.8}))
    second = sweep_of(again, tmp_path, CONFIG, name="second")
    second.reuse(visits)
    after = second.run()
    assert again.visits == []
    assert {s.planned.id: s.samples for s in after} == {s.planned.id: s.samples for s in before}


def test_a_follow_up_that_fails_is_a_row_and_the_ceiling_stays(tmp_path, monkeypatch):
    def fail(*_):
        raise MeasurementError("lost in the middle")

    monkeypatch.setattr(ert.sweep, "visit_sustained", fail)
    ceilings = measured(FakeDevice(Machine(capped={"fma": 0.8})), tmp_path, CONFIG)
    assert {p.reason for p in ceilings.points if p.status == "error"} == {"lost in the middle"}
    assert all(c.burst is None for c in ceilings.all_ceilings)
    assert ceilings.compute_peak("fp64") == pytest.approx(100e9, rel=0.01)


def test_a_refit_of_the_journal_leaves_follow_ups_out(tmp_path):
    sweep_of(FakeDevice(), tmp_path, CONFIG).run()
    visits = read_journal(tmp_path / "x.points.jsonl").visits
    points, findings = points_of_visits(visits, load_kernels("cpu"))
    assert findings == []
    assert {p.id for p in points} == {v.id for v in visits if v.samples and not v.id.endswith("/sustained")}


def test_a_refit_of_the_file_takes_no_follow_up_for_a_candidate(tmp_path):
    ceilings = measured(FakeDevice(Machine(capped={"fma": 1.1})), tmp_path, CONFIG)  # faster when warm
    (fit,) = [c for key, c in fit_points(ceilings.points).compute.items() if key == ("fp64", "vector", "fma")]
    assert fit.value_per_s == pytest.approx(100e9, rel=0.01)
