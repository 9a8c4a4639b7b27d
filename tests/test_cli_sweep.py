"""``ert sweep`` as a program: its output, its exit codes, and every way a run can be refused, stopped or killed."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema

import ert
import ert.cli
import ert.devices
from ert.journal import read_journal
from ert.kernels import load_kernels

FAKE = [sys.executable, str(Path(__file__).with_name("fake_ert.py"))]
# Every point is visited once and done: six samples, whatever the machine does meanwhile.
TINY = """
[budget]
total_s = 60
[sampling]
min_time_s = 2e-5
per_visit = 6
min_samples = 6
max_samples = 6
[curve]
points_per_octave = 1
largest_bytes = 67108864
[kernels.fma]
ERT_CHAINS = [10]
[kernels.mixed]
ERT_FLOPS = [1, 64]
[kernels.read]
ERT_STREAMS = [1]
ERT_PREFETCH_BYTES = [0]
"""


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return str(path)


def start(program: list[str], *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env={**os.environ, **environment}
    )


def run(program: list[str], *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    process = start(program, *arguments, cwd=cwd, **environment)
    stdout, stderr = process.communicate(timeout=120)
    assert "Traceback" not in stderr
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def real(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run([PROGRAM], "sweep", "--device", "cpu", *arguments, **environment)


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


# --- the whole way on the machine at hand ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """One short sweep of the real CPU by the real program."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "tiny.toml").write_text(TINY)
    return run([PROGRAM], "sweep", "--device", "cpu", "--config", "tiny.toml", "--threads", "1", "--out", "out", cwd=folder), folder


def test_a_sweep_exits_zero_with_a_table_on_stdout_and_the_rest_on_stderr(swept):
    done, _ = swept
    assert done.returncode == 0, done.stderr
    assert "fp64" in done.stdout
    assert "GFLOP/s" in done.stdout
    assert "sweep tiny on cpu:   0%" in done.stderr
    assert "wrote out/cpu/" in done.stderr
    assert "drew out/cpu/" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stderr


def test_its_file_fits_the_schema_by_a_strict_parser_and_loads(swept):
    _, folder = swept
    (path,) = (folder / "out" / "cpu").glob("*.json")
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    check_schema(document, "ceilings")
    ceilings = ert.load(path)
    assert ceilings.device["threads"] == 1
    assert ceilings.config["name"] == "tiny"
    assert {c.precision for c in ceilings.compute_ceilings} >= {"fp64", "fp32"}
    assert all(p.samples_s for p in ceilings.points if p.status == "ok")
    assert all(p.reason for p in ceilings.points if p.status != "ok")


def test_its_picture_is_a_png_beside_it_and_nothing_else_is_left(swept):
    _, folder = swept
    files = {path.suffix: path for path in (folder / "out").rglob("*") if path.is_file()}
    assert set(files) == {".json", ".png"}
    assert files[".png"].stem == files[".json"].stem
    assert files[".png"].read_bytes().startswith(b"\x89PNG")


def test_help_ends_with_an_example_that_resumes():
    done = run([PROGRAM], "sweep", "--help")
    assert done.returncode == 0
    assert done.stdout.rstrip().splitlines()[-1].strip().startswith("ert sweep --resume ")


# --- output ---------------------------------------------------------------------------------------------------------------------------


def test_json_on_stdout_stands_alone_and_is_the_file(tiny, tmp_path):
    done = run(FAKE, "sweep", "--device", "fake", "--config", tiny, "--out", str(tmp_path / "out"), "--json", "-", "--no-plot")
    assert done.returncode == 0, done.stderr
    check_schema(json.loads(done.stdout, parse_constant=refuse), "ceilings")
    (path,) = (tmp_path / "out" / "fake").iterdir()
    assert path.read_text() == done.stdout


def test_keys_stand_in_the_same_order_in_every_run(tiny, tmp_path):
    def keys(value: object) -> object:
        if isinstance(value, dict):
            return [(key, keys(item)) for key, item in value.items()]
        return [keys(item) for item in value[:1]] if isinstance(value, list) else None

    arguments = ("sweep", "--device", "fake", "--config", tiny, "--level", "L1", "--out", str(tmp_path), "--json", "-", "--no-plot")
    assert keys(json.loads(run(FAKE, *arguments).stdout)) == keys(json.loads(run(FAKE, *arguments).stdout))


def test_the_device_it_took_is_said_when_none_was_named(tiny, tmp_path):
    done = run(FAKE, "sweep", "--config", tiny, "--level", "L1", "--out", str(tmp_path), "--no-plot")
    assert "device: fake (Planted), the first usable one; choose another with --device" in done.stderr


# --- wrong orders ---------------------------------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the program says as it refuses an order with exit code 1; nothing goes to stdout."""
    assert ert.cli.run(ert.cli.cli, ["sweep", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device", "cpuu"), "--device cpuu: unknown. Did you mean 'cpu'?"),
        (("--device", "cpu:1"), "--device cpu:1: there is one CPU device, called 'cpu'."),
        (("--precision", "fp46"), "--precision fp46: unknown. Did you mean 'fp64'?"),
        (("--level", "dram"), "--level dram: unknown. Did you mean 'DRAM'?"),
        (("--level", "shared"), "--level shared: this device has L1"),
        (("--config", "quik"), "--config quik: no such sweep. Did you mean 'quick'?"),
        (("--config", "nowhere.toml"), "--config nowhere.toml: cannot be read: No such file or directory."),
        (("--threads", "0"), "--threads 0: this process may use 1 to "),
        (("--threads", "-1"), "--threads -1: this process may use 1 to "),
        (("--threads", "100000"), "--threads 100000: this process may use 1 to "),
        (("--resume", "nowhere.points.jsonl"), "nowhere.points.jsonl: cannot be read: No such file or directory."),
    ],
)
def test_a_wrong_order_is_refused_with_the_option_and_the_nearest_name(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, "--device", "cpu", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_slip_in_a_sweep_file_names_file_section_and_key(tmp_path, capsys):
    (tmp_path / "own.toml").write_text("[sampling]\nmin_tim_s = 1\n")
    said = refused(capsys, "--config", str(tmp_path / "own.toml"))
    assert f"{tmp_path}/own.toml: [sampling] min_tim_s is unknown. Did you mean 'min_time_s'?" in said


@pytest.mark.parametrize("arguments", [("--threads", "two"), ("--no-such-option",), ("extra",)])
def test_wrong_usage_exits_two(arguments):
    assert ert.cli.run(ert.cli.cli, ["sweep", *arguments]) == 2


def test_a_sweep_that_leaves_nothing_to_measure_says_so_at_once(tmp_path, capsys):
    (tmp_path / "none.toml").write_text("[curve]\nsmallest_bytes_per_core = 1073741824\nlargest_bytes = 1048576\n")
    assert "0 working sets to measure" in refused(capsys, "--config", str(tmp_path / "none.toml"), "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


# --- compilers ------------------------------------------------------------------------------------------------------------------------


def test_without_a_compiler_it_says_what_was_tried_and_what_to_install(tmp_path):
    done = real("--out", str(tmp_path / "out"), CC="/nonexistent/cc")
    assert done.returncode == 1
    assert "No C compiler works (looked for CC). /nonexistent/cc does not run: No such file or directory." in done.stderr
    assert "Install gcc or clang, set CC, or `pip install 'ert-roofline[cc]'`" in done.stderr
    assert not (tmp_path / "out").exists()


def compiler(folder: Path, body: str) -> str:
    path = folder / "mycc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_compiler_that_fails_is_quoted(tmp_path):
    done = real("--out", str(tmp_path / "out"), CC=compiler(tmp_path, "echo 'fatal: no licence' >&2; exit 3"))
    assert done.returncode == 1
    assert "mycc does not run: fatal: no licence" in done.stderr


def test_a_compiler_that_cannot_compile_kernels_is_quoted_with_the_kernel(tmp_path):
    broken = 'case "$*" in *" -S "*) echo "internal error 17" >&2; exit 1;; esac; exec cc "$@"'
    done = real("--out", str(tmp_path / "out"), CC=compiler(tmp_path, broken))
    assert done.returncode == 1
    assert "could not compile kernel runtime" in done.stderr
    assert "internal error 17" in done.stderr


def test_a_compiler_variable_that_is_no_command_line_is_refused():
    done = real(CC="cc '")
    assert done.returncode == 1
    assert "CC=cc ': not a command line: No closing quotation." in done.stderr


# --- kernels that lie -----------------------------------------------------------------------------------------------------------------

LIES = Path(__file__).parent / "data" / "kernels"


def test_kernels_that_lie_become_error_rows_beside_an_honest_one_and_make_no_ceiling(tiny, tmp_path):
    folder = tmp_path / "kernels"
    shutil.copytree(LIES, folder)
    (folder / "fma.c").write_text(load_kernels("cpu")["fma"].source)
    arguments = ("--config", tiny, "--threads", "1", "--level", "L1", "--precision", "fp64", "--out", str(tmp_path / "out"), "--no-plot")
    done = real(*arguments, ERT_KERNELS_CPU=str(folder))
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out" / "cpu").glob("*.json")
    ceilings = ert.load(path)
    assert {p.kernel for p in ceilings.points if p.status == "error"} == {lie.stem for lie in LIES.glob("*.c")}
    assert all(p.reason and not p.samples_s for p in ceilings.points if p.status == "error")
    assert {c.kernel for c in ceilings.all_ceilings} == {"fma"}
    (warning,) = (w for w in ceilings.warnings if w.code == "points_failed")
    assert "ert kernels --verify" in (warning.remedy or "")


def test_a_sweep_of_nothing_but_lies_is_an_error_and_writes_no_file(tiny, tmp_path):
    done = real("--config", tiny, "--threads", "1", "--level", "L1", "--out", str(tmp_path / "out"), ERT_KERNELS_CPU=str(LIES))
    assert done.returncode == 1
    assert re.search(r"None of the \d+ points could be measured\. The first, ", done.stderr)
    assert not list((tmp_path / "out").rglob("*.*"))


def test_verifying_the_lies_exits_one_and_names_each():
    done = run([PROGRAM], "kernels", "--verify", ERT_KERNELS_CPU=str(LIES))
    assert done.returncode == 1
    assert "8 of 8 kernel variants failed" in done.stderr
    for lie in LIES.glob("*.c"):
        assert f"failed: {lie.stem}/fp64" in done.stdout


def test_a_kernel_folder_that_is_not_there_names_the_variable():
    done = real(ERT_KERNELS_CPU="/nowhere")
    assert done.returncode == 1
    assert "ERT_KERNELS_CPU=/nowhere: no such folder. Name one that holds kernel files, or unset it." in done.stderr


# --- places that cannot be written ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "/dev/full/deeper"])
def test_an_output_folder_that_cannot_be_made_is_named(tiny, capsys, monkeypatch, place):
    monkeypatch.setattr(ert.devices, "BACKENDS", {"fake": ("fake_device", None)})
    said = refused(capsys, "--device", "fake", "--config", tiny, "--out", place)
    assert f"{place}/fake: cannot be written: " in said
    assert "--out" in said


def test_an_output_folder_that_is_not_there_is_made(tiny, tmp_path):
    done = run(FAKE, "sweep", "--device", "fake", "--config", tiny, "--out", str(tmp_path / "a" / "b"), "--no-plot")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "a" / "b" / "fake").glob("*.json"))) == 1


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


def test_a_home_that_cannot_be_written_costs_a_warning_and_no_more(tiny, tmp_path):
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
        env={**environment, "HOME": "/dev/null", "TMPDIR": str(scratch)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "the kernel cache /dev/null/.cache/ert cannot be written (Not a directory)" in done.stdout
    assert "ERT_CACHE_DIR" in done.stdout
    left = {path.name for path in scratch.iterdir() if not path.name.endswith(".lock")}
    assert left == set()  # what was compiled goes with the process


def test_without_home_at_all_the_program_runs():
    environment = {k: v for k, v in os.environ.items() if k != "HOME"}
    assert subprocess.run([PROGRAM, "sweep", "--help"], env=environment, capture_output=True, check=False).returncode == 0


# --- two at once, stopped, killed -----------------------------------------------------------------------------------------------------


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
        assert f"Interrupted. What was measured is kept; go on with: ert sweep --resume {held.journal} and the same options." in stderr
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
    assert second.returncode == 1
    assert f"fake: is being swept already by process {held.process.pid} on {os.uname().nodename} since " in second.stderr
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
