"""ert.runner: a sweep from start to file; stopped anywhere, it goes on and measures nothing twice."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import fake_device
import pytest
from engine import QUICK, Silent, with_sampling
from fake_device import FakeDevice, Machine

import ert.devices
import ert.runner
from ert.ceilings import load
from ert.config import restrict
from ert.devices import Options
from ert.errors import ConfigError, DeviceError, ErtError, KernelError, MeasurementError, SchemaError
from ert.journal import read_journal
from ert.runner import Interrupted, Request, resume_sweep, run_sweep

# One visit a point: whatever is sampled twice shows at once.
ONCE = with_sampling(restrict(QUICK, levels=["L1"], precisions=["fp64"]), per_visit=6, min_samples=6, max_samples=6)
REQUEST = Request("fake", ONCE, Options(), ("ert", "sweep"))


@pytest.fixture(autouse=True)
def planted(monkeypatch) -> list[FakeDevice]:
    """Every device the runner opens; a test may change the machine of the next one through ``fake_device.Machine``."""
    opened: list[FakeDevice] = []

    def open_device(device_id: str, options: Options) -> FakeDevice:
        opened.append(FakeDevice(Machine(threads=options.threads or 2)))
        return opened[-1]

    monkeypatch.setattr(ert.devices, "BACKENDS", {"fake": ("fake_device", None)})
    monkeypatch.setattr(fake_device, "open_device", open_device)
    return opened


class StopAt(Silent):
    """Progress that raises at the n-th point, as a signal would."""

    def __init__(self, count: int, error: BaseException) -> None:
        super().__init__()
        self.count, self.error = count, error

    def update(self, share: float, eta_s: float | None, doing: str) -> None:
        super().update(share, eta_s, doing)
        if len(self.doing) == self.count:
            raise self.error


def stopped(out: Path, count: int = 5) -> Path:
    """The journal of a sweep that was stopped at its n-th point."""
    with pytest.raises(KeyboardInterrupt):
        run_sweep(REQUEST, out, StopAt(count, KeyboardInterrupt()))
    (journal,) = (out / "fake").glob("*.points.jsonl")
    return journal


def test_a_sweep_writes_one_file_named_by_device_and_utc_time_and_leaves_no_journal(tmp_path, planted):
    written = run_sweep(REQUEST, tmp_path, Silent())
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()] == [written.path.relative_to(tmp_path)]
    assert written.path.parent == tmp_path / "fake"
    assert load(written.path) == written.ceilings
    assert written.ceilings.created.replace("-", "").replace(":", "") == written.path.stem
    assert written.ceilings.argv == ("ert", "sweep")
    assert written.ceilings.environment["resumed"] == []
    assert planted[0].is_closed


def test_two_sweeps_in_one_second_have_two_names(tmp_path, monkeypatch):
    monkeypatch.setattr(ert.runner, "utc_now", lambda: "2026-12-01T02:00:00Z")
    names = [run_sweep(REQUEST, tmp_path, Silent()).path.name for _ in range(3)]
    assert names == ["20261201T020000Z.json", "20261201T020000Z-2.json", "20261201T020000Z-3.json"]


@pytest.mark.parametrize("count", [2, 5, 12])
def test_a_stopped_sweep_goes_on_and_measures_nothing_twice(tmp_path, planted, count):
    journal = stopped(tmp_path, count)
    before = {visit.id: visit.samples for visit in read_journal(journal).visits}
    assert len(before) == count - 2  # the first update is before the first point, and the last one's visit never began
    written = resume_sweep(REQUEST, journal, Silent())
    first, second = planted
    assert len(first.visits) + len(second.visits) == len([p for p in written.ceilings.points if p.status == "ok"])
    points = {point.id: point for point in written.ceilings.points}
    assert all(points[key].samples_s == tuple(sample.time_s for sample in samples) for key, samples in before.items())
    assert {len(p.samples_s) for p in points.values() if p.status == "ok"} == {6}
    assert not journal.exists()


def test_a_resumed_file_says_when_it_was_started_and_when_it_went_on(tmp_path, monkeypatch):
    monkeypatch.setattr(ert.runner, "utc_now", lambda: "2026-12-01T02:00:00Z")
    journal = stopped(tmp_path)
    monkeypatch.setattr(ert.runner, "utc_now", lambda: "2026-12-02T03:00:00Z")
    ceilings = resume_sweep(REQUEST, journal, Silent()).ceilings
    assert ceilings.created == "2026-12-01T02:00:00Z"
    assert ceilings.environment["resumed"] == ["2026-12-02T03:00:00Z"]


def test_a_sweep_can_be_stopped_and_resumed_again_and_again(tmp_path, planted):
    journal = stopped(tmp_path, 4)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            resume_sweep(REQUEST, journal, StopAt(4, KeyboardInterrupt()))
    written = resume_sweep(REQUEST, journal, Silent())
    assert len(written.ceilings.environment["resumed"]) == 4
    assert {len(p.samples_s) for p in written.ceilings.points if p.status == "ok"} == {6}
    assert sum(len(device.visits) for device in planted) == len([p for p in written.ceilings.points if p.status == "ok"])


def test_a_torn_last_line_is_dropped_with_a_warning_and_its_point_measured_again(tmp_path, planted):
    journal = stopped(tmp_path, 9)
    content = journal.read_bytes()
    journal.write_bytes(content[:-20])
    written = resume_sweep(REQUEST, journal, Silent())
    assert "torn_line_dropped" in [warning.code for warning in written.ceilings.warnings]
    measured = [p for p in written.ceilings.points if p.status == "ok"]
    assert {len(p.samples_s) for p in measured} == {6}
    assert sum(len(device.visits) for device in planted) == len(measured) + 1


def test_a_failed_point_is_tried_again_by_a_resumed_run(tmp_path, monkeypatch, planted):
    refused = {"update": KernelError("no")}
    monkeypatch.setattr(fake_device, "open_device", lambda _id, _options: FakeDevice(Machine(refuses=refused)))
    with pytest.raises(KeyboardInterrupt):
        run_sweep(REQUEST, tmp_path, StopAt(30, KeyboardInterrupt()))
    (journal,) = (tmp_path / "fake").glob("*.points.jsonl")
    assert "error" in {visit.status for visit in read_journal(journal).visits}
    monkeypatch.setattr(fake_device, "open_device", lambda _id, _options: FakeDevice())
    written = resume_sweep(REQUEST, journal, Silent())
    assert {p.status for p in written.ceilings.points if p.kernel == "update"} == {"ok"}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (replace(REQUEST, options=Options(threads=1)), "its device differs: threads was 2, here it is 1"),
        (replace(REQUEST, config=QUICK), "it was started with another configuration. Give the same --config, --precision and --level"),
        (replace(REQUEST, config=with_sampling(ONCE, seed=9)), "it was started with another configuration"),
    ],
)
def test_a_journal_of_another_device_or_sweep_is_refused_and_left_as_it_is(tmp_path, request_, said):
    journal = stopped(tmp_path)
    content = journal.read_bytes()
    with pytest.raises(ConfigError) as caught:
        resume_sweep(request_, journal, Silent())
    assert said in str(caught.value)
    assert f"--resume {journal}" in str(caught.value)
    assert journal.read_bytes() == content


def test_a_journal_of_another_kernel_source_is_refused_naming_the_kernel(tmp_path):
    journal = stopped(tmp_path)
    header, *visits = journal.read_text().splitlines()
    document = json.loads(header)
    for name, changed in (("fma", "its kernels differs: fma was 'f00d'"), ("ert.h", "its kernels differs: ert.h was 'f00d'")):
        kernels = {**document["kernels"], name: "f00d"}
        journal.write_text("\n".join([json.dumps({**document, "kernels": kernels}), *visits]) + "\n")
        with pytest.raises(ConfigError, match=changed):
            resume_sweep(REQUEST, journal, Silent())
    kernels = {**document["kernels"], "gone": "f00d"}
    journal.write_text("\n".join([json.dumps({**document, "kernels": kernels}), *visits]) + "\n")
    with pytest.raises(ConfigError, match="gone was 'f00d', here it is None"):
        resume_sweep(REQUEST, journal, Silent())


@pytest.mark.parametrize(("key", "before"), [("compiler", "gcc 4.2"), ("driver", "550.54"), ("cuda_driver_api", 12040)])
def test_a_journal_of_another_driver_or_compiler_is_refused(tmp_path, key, before):
    journal = stopped(tmp_path)
    header, *visits = journal.read_text().splitlines()
    document = json.loads(header)
    assert set(document["software"]) == {"compiler", "driver", "cuda_driver_api"}
    content = "\n".join([json.dumps({**document, "software": {**document["software"], key: before}}), *visits]) + "\n"
    journal.write_text(content)
    with pytest.raises(ConfigError, match=rf"its software differs: {key} was '?{before}'?, here it is None. Start a new sweep."):
        resume_sweep(REQUEST, journal, Silent())
    assert journal.read_text() == content


def test_a_journal_of_a_newer_schema_is_refused(tmp_path):
    journal = stopped(tmp_path)
    journal.write_text(journal.read_text().replace('"schema_version":1', '"schema_version":2', 1))
    with pytest.raises(SchemaError, match=r"written in schema version 2; this ert knows versions up to 1\. Resume it with a newer ert"):
        resume_sweep(REQUEST, journal, Silent())


def test_a_sweep_that_cannot_be_planned_leaves_no_journal(tmp_path, planted):
    with pytest.raises(ConfigError, match="--level shared"):
        run_sweep(replace(REQUEST, config=restrict(ONCE, levels=["shared"])), tmp_path, Silent())
    assert list(tmp_path.iterdir()) == []
    assert planted[0].is_closed


def test_a_sweep_in_which_every_point_failed_is_an_error_and_no_empty_file(tmp_path, monkeypatch):
    faults = {number: MeasurementError("no time passed") for number in range(1, 10000)}
    monkeypatch.setattr(fake_device, "open_device", lambda _id, _options: FakeDevice(Machine(faults=faults)))
    with pytest.raises(MeasurementError, match=r"None of the \d+ points could be measured. The first, read/fp64.*: no time passed"):
        run_sweep(REQUEST, tmp_path, Silent())
    assert list((tmp_path / "fake").iterdir()) == []


def test_an_output_folder_that_is_a_file_is_named_with_the_option(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ErtError, match=f"{tmp_path}/out/fake: cannot be written: Not a directory.*--out"):
        run_sweep(REQUEST, tmp_path / "out", Silent())


def test_a_result_that_cannot_be_saved_is_kept_as_a_journal_that_can_be_resumed(tmp_path, monkeypatch):
    def full(_ceilings, path):
        raise ErtError(f"{path}: cannot be written: No space left on device.")

    monkeypatch.setattr(ert.runner, "save", full)
    with pytest.raises(ErtError, match=r"No space left on device. What was measured is kept: go on with --resume .*points.jsonl") as caught:
        run_sweep(REQUEST, tmp_path, Silent())
    monkeypatch.undo()
    assert type(caught.value) is ErtError
    (journal,) = (tmp_path / "fake").glob("*.points.jsonl")
    assert len(read_journal(journal).visits) > 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_sweep_with_the_journal_to_resume(tmp_path, number):
    class Signalling(Silent):
        def update(self, share: float, eta_s: float | None, doing: str) -> None:
            super().update(share, eta_s, doing)
            if len(self.doing) == 6:
                os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught:
        run_sweep(REQUEST, tmp_path, Signalling())
    assert caught.value.signal_number == number
    assert caught.value.journal is not None
    assert len(read_journal(caught.value.journal).visits) >= 3
    assert signal.getsignal(number) is before
    resume_sweep(REQUEST, caught.value.journal, Silent())


def test_a_second_sweep_on_the_same_device_is_refused_while_the_first_runs(tmp_path):
    class Second(Silent):
        """Starts another sweep in the middle of the first."""

        said = ""

        def update(self, share: float, eta_s: float | None, doing: str) -> None:
            super().update(share, eta_s, doing)
            if len(self.doing) == 3:
                try:
                    run_sweep(REQUEST, tmp_path, Silent())
                except DeviceError as error:
                    self.said = str(error)

    progress = Second()
    run_sweep(REQUEST, tmp_path, progress)
    assert f"fake: is being measured already by process {os.getpid()} on " in progress.said
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_the_device_is_closed_and_unlocked_whatever_ends_the_sweep(tmp_path, planted):
    with pytest.raises(KeyboardInterrupt):
        run_sweep(REQUEST, tmp_path, StopAt(3, KeyboardInterrupt()))
    assert planted[0].is_closed
    run_sweep(REQUEST, tmp_path, Silent())
