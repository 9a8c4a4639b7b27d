"""``ert sweep`` as a program: its output, its exit codes, and every way a run can be refused, stopped or killed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema

import ert
from ert.journal import read_journal

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
def test_a_wrong_order_is_refused_with_the_option_and_the_nearest_name(tmp_path, arguments, said):
    done = run([PROGRAM], "sweep", "--device", "cpu", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_slip_in_a_sweep_file_names_file_section_and_key(tmp_path):
    (tmp_path / "own.toml").write_text("[sampling]\nmin_tim_s = 1\n")
    done = real("--config", str(tmp_path / "own.toml"))
    assert done.returncode == 1
    assert f"{tmp_path}/own.toml: [sampling] min_tim_s is unknown. Did you mean 'min_time_s'?" in done.stderr


@pytest.mark.parametrize("arguments", [("--threads", "two"), ("--no-such-option",), ("extra",)])
def test_wrong_usage_exits_two(arguments):
    assert real(*arguments).returncode == 2


def test_a_sweep_that_leaves_nothing_to_measure_says_so_at_once(tmp_path):
    (tmp_path / "none.toml").write_text("[curve]\nsmallest_bytes_per_core = 1073741824\nlargest_bytes = 1048576\n")
    done = real("--config", str(tmp_path / "none.toml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "0 working sets to measure" in done.stderr
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


# --- places that cannot be written ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "/dev/full/deeper"])
def test_an_output_folder_that_cannot_be_made_is_named(tiny, place):
    done = run(FAKE, "sweep", "--device", "fake", "--config", tiny, "--out", place)
    assert done.returncode == 1
    assert f"{place}/fake: cannot be written: " in done.stderr
    assert "--out" in done.stderr


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
    arguments = ("sweep", "--device", "fake", "--config", tiny, "--out", str(tmp_path / "out"), "--no-plot")
    done = limited(8000, *arguments)
    assert done.returncode == 1
    assert "points.jsonl: cannot be written: File too large. Free space there, or choose another folder with --out." in done.stderr
    assert "What was measured is kept: go on with --resume" in done.stderr
    (journal,) = (tmp_path / "out" / "fake").iterdir()
    kept = len(read_journal(journal).visits)
    assert kept > 5
    resumed = run(FAKE, *arguments, "--resume", str(journal))
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
        [PROGRAM, "sweep", "--device", "cpu", "--config", tiny, "--threads", "1", "--level", "L1", "--precision", "fp64", "--out", "out"],
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


def fake_sweep(tiny: str, out: Path, *more: str, sample_s: float = 0.01) -> subprocess.Popen[str]:
    arguments = ("sweep", "--device", "fake", "--config", tiny, "--level", "L1", "--out", str(out), "--no-plot", *more)
    return start(FAKE, *arguments, FAKE_SAMPLE_S=str(sample_s))


def journal_with(process: subprocess.Popen[str], out: Path, lines: int) -> Path:
    """The journal of a running sweep as soon as it holds so many lines."""
    for _ in range(6000):
        assert process.poll() is None, process.communicate()
        for path in out.glob("fake/*.points.jsonl"):
            if path.read_bytes().count(b"\n") >= lines:
                return path
        time.sleep(0.01)
    raise AssertionError("no journal appeared")


def check_complete(path: Path, before: dict[str, int]) -> None:
    """Every point has its six samples, and those measured before the stop are still there."""
    ceilings = ert.load(path)
    points = {p.id: len(p.samples_s) for p in ceilings.points if p.status == "ok"}
    assert set(points.values()) == {6}
    assert set(before) <= set(points)
    assert ceilings.bandwidth_ceilings
    assert len(ceilings.environment["resumed"]) == 1


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=["ctrl-c", "sigterm", "kill -9"]
)
def test_a_sweep_stopped_in_the_middle_is_completed_by_resume_and_nothing_is_measured_twice(tiny, tmp_path, number, code):
    process = fake_sweep(tiny, tmp_path / "out")
    journal = journal_with(process, tmp_path / "out", 8)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in stderr
    if code > 0:
        assert f"Interrupted. What was measured is kept; go on with: ert sweep --resume {journal} and the same options." in stderr
    visits = read_journal(journal).visits
    assert len(visits) >= 7
    resumed = fake_sweep(tiny, tmp_path / "out", "--resume", str(journal), sample_s=0)
    _, stderr = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, stderr
    (path,) = (tmp_path / "out" / "fake").iterdir()
    check_complete(path, {visit.id: len(visit.samples) for visit in visits})


def test_a_second_sweep_on_the_same_device_is_refused_naming_the_first_and_both_results_are_whole(tiny, tmp_path):
    first = fake_sweep(tiny, tmp_path / "out")
    journal_with(first, tmp_path / "out", 3)
    second = fake_sweep(tiny, tmp_path / "out")
    _, stderr = second.communicate(timeout=60)
    assert second.returncode == 1
    assert f"fake: is being swept already by process {first.pid} on {os.uname().nodename} since " in stderr
    _, stderr = first.communicate(timeout=60)
    assert first.returncode == 0, stderr
    (path,) = (tmp_path / "out" / "fake").iterdir()
    check_schema(json.loads(path.read_text(), parse_constant=refuse), "ceilings")


def test_after_a_kill_the_next_sweep_starts_at_once(tiny, tmp_path):
    first = fake_sweep(tiny, tmp_path / "out", sample_s=1)
    journal_with(first, tmp_path / "out", 1)
    first.kill()
    first.communicate()
    second = fake_sweep(tiny, tmp_path / "out", sample_s=0)
    _, stderr = second.communicate(timeout=60)
    assert second.returncode == 0, stderr
    assert len(list((tmp_path / "out" / "fake").glob("*.json"))) == 1


def test_a_real_sweep_of_the_cpu_is_stopped_by_ctrl_c_and_resumed(tmp_path):
    slow = tmp_path / "slow.toml"
    slow.write_text(TINY.replace("min_time_s = 2e-5", "min_time_s = 2e-3").replace("max_samples = 6", "max_samples = 12"))
    arguments = ("--device", "cpu", "--config", str(slow), "--threads", "1", "--level", "L1", "--precision", "fp64", "--no-plot")
    process = start([PROGRAM], "sweep", *arguments, "--out", str(tmp_path / "out"))
    for _ in range(6000):
        assert process.poll() is None, process.communicate()
        journals = list((tmp_path / "out").glob("cpu/*.points.jsonl"))
        if journals and journals[0].read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    visits = read_journal(journals[0]).visits
    done = run([PROGRAM], "sweep", *arguments, "--resume", str(journals[0]))
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out" / "cpu").glob("*.json")
    points = {p.id: p for p in ert.load(path).points}
    assert all(points[v.id].samples_s[:6] == tuple(s.time_s for s in v.samples) for v in visits[:3])


def test_a_journal_of_another_device_is_refused_and_kept(tiny, tmp_path):
    process = fake_sweep(tiny, tmp_path / "out")
    journal = journal_with(process, tmp_path / "out", 4)
    process.kill()
    process.communicate()
    content = journal.read_bytes()
    arguments = ("sweep", "--device", "fake", "--config", tiny, "--level", "L1", "--resume", str(journal))
    done = run(FAKE, *arguments, FAKE_NAME="Another machine")
    assert done.returncode == 1
    assert "its device differs: name was 'Planted', here it is 'Another machine'. Start a new sweep." in done.stderr
    assert journal.read_bytes() == content
