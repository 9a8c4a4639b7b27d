"""ert.reported: a level that the curve hides is published if reads inside its reported size show it, and marked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine import QUICK, measured, sweep_of
from fake_device import FakeDevice, Machine

import ert.assemble
from ert.candidates import Candidate, to_candidate
from ert.devices.base import CeilingKey
from ert.fit.levels import Level, LevelFit
from ert.reported import NOT_ON_CURVE, add_reported

ALL = ("L1", "L2", "L3", "DRAM")


def level(name: str, rate: float) -> Level:
    return Level(name, rate, (rate, rate), (1e3, 1e6), 5)


@pytest.fixture(scope="module")
def device() -> FakeDevice:
    return FakeDevice()


@pytest.fixture(scope="module")
def candidates(device, tmp_path_factory) -> list[Candidate]:
    states = sweep_of(device, tmp_path_factory.mktemp("sweep"), QUICK).run()
    return [to_candidate(device, state) for state in states if state.samples]


def planted(device: FakeDevice, name: str) -> float:
    return device.planted(CeilingKey("read", level=name)) or 0.0


def test_levels_the_curve_misses_are_those_of_their_reads_and_said(device, candidates):
    fit = LevelFit((level("L3", planted(device, "L3")), level("DRAM", planted(device, "DRAM"))))
    whole = add_reported(device, fit, candidates, ALL)
    assert [found.name for found in whole.levels] == list(ALL)
    for found in whole.levels[:2]:
        assert found.value_bytes_per_s == pytest.approx(planted(device, found.name), rel=0.01)
        assert found.flags == (NOT_ON_CURVE,)
        assert found.capacity_bytes is None
    assert [warning.code for warning in whole.warnings] == ["level_not_on_curve"] * 2
    assert "L1: the curve shows no plateau of it" in whole.warnings[0].message
    assert "64 KiB that the system reports" in whole.warnings[0].message


def test_levels_on_the_curve_stay_as_they_are(device, candidates):
    fit = LevelFit(tuple(level(name, planted(device, name)) for name in ALL))
    assert add_reported(device, fit, candidates, ALL) == fit


def test_a_level_no_faster_than_the_next_is_none_and_said(device, candidates):
    near = planted(device, "L2") / 1.05
    fit = LevelFit((level("L1", planted(device, "L1")), level("L3", near)))
    whole = add_reported(device, fit, candidates, ALL)
    assert [found.name for found in whole.levels] == ["L1", "L3"]
    (warning,) = whole.warnings
    assert warning.code == "level_missing"
    assert warning.value == pytest.approx(planted(device, "L2"), rel=0.01)
    assert "L2 has no ceilings" in warning.message
    assert "not a step apart from those of its neighbours (L1 " in warning.message


@pytest.mark.parametrize("capacity_bytes", [None, 512 << 10])
def test_a_level_that_nobody_read_is_said_to_be_missing(device, candidates, monkeypatch, capacity_bytes):
    facts = [replace(f, capacity_bytes=capacity_bytes) if f.name == "L2" else f for f in device.levels()]
    monkeypatch.setattr(device, "levels", lambda: facts)
    unread = [c for c in candidates if c.point.level != "L2"]
    fit = LevelFit(tuple(level(name, planted(device, name)) for name in ("L1", "L3", "DRAM")))
    (warning,) = add_reported(device, fit, unread, ALL).warnings
    assert (warning.code, warning.value) == ("level_missing", None)
    assert ("does not report its size" if capacity_bytes is None else "inside the 512 KiB") in warning.message


def test_memory_must_be_on_the_curve(device, candidates):
    fit = LevelFit(tuple(level(name, planted(device, name)) for name in ALL[:3]))
    assert add_reported(device, fit, candidates, ALL) == fit


def test_nothing_is_added_to_nothing_or_to_what_no_curve_can_show(device, candidates):
    assert add_reported(device, LevelFit(()), candidates, ALL) == LevelFit(())
    fit = LevelFit((level("L3", planted(device, "L3")),))
    assert add_reported(device, fit, candidates, ("L3", "DRAM")) == fit


def test_a_sweep_whose_curve_hides_a_level_publishes_it_marked(tmp_path, monkeypatch):
    fitted = ert.assemble.fit_levels
    monkeypatch.setattr(ert.assemble, "fit_levels", lambda *given: replace(fit := fitted(*given), levels=fit.levels[1:]))
    ceilings = measured(FakeDevice(Machine()), tmp_path)
    flags = {c.op: c.flags for c in ceilings.bandwidth_ceilings if c.level == "L1"}
    assert set(flags) == {"read", "write", "copy", "triad", "update"}
    assert all(NOT_ON_CURVE in each for each in flags.values())
    assert "level_not_on_curve" in {warning.code for warning in ceilings.warnings}
