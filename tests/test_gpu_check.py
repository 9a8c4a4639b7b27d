"""``make gpu-check`` on a soft GPU: it runs to its end, says what falls short, and whatever ends it leaves what it found."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from softcuda.devices import H200_LIKE, environment

ROOT = Path(__file__).parent.parent
CHECK = ROOT / "bench" / "gpu_check.py"
DATA = Path(__file__).parent / "data" / "cuda"
# One level and two precisions: what a row looks like does not depend on how many there are.
LESS = '[levels]\nonly = ["DRAM"]\n[precisions]\nonly = ["bf16", "fp64"]\n'
NO_SWEEPS = ("--sweeps", "nowhere.toml", "nowhere.toml")


def less(folder: Path, name: str) -> str:
    """A smaller sweep than that of this name."""
    path = folder / name
    path.write_text((DATA / name).read_text() + LESS)
    return str(path)


def start(folder, *arguments, devices=(H200_LIKE,), **options):
    return subprocess.Popen(
        [sys.executable, str(CHECK), "--out", str(folder), *arguments],
        env=environment(devices, **options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def table_of(folder: Path) -> list[str]:
    (kept,) = folder.glob("cuda-0/gpu-check-*.txt")
    return kept.read_text().splitlines()


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Rows by their first words, exit code and files of a check of a device that is an H200 by name and reads DRAM too slowly."""
    folder, configs = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("configs")
    ceilings = {**H200_LIKE.ceilings, "dram": 4.2e12, "mma_bf16": 820e12, "cap_s": 0.15, "cap_clock": 0.8}
    sweeps = (less(configs, "few.toml"), less(configs, "sustained.toml"))
    process = start(folder, "--sweeps", *sweeps, devices=[replace(H200_LIKE, name="NVIDIA H200", ceilings=ceilings)])
    stdout, stderr = process.communicate(timeout=300)
    assert "Traceback" not in stderr, stderr
    rows = {line[:28].strip(): line for line in stdout.splitlines()}
    return rows, process.returncode, sorted(path.name for path in folder.glob("cuda-0/*")), stdout


def test_what_falls_short_is_marked_and_makes_the_exit_code_3(checked):
    rows, code, _, stdout = checked
    assert code == 3, stdout
    assert rows["DRAM read"].endswith("SHORT")
    assert ">= 4.35 TB/s" in rows["DRAM read"]
    assert rows["bf16 tensor"].endswith("ok")


def test_a_ceiling_stands_beside_its_clock_power_and_kernel(checked):
    rows, _, _, _ = checked
    assert "1980 MHz 350 W read " in rows["DRAM read"]
    # Planted: after 0.15 s the clock falls to 0.8 of 1980 MHz.
    assert "1584 MHz" in rows["bf16 tensor"]
    assert "TFLOP/s at first" in rows["bf16 tensor"]


def test_latencies_zeros_what_is_not_sustained_and_warnings_are_rows(checked):
    rows, _, _, _ = checked
    for what in ("DRAM latency", "bf16 tensor mma on zeros", "bf16 tensor mma sustained", "launch overhead", "driver's device copy"):
        assert what in rows
    assert "0.80 of the first seconds" in rows["bf16 tensor mma sustained"]


def test_the_machine_is_described(checked):
    rows, _, _, _ = checked
    assert "NVIDIA H200, 132 SMs, 131.3 GiB, GPU-11111111-2222-3333-4444-555555555555" in rows["device"]
    assert "power_limit_w 700.0" in rows["state"]
    assert "other processes on the device: 0" in rows["NVML"]


def test_the_first_sweep_is_repeated_and_compared(checked):
    rows, _, files, _ = checked
    assert rows["two sweeps"].endswith("ok")
    assert "0 of " in rows["two sweeps"]
    assert len([name for name in files if name.endswith(".json")]) == 3


def test_table_and_log_are_kept(checked):
    _, _, files, _ = checked
    assert [Path(name).suffix for name in files if name.startswith("gpu-check-")] == [".log", ".txt"]


def test_steps_that_fail_cost_their_own_rows_and_the_log_says_why(tmp_path):
    process = start(tmp_path, *NO_SWEEPS)
    stdout, _ = process.communicate(timeout=200)
    assert process.returncode == 1
    failed = [line for line in stdout.splitlines() if line.endswith("FAILED")]
    assert [line.partition("  ")[0] for line in failed] == ["nowhere.toml sweep"] * 2 + ["nowhere.toml sweep again"]
    assert "ended with status 1: Error: --config nowhere.toml: cannot be read: No such file or directory.; it measured nothing" in failed[0]
    assert sum("not measured: cuBLAS is not installed" in line for line in stdout.splitlines()) == 4
    assert table_of(tmp_path) == stdout.splitlines()
    assert table_of(tmp_path)[-1].startswith("0 rows fall short, 3 steps failed, 0 were not run; ")
    (log,) = tmp_path.glob("cuda-0/gpu-check-*.log")
    assert "Error: --config nowhere.toml: " in log.read_text()


def test_what_no_longer_fits_is_a_row(tmp_path):
    process = start(tmp_path, *NO_SWEEPS, "--limit-s", "100", "--started", str(time.time() - 95))
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    *rows, last = stdout.splitlines()
    assert len(rows) == 10
    assert all("not run: no time left" in row and row.endswith("NOT RUN") for row in rows)
    assert last.startswith("0 rows fall short, 0 steps failed, 10 were not run; ")
    assert table_of(tmp_path) == stdout.splitlines()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_a_sweep_leaves_the_table_the_log_and_the_samples(tmp_path, number):
    process = start(tmp_path, "--sweeps", str(DATA / "few.toml"), str(DATA / "few.toml"))
    wait_for(lambda: [path for path in tmp_path.glob("cuda-0/*.points.jsonl") if path.read_text().count("\n") > 1])
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in stderr
    assert table_of(tmp_path)[0].startswith("device ")
    assert table_of(tmp_path)[-1].startswith(f"stopped by {number.name}; ")
    assert table_of(tmp_path) == stdout.splitlines()
    (journal,) = tmp_path.glob("cuda-0/*.points.jsonl")
    assert len([json.loads(line) for line in journal.read_text().splitlines()]) > 1


def test_killed_at_any_moment_every_row_that_was_printed_is_on_disk(tmp_path):
    process = start(tmp_path, *NO_SWEEPS)
    printed = [process.stdout.readline() for _ in range(3)]
    process.kill()
    process.communicate()
    *rows, last = table_of(tmp_path)
    assert [line.rstrip("\n") for line in printed] == rows[:3]
    assert last.startswith("not finished; ")


def wait_for(is_true, patience_s=60.0):
    end_s = time.monotonic() + patience_s
    while not is_true():
        assert time.monotonic() < end_s
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("devices", "options", "words"),
    [((H200_LIKE,), {"faults": "busy"}, "exclusive use by another program"), ((), {}, "No GPU can be used")],
)
def test_a_device_that_nobody_can_have_fails_every_step_in_words(tmp_path, devices, options, words):
    process = start(tmp_path, *NO_SWEEPS, devices=devices, **options)
    stdout, stderr = process.communicate(timeout=200)
    assert process.returncode == 1
    assert "Traceback" not in stderr
    *rows, _ = stdout.splitlines()
    assert len(rows) == 10
    assert all(row.endswith("FAILED") for row in rows)
    assert words in rows[0]


def rows_of_step(name: str, device=H200_LIKE, **options) -> dict[str, str]:
    """One step alone, as a person runs it who wants to see a witness again."""
    command = [sys.executable, str(CHECK), "--step", name]
    done = subprocess.run(command, env=environment([device], **options), capture_output=True, text=True, check=True, timeout=100)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["what"]: row["found"] for row in rows}


@pytest.mark.parametrize(
    ("nvml", "code", "words"),
    [
        ("absent", "no_nvml", "NVML does not start"),
        ("forbidden", "no_nvml", "Insufficient Permissions"),
        ("unsupported", "no_clocks", "NVML tells no clock"),
    ],
)
def test_what_nvml_does_not_tell_is_said(nvml, code, words):
    rows = rows_of_step("machine", nvml=nvml)
    assert words in rows[f"warning {code}"]
    assert "power_limit_w unknown" in rows["state"]


def test_a_slice_of_a_device_is_called_one():
    rows = rows_of_step("machine", replace(H200_LIKE, name="NVIDIA H200 MIG 1g.18gb"))
    assert "is_mig True" in rows["state"]


def test_code_that_cannot_be_looked_at_costs_a_word():
    # The soft compiler makes no machine code.
    assert rows_of_step("code")["compiled code"].startswith("not checked: ")


def test_libraries_of_a_toolkit_are_found_by_what_the_check_starts(tmp_path):
    for name in ("include/cuda.h", "include/cudaProfiler.h", "lib64/libcublas.so"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    given = {**os.environ, "CUDA_HOME": str(tmp_path), "PYTHONPATH": str(CHECK.parent), "LD_LIBRARY_PATH": "/given"}
    code = "import os; from gpucheck.programs import environment; print(environment(os.environ)['LD_LIBRARY_PATH'])"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    folders = done.stdout.strip().split(":")
    assert folders[0] == "/given"
    assert folders[-1] == str(tmp_path / "lib64")
