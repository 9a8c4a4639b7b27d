"""``ert sweep`` when something goes wrong around it: full disks, no home, two at once, stopped, killed."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema
from sweep_program import FAKE, TINY, refuse, run, start, tiny_sweep

import ert
import ert.cli
import ert.devices
from ert.errors import ErtError
from ert.journal import read_journal


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return tiny_sweep(tmp_path)


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "/dev/full/deeper"])
def test_an_output_folder_that_cannot_be_made_is_named(tiny, capsys, monkeypatch, place):
    monkeypatch.setattr(ert.devices, "BACKENDS", {"fake": ("fake_device", None)})
    assert ert.cli.execute(ert.cli.cli, ["sweep", "--device", "fake", "--config", tiny, "--out", place]) == 1
    said = capsys.readouterr().err
    assert f"{place}/fake: cannot be written: " in said
    assert "--out" in said


def test_an_output_folder_that_is_not_there_is_made(tiny, tmp_path):
    done = run(FAKE, "sweep", "--device", "fake", "--config", tiny, "--out", str(tmp_path / "a" / "b"), "--no-plot")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "a" / "b" / "fake").glob("*.json"))) == 1


def test_a_picture_that_cannot_be_drawn_takes_neither_table_nor_json_with_it(tiny, tmp_path, capsys, monkeypatch):
    def full(*_: object) -> None:
        raise ErtError("roof.png: No space left on device.")

    monkeypatch.setattr(ert.devices, "BACKENDS", {"fake": ("fake_device", None)})
    monkeypatch.setattr("ert.plot.save_roofline", full)
    out, document = tmp_path / "out", tmp_path / "copy.json"
    arguments = ["sweep", "--device", "fake", "--config", tiny, "--out", str(out), "--json", str(document)]
    assert ert.cli.execute(ert.cli.cli, arguments) == 1
    said = capsys.readouterr()
    assert "fp64" in said.out
    assert "roof.png: No space left on device." in said.err
    check_schema(json.loads(document.read_text()), "ceilings")


def limited(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program under a file size limit: what a full disk does to it, at a place of our choice."""
    return subprocess.run(
        [*FAKE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


def test_a_disk_that_fills_up_while_measuring_keeps_what_was_measured_and_says_how_to_go_on(tiny, tmp_path):
    done = limited(8000, *arguments(tiny, tmp_path / "out"))
    assert done.returncode == 1
    assert "points.jsonl: cannot be written: File too large. Free space there, or choose another folder with --out." in done.stderr
    assert "What was measured is kept: go on with --resume" in done.stderr
    assert "and the same options; that file may be moved before." in done.stderr
    (journal,) = (tmp_path / "out" / "fake").iterdir()
    kept = len(read_journal(journal).visits)
    assert kept > 5
    resumed = run(FAKE, *arguments(tiny, tmp_path / "out", "--resume", str(journal)))
    assert resumed.returncode == 0, resumed.stderr
    (path,) = (tmp_path / "out" / "fake").iterdir()
    assert {len(p.samples_s) for p in ert.load(path).points if p.status == "ok"} == {6}


def test_a_disk_too_full_for_the_result_leaves_an_old_file_whole_and_no_half_one(tiny, tmp_path):
    old = tmp_path / "old.json"
    old.write_text('{"old": true}\n')
    arguments = ("sweep", "--device", "fake", "--config", tiny, "--out", str(tmp_path / "out"), "--no-plot")
    journal_bytes, result_bytes = 24000, 40000  # the journal of this sweep is smaller than the first, its result larger than the second
    done = limited((journal_bytes + result_bytes) // 2, *arguments, "--json", str(old))
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert old.read_text() == '{"old": true}\n'
    left = list((tmp_path / "out" / "fake").iterdir())
    assert [path.name.endswith(".points.jsonl") for path in left] == [True]


def test_a_journal_that_was_moved_to_where_there_is_space_is_completed_there(tiny, tmp_path):
    assert limited(8000, *arguments(tiny, tmp_path / "out")).returncode == 1
    (journal,) = (tmp_path / "out" / "fake").iterdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = journal.rename(elsewhere / journal.name)
    done = run(FAKE, *arguments(tiny, tmp_path / "out", "--resume", str(moved)))
    assert done.returncode == 0, done.stderr
    (path,) = elsewhere.iterdir()
    assert ert.load(path).bandwidth_ceilings
    assert list(journal.parent.iterdir()) == []


NEWER = '{"schema":"ert.points","schema_version":2}\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory. A sweep that was stopped leaves its journal in the folder of --out"),
        ("", "holds no whole line, so nothing can be resumed. Start a new sweep."),
        ('{"schema":"ert.po', "holds no whole line, so nothing can be resumed. Start a new sweep."),
        (NEWER, "written in schema version 2; this ert knows versions up to 1. Resume it with a newer ert."),
        (NEWER.replace("2", "1") + "rubbish\n{}\n", "line 2 is not JSON. The file was changed by something else; start a new sweep."),
    ],
    ids=["missing", "empty", "only half a header", "newer", "changed"],
)
def test_a_journal_that_cannot_be_resumed_is_named_with_the_option_and_left_as_it_is(tiny, tmp_path, content, said):
    journal = tmp_path / "x.points.jsonl"
    if content is not None:
        journal.write_text(content)
    done = run(FAKE, *arguments(tiny, tmp_path / "out", "--resume", str(journal)))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Error: --resume {journal}: ")
    assert said in line
    assert not (tmp_path / "out").exists()
    assert (journal.read_text() if journal.exists() else None) == content


@pytest.fixture
def full_disk(tmp_path: Path) -> Path:
    """A device without a free byte: the system's own, or for root, who could overwrite that, another node of it."""
    if os.geteuid() != 0:
        return Path("/dev/full")
    node = tmp_path / "full"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, Path("/dev/full").stat().st_rdev)
    except PermissionError:
        pytest.skip("this root may make no device nodes")
    return node


def test_a_copy_that_finds_no_space_is_an_error_and_the_result_itself_is_kept(tiny, tmp_path, full_disk):
    done = run(FAKE, *arguments(tiny, tmp_path / "out", "--json", str(full_disk)))
    assert done.returncode == 1
    assert f"{full_disk}: cannot be written: No space left on device" in done.stderr
    assert stat.S_ISCHR(full_disk.stat().st_mode)
    (path,) = (tmp_path / "out" / "fake").glob("*.json")
    assert ert.load(path).bandwidth_ceilings


@pytest.mark.parametrize(
    ("home", "why"), [("/dev/null", "Not a directory"), ("not/there", "there is no home folder")], ids=["a file", "missing"]
)
def test_a_home_that_cannot_be_written_costs_a_warning_and_no_more(tiny, tmp_path, home, why):
    environment = {k: v for k, v in os.environ.items() if k not in ("ERT_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")}
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    done = subprocess.run(
        [
            PROGRAM,
            "sweep",
            "--device",
            "cpu",
            "--config",
            tiny,
            "--threads",
            "1",
            "--level",
            "L1",
            "--precision",
            "fp64",
            "--out",
            "out",
            "--no-plot",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**environment, "HOME": str(tmp_path / home), "TMPDIR": str(scratch)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out" / "cpu").glob("*.json")
    (warning,) = (w for w in ert.load(path).warnings if w.code == "cache_not_writable")
    assert warning.message.startswith(f"the kernel cache {tmp_path / home}/.cache/ert cannot be written ({why})")
    assert {path.name for path in tmp_path.iterdir()} == {"out", "tiny.toml", "tmp"}
    assert "ERT_CACHE_DIR" in (warning.remedy or "")
    assert "ERT_CACHE_DIR" in done.stdout
    left = {path.name for path in scratch.iterdir() if not path.name.endswith(".lock")}
    assert left == set()  # what was compiled goes with the process


def test_without_home_at_all_the_program_runs():
    environment = {k: v for k, v in os.environ.items() if k != "HOME"}
    assert subprocess.run([PROGRAM, "sweep", "--help"], env=environment, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True, slots=True)
class Held:
    """A sweep of the planted machine that stands still in the middle, with ten visits or so in its journal."""

    process: subprocess.Popen[str]
    journal: Path
    hold: Path

    def go_on(self) -> str:
        """Let it finish; returns what it said."""
        self.hold.unlink()
        _, stderr = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, stderr
        return stderr


def arguments(tiny: str, out: Path, *more: str) -> tuple[str, ...]:
    return ("sweep", "--device", "fake", "--config", tiny, "--level", "L1", "--out", str(out), "--no-plot", *more)


@pytest.fixture
def held(tiny: str, tmp_path: Path) -> Iterator[Held]:
    hold = tmp_path / "hold"
    hold.touch()
    process = start(FAKE, *arguments(tiny, tmp_path / "out"), FAKE_HOLD=f"60:{hold}")
    try:
        yield Held(process, wait_for(process, lambda: journal_of(tmp_path, 9)), hold)
    finally:
        process.kill()
        process.communicate()


def journal_of(folder: Path, lines: int) -> Path | None:
    """The journal somewhere below a folder, once it has that many lines."""
    return next((path for path in folder.rglob("*.points.jsonl") if path.read_bytes().count(b"\n") >= lines), None)


def wait_for(process: subprocess.Popen[str], look: Callable[[], Path | None]) -> Path:
    """What a running program is about to write."""
    for _ in range(6000):
        if found := look():
            return found
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("nothing appeared within a minute")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=["ctrl-c", "sigterm", "kill -9"]
)
def test_a_sweep_stopped_in_the_middle_is_completed_by_resume_and_nothing_is_measured_twice(tiny, tmp_path, held, number, code):
    held.process.send_signal(number)
    _, stderr = held.process.communicate(timeout=60)
    assert held.process.returncode == code
    assert "Traceback" not in stderr
    if code > 0:
        assert (
            f"Interrupted. What was measured is kept; go on with: ert sweep --device fake --resume {held.journal} and the same options."
            in stderr
        )
    before = {visit.id: visit.samples for visit in read_journal(held.journal).visits}
    assert len(before) >= 8
    done = run(FAKE, *arguments(tiny, tmp_path / "out", "--resume", str(held.journal)))
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out" / "fake").iterdir()
    ceilings = ert.load(path)
    points = {p.id: p for p in ceilings.points if p.status == "ok"}
    assert {len(p.samples_s) for p in points.values()} == {6}
    assert all(points[key].samples_s == tuple(sample.time_s for sample in samples) for key, samples in before.items())
    assert ceilings.bandwidth_ceilings
    assert len(ceilings.environment["resumed"]) == 1


def test_a_second_sweep_on_the_same_device_is_refused_naming_the_first_whose_result_is_whole(tiny, tmp_path, held):
    second = run(FAKE, *arguments(tiny, tmp_path / "out"))
    assert second.returncode == 4
    assert f"fake: is being measured already by process {held.process.pid} on {os.uname().nodename} since " in second.stderr
    held.go_on()
    (path,) = (tmp_path / "out" / "fake").iterdir()
    check_schema(json.loads(path.read_text(), parse_constant=refuse), "ceilings")


def test_after_a_kill_the_next_sweep_starts_at_once(tiny, tmp_path, held):
    held.process.kill()
    held.process.communicate()
    done = run(FAKE, *arguments(tiny, tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out" / "fake").glob("*.json"))) == 1


def test_a_journal_of_another_device_is_refused_and_kept(tiny, tmp_path, held):
    held.process.kill()
    held.process.communicate()
    content = held.journal.read_bytes()
    done = run(FAKE, *arguments(tiny, tmp_path / "out", "--resume", str(held.journal)), FAKE_NAME="Another machine")
    assert done.returncode == 1
    assert "its device differs: name was 'Planted', here it is 'Another machine'. Start a new sweep." in done.stderr
    assert held.journal.read_bytes() == content


def test_a_real_sweep_of_the_cpu_is_stopped_by_ctrl_c_and_resumed(tmp_path):
    # Samples long enough that the signal arrives before the last of them on any machine.
    slow = tmp_path / "slow.toml"
    slow.write_text(TINY.replace("min_time_s = 2e-5", "min_time_s = 1e-2"))
    options = ("--device", "cpu", "--config", str(slow), "--threads", "1", "--level", "L1", "--precision", "fp64", "--no-plot")
    process = start([PROGRAM], "sweep", *options, "--out", str(tmp_path / "out"))
    journal = wait_for(process, lambda: journal_of(tmp_path, 3))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    visits = read_journal(journal).visits
    done = run([PROGRAM], "sweep", *options, "--resume", str(journal))
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out" / "cpu").glob("*.json")
    points = {p.id: p for p in ert.load(path).points}
    assert all(points[v.id].samples_s == tuple(s.time_s for s in v.samples) for v in visits)
    assert {len(p.samples_s) for p in points.values() if p.status == "ok"} == {6}
