"""ert.nightly: a night of a planted machine, from the sweep to the verdict, with a history before it."""

from __future__ import annotations

import datetime
import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from engine import Silent
from fake_device import FakeDevice, Machine

from ert.ceilings import Ceilings, load
from ert.config import load_config
from ert.devices import Options
from ert.errors import DeviceError, ErtError, LostError
from ert.fingerprint import kernel_sources
from ert.history import check, open_history
from ert.history_rules import shipped_rules
from ert.nightly import Night, merge, repeat_config, run_night
from ert.runner import Interrupted, Request
from ert.store import add_run, list_files

RULES = shipped_rules()
TINY = load_config(str(Path(__file__).parent / "data" / "history" / "tiny.toml"))
REQUEST = Request("fake", TINY, Options(), ("ert", "nightly"))
SLOW_DRAM = Machine(bandwidths={**Machine().bandwidths, "DRAM": 40e9})
SLOW_FP64 = Machine(rates={**Machine().rates, "fp64": 80e9})


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> list[Machine | Exception]:
    """What the next sweeps find, one after the other; the last for all that follow."""
    queue: list[Machine | Exception] = [Machine()]
    seeds = iter(range(10_000))

    def open_device(_device_id: str, _options: Options) -> FakeDevice:
        found = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(found, Exception):
            raise found
        return FakeDevice(found, seed=next(seeds))

    monkeypatch.setattr("ert.runner.open_device", open_device)
    monkeypatch.setattr("ert.runner.lock_name", str)
    return queue


def night(store: Path, resume: Path | None = None) -> Night:
    return run_night(store, REQUEST, RULES, Silent(), resume)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ceilings]:
    """One run as `ert nightly` stores it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ert.runner.open_device", lambda _id, _options: FakeDevice(Machine()))
        patch.setattr("ert.runner.lock_name", str)
        yield load(night(tmp_path_factory.mktemp("first")).paths[0])


@pytest.fixture
def store(tmp_path: Path, measured: Ceilings) -> Path:
    """Twenty ordinary nights before tonight."""
    generator = np.random.default_rng(4)
    today = datetime.datetime.now(datetime.UTC)

    def other(ceiling: object) -> object:
        factor = float(np.exp(0.003 * generator.standard_normal()))
        return replace(ceiling, value=ceiling.value * factor, ci95=None)

    for days in range(20, 0, -1):
        add_run(
            tmp_path,
            replace(
                measured,
                created=f"{(today - datetime.timedelta(days=days)):%Y-%m-%d}T02:00:00Z",
                bandwidth_ceilings=tuple(map(other, measured.bandwidth_ceilings)),
                compute_ceilings=tuple(map(other, measured.compute_ceilings)),
            ),
        )
    return tmp_path


def kinds(found: Night) -> set[tuple[str | None, str]]:
    return {(event.ceiling, event.kind) for event in found.check.events}


def everything_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_an_ordinary_night_is_one_run_and_fine(store: Path, machines: list[Machine | Exception]) -> None:
    found = night(store)
    assert (found.check.verdict, found.check.events, found.error) == ("fine", (), None)
    assert len(found.paths) == 1
    assert len(list_files(store)) == 21
    assert len(everything_below(store)) == 21
    assert load(found.paths[0]).environment["kernel_sources"] == kernel_sources("cpu")


def test_the_first_night_of_a_device_is_stored_and_learned_from(tmp_path: Path, machines: list[Machine | Exception]) -> None:
    found = night(tmp_path / "new" / "store")
    assert found.check.verdict == "not comparable"
    assert "learning: night 1" in found.check.answers[0].note


def test_one_odd_measurement_is_outvoted_by_two_more_and_all_three_are_kept(store: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [SLOW_DRAM, Machine()]
    found = night(store)
    assert (found.check.verdict, found.check.events) == ("fine", ())
    first, *again = (load(path) for path in found.paths)
    assert len(again) == 2
    for repeat in again:
        assert repeat.config["repeat_of"]["created"] == first.created
        assert repeat.config["repeat_of"]["sha256"] == TINY.sha256
        assert {name.split()[0] for name in repeat.config["repeat_of"]["ceilings"]} == {"DRAM"}
        assert {c.level for c in repeat.bandwidth_ceilings} == {"DRAM"}
        assert len({c.precision for c in repeat.compute_ceilings}) == 1


def test_a_loss_that_shows_three_times_tonight_is_suspect_and_no_alarm_yet(store: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [SLOW_FP64]
    found = night(store)
    assert len(found.paths) == 3
    assert {kind for _, kind in kinds(found)} == {"suspect"}
    assert {(ceiling or "").split()[0] for ceiling, _ in kinds(found)} == {"fp64"}
    assert found.check.verdict == "fine"
    assert "suspect" in found.check.answers[0].note


def test_the_third_night_of_a_loss_is_an_alarm(store: Path, machines: list[Machine | Exception], measured: Ceilings) -> None:
    today = datetime.datetime.now(datetime.UTC)
    for path in [file.path for file in list_files(store)][-2:]:
        run = load(store / path)
        lower = tuple(replace(c, value=c.value * 0.8) if c.precision == "fp64" else c for c in run.compute_ceilings)
        (store / path).unlink()
        add_run(store, replace(run, compute_ceilings=lower))
    machines[:] = [SLOW_FP64]
    found = night(store)
    assert ("fp64 vector fma", "regression") in kinds(found)
    assert found.check.is_alarming
    event = next(event for event in found.check.events if event.ceiling == "fp64 vector fma")
    assert event.since == f"{today - datetime.timedelta(days=2):%Y-%m-%d}"
    assert event.change == pytest.approx(-0.2, abs=0.02)


def test_repeats_that_fail_leave_the_verdict_and_say_so(store: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [SLOW_FP64, DeviceError("fake: lost")]
    found = night(store)
    assert len(found.paths) == 1
    assert {kind for _, kind in kinds(found)} == {"suspect"}
    assert [f.code for f in found.check.findings] == ["not_repeated"]
    assert "fake: lost" in found.check.findings[0].message


def test_a_device_that_cannot_be_opened_is_no_data_under_its_own_name(store: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [DeviceError("fake: fell off the bus")]
    found = night(store)
    assert found.error == "fake: fell off the bus"
    (event,) = found.check.events
    assert (event.device, event.kind, event.note) == ("planted", "no_data", "fake: fell off the bus")
    assert found.check.verdict == "not comparable"
    assert len(everything_below(store)) == 20


def test_a_device_that_is_lost_half_way_is_no_data_and_what_it_measured_is_kept(store: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [Machine(faults={number: LostError("fake: gone.") for number in range(30, 100_000)})]
    before = len(list_files(store))
    found = night(store)
    (event,) = found.check.events
    assert (event.kind, event.note) == ("no_data", found.error)
    assert found.error is not None
    assert found.error.startswith("fake: gone. ")
    words = f"ert nightly --store {store} --resume "
    journal = Path(found.error.partition(words)[2].split()[0])
    assert [path.name for path in journal.parent.iterdir()] == [journal.name]
    assert len(list_files(store)) == before
    machines[:] = [Machine()]
    assert len(night(store, resume=journal).paths) == 1
    assert len(list_files(store)) == before + 1


def test_of_a_repeat_whose_device_was_lost_nothing_is_kept(store: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [SLOW_FP64, Machine(faults={number: LostError("fake: gone.") for number in range(5, 100_000)})]
    found = night(store)
    assert [f.code for f in found.check.findings] == ["not_repeated"]
    assert "fake: gone." in found.check.findings[0].message
    assert not [path for path in everything_below(store) if path.name.endswith(".points.jsonl")]


def test_a_device_nobody_knows_yet_is_no_data_under_its_id(tmp_path: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [DeviceError("no driver")]
    (event,) = night(tmp_path).check.events
    assert (event.device, event.kind) == ("fake", "no_data")


def test_a_store_that_cannot_be_written_stops_before_anything_is_measured(tmp_path: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [AssertionError("nothing must be measured")]
    (tmp_path / "store").write_text("a file where the folder should be")
    with pytest.raises(ErtError, match=r"store.*cannot be written"):
        night(tmp_path / "store")


def test_a_disk_that_fills_up_while_storing_leaves_the_finished_run_beside(
    store: Path, machines: list[Machine | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ErtError(f"{store}: cannot be written: {os.strerror(errno.ENOSPC)}.")

    monkeypatch.setattr("ert.nightly.add_run", full)
    with pytest.raises(ErtError, match="No space left"):
        night(store)
    (kept,) = store.glob("*/.partial/*/*/*.json")
    assert load(kept).device["uuid"] == "planted"
    assert len(list_files(store)) == 20


def test_a_night_that_is_interrupted_leaves_no_run_and_can_be_resumed(
    store: Path, machines: list[Machine | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Silent()
    monkeypatch.setattr(progress, "update", interrupt_at(5))
    with pytest.raises(Interrupted) as stopped:
        run_night(store, REQUEST, RULES, progress)
    journal = stopped.value.journal
    assert journal is not None
    assert len(list_files(store)) == 20
    found = night(store, resume=journal)
    assert (found.check.verdict, len(found.paths)) == ("fine", 1)
    assert load(found.paths[0]).environment["resumed"]
    assert not journal.exists()
    assert len(everything_below(store)) == 21


def interrupt_at(visit: int) -> Callable[[float, float | None, str], None]:
    """Progress that is told of so many visits and no more."""
    told = count()

    def update(_share: float, _eta_s: float | None, _doing: str) -> None:
        if next(told) == visit:
            os.kill(os.getpid(), signal.SIGINT)

    return update


def test_a_night_that_was_killed_is_said_the_next_night(store: Path, machines: list[Machine | Exception]) -> None:
    host = next(iter(open_history(store, RULES).devices))[0]
    # 2^22 is above every process number of Linux.
    folder = store / host / ".partial" / "fake-4194305" / "fake"
    folder.mkdir(parents=True)
    (folder / "20250101T020000Z.points.jsonl").write_text("{}\n")
    (finding,) = night(store).check.findings
    assert finding.code == "interrupted_night"
    assert "20250101T020000Z.points.jsonl" in (finding.remedy or "")


def test_a_night_is_judged_without_reading_the_other_devices(store: Path, machines: list[Machine | Exception]) -> None:
    host = next(iter(open_history(store, RULES).devices))[0]
    other = store / host / "another-device"
    other.mkdir()
    (other / "20250101T020000Z.json").write_text("{ torn")
    assert night(store).check.findings == ()


def test_a_change_of_the_kernels_is_a_change_of_surroundings(
    store: Path, machines: list[Machine | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ert.nightly.kernel_sources", lambda _kind: "other")
    found = night(store)
    assert (None, "environment_change") in kinds(found)
    assert "kernel sources" in found.check.answers[0].note


def test_a_repeat_measures_the_levels_and_precisions_of_what_is_odd(measured: Ceilings) -> None:
    def asked(*names: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        found = repeat_config(TINY, measured, names)
        return found.levels, found.precisions

    some = measured.compute_ceilings[0].precision
    assert asked("DRAM read", "L2 copy", "DRAM write") == (("L2", "DRAM"), (some,))
    assert asked("fp32 vector fma") == (("L1",), ("fp32",))
    assert asked("fp32 vector fma", "L3 read") == (("L3",), ("fp32",))


def test_several_devices_are_one_check(store: Path, machines: list[Machine | Exception], tmp_path: Path) -> None:
    first = night(store)
    machines[:] = [DeviceError("gone")]
    merged = merge([first, night(store)])
    assert len(merged.answers) == 2
    assert merged.verdict == "not comparable"
    assert json.dumps(merged.to_dict(), allow_nan=False)


def test_what_nightly_stores_is_what_history_check_says(store: Path, machines: list[Machine | Exception]) -> None:
    machines[:] = [SLOW_FP64]
    found = night(store)
    assert check(open_history(store, RULES)).events == found.check.events
