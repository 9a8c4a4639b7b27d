"""``ert sweep`` as a program: its output, its exit codes, what it says to wrong orders, bad compilers and lying kernels."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema
from sweep_program import FAKE, TINY, refuse, run, tiny_sweep

import ert
import ert.cli
from ert.kernels import load_kernels


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return tiny_sweep(tmp_path)


def real(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run([PROGRAM], "sweep", "--device", "cpu", *arguments, **environment)


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
    assert {p.precision for p in ceilings.points if p.measures == "compute" and p.samples_s} >= {"fp64", "fp32"}
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


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 1) -> str:
    """What the program says as it refuses an order; nothing goes to stdout."""
    assert ert.cli.execute(ert.cli.cli, ["sweep", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--precision", "fp46"), 2, "--precision fp46: unknown. Did you mean 'fp64'?"),
        (("--level", "dram"), 2, "--level dram: unknown. Did you mean 'DRAM'?"),
        (("--level", "shared"), 1, "--level shared: this device has L1"),
        (("--config", "quik"), 2, "--config quik: no such sweep. Did you mean 'quick'?"),
        (("--config", "nowhere.toml"), 1, "--config nowhere.toml: cannot be read: No such file or directory."),
        (("--threads", "0"), 2, "'--threads': 0 is not in the range x>=1"),
        (("--threads", "-1"), 2, "'--threads': -1 is not in the range x>=1"),
        (("--threads", "100000"), 1, "--threads 100000: this process may use 1 to "),
        (("--resume", "nowhere.points.jsonl"), 1, "nowhere.points.jsonl: cannot be read: No such file or directory."),
    ],
)
def test_a_wrong_order_is_refused_with_the_option_and_the_nearest_name(tmp_path, capsys, arguments, code, said):
    assert said in refused(capsys, "--device", "cpu", "--out", str(tmp_path), *arguments, code=code)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("device", "code", "said"),
    [
        ("cpuu", 2, "'--device': cpuu: unknown. Did you mean 'cpu'? Known: cpu, cuda:0 (short: 0), a GPU's UUID, all (`ert devices`)."),
        ("cuda:x", 2, "'--device': cuda:x: unknown. Did you mean 'cuda'?"),
        ("-1", 2, "'--device': -1: unknown."),
        ("cpu:1", 1, "--device cpu:1: there is one CPU device, called 'cpu'."),
    ],
)
def test_a_device_that_no_machine_has_is_wrong_usage_and_one_that_this_machine_lacks_an_error(capsys, device, code, said):
    assert said in refused(capsys, "--device", device, code=code)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "[sampling]\n", 'summary = "mine"\n'])
def test_a_sweep_file_that_sets_nothing_says_that_it_is_the_default_sweep(tmp_path, text):
    (tmp_path / "own.toml").write_text(text)
    only = ("--level", "L1", "--precision", "fp64", "--no-plot", "--out", "out")
    done = run(FAKE, "sweep", "--device", "fake", "--config", "own.toml", *only, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Warning: own.toml sets nothing: this is the default sweep. Write the keys")
    assert "Warning" not in run(FAKE, "sweep", "--device", "fake", *only, cwd=tmp_path).stderr


def test_a_slip_in_a_sweep_file_names_file_section_and_key(tmp_path, capsys):
    (tmp_path / "own.toml").write_text("[sampling]\nmin_tim_s = 1\n")
    said = refused(capsys, "--config", str(tmp_path / "own.toml"))
    assert f"{tmp_path}/own.toml: [sampling] min_tim_s is unknown. Did you mean 'min_time_s'?" in said


@pytest.mark.parametrize("arguments", [("--threads", "two"), ("--no-such-option",), ("extra",)])
def test_wrong_usage_exits_two(arguments):
    assert ert.cli.execute(ert.cli.cli, ["sweep", *arguments]) == 2


def test_a_sweep_that_leaves_nothing_to_measure_says_so_at_once(tmp_path, capsys):
    (tmp_path / "none.toml").write_text("[curve]\nsmallest_bytes_per_core = 1073741824\nlargest_bytes = 1048576\n")
    assert "0 working sets to measure" in refused(capsys, "--config", str(tmp_path / "none.toml"), "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


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
    assert {p.kernel for p in ceilings.points if p.samples_s} == {"fma"}
    # Beside a neighbour the clock can look slower than it is, and the honest one's ceiling is refused as too high.
    assert {c.kernel for c in ceilings.all_ceilings} <= {"fma"}
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
