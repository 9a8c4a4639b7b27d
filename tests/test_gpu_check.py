"""``make gpu-check`` on a soft GPU: it runs to its end, says what falls short, and writes what it found as it finds it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from softcuda.devices import H200_LIKE, environment

BENCH = Path(__file__).parent.parent / "bench"
FEW = str(Path(__file__).parent / "data" / "cuda" / "few.toml")
SUSTAINED = str(Path(__file__).parent / "data" / "cuda" / "sustained.toml")


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Rows by their first words, exit code and files of a check of a device that is an H200 by name and reads DRAM too slowly."""
    folder = tmp_path_factory.mktemp("results")
    ceilings = {**H200_LIKE.ceilings, "dram": 4.2e12, "mma_bf16": 820e12, "cap_s": 0.15, "cap_clock": 0.8}
    done = subprocess.run(
        [sys.executable, str(BENCH / "gpu_check.py"), "--out", str(folder), "--sweeps", SUSTAINED, FEW],
        env=environment([replace(H200_LIKE, name="NVIDIA H200", ceilings=ceilings)]),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "Traceback" not in done.stderr, done.stderr
    rows = {line[:28].strip(): line for line in done.stdout.splitlines()}
    return rows, done.returncode, sorted(path.name for path in folder.glob("cuda-0/*"))


def test_what_falls_short_is_marked_and_makes_the_exit_code_3(checked):
    rows, code, _ = checked
    assert code == 3
    assert rows["DRAM read"].endswith("SHORT")
    assert ">= 4.35 TB/s" in rows["DRAM read"]
    assert rows["bf16 tensor"].endswith("ok")


def test_both_readings_of_l2_latencies_zeros_and_what_is_not_sustained_are_rows(checked):
    rows, _, _ = checked
    for what in ("DRAM latency", "bf16 tensor mma on zeros", "bf16 tensor mma sustained"):
        assert what in rows
    assert "0.80 of the first seconds" in rows["bf16 tensor mma sustained"]


def test_two_sweeps_and_the_table_are_kept(checked):
    _, _, files = checked
    assert len([name for name in files if name.endswith(".json")]) == 2
    assert len([name for name in files if name.startswith("gpu-check-")]) == 1


# The check with the program's own parts replaced by lines of a test.
PLANTED = """
import sys
import gpu_check
{plant}
sys.exit(gpu_check.main())
"""
BROKEN_COPY = """
def broken(device):
    raise RuntimeError("the copy\\nbroke off")
gpu_check.copy_rate = broken
"""
NO_SWEEPS = ("--sweeps", "nowhere.toml", "nowhere.toml")


def start(folder, plant, *arguments, devices=(H200_LIKE,), **options):
    return subprocess.Popen(
        [sys.executable, "-c", PLANTED.format(plant=plant), "--out", str(folder), *arguments],
        env=with_bench(environment(devices, **options)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def with_bench(given):
    return {**given, "PYTHONPATH": f"{BENCH}:{given['PYTHONPATH']}"}


def test_a_sweep_and_a_witness_that_fail_cost_their_own_rows_and_the_exit_code_says_so(tmp_path):
    process = start(tmp_path, BROKEN_COPY, *NO_SWEEPS)
    stdout, stderr = process.communicate(timeout=200)
    assert process.returncode == 1
    rows = [line[:28].strip() for line in stdout.splitlines()]
    assert rows[1:-1] == ["nowhere.toml sweep"] * 2 + ["driver's device copy", "cuBLAS bf16 GEMM", "cuBLAS fp16 GEMM"]
    _, first, _, copy, *gemms, last = stdout.splitlines()
    assert "ended with status 1" in first and first.endswith("FAILED")
    assert "RuntimeError: the copy broke off" in copy and copy.endswith("FAILED")
    assert all("not measured: cuBLAS is not installed" in row for row in gemms)
    assert last.startswith("0 rows fall short, 3 steps failed; ")
    (kept,) = tmp_path.glob("cuda-0/gpu-check-*.txt")
    assert kept.read_text() == stdout
    assert "nowhere.toml: " in stderr


def test_every_row_is_on_disk_when_it_is_printed(tmp_path):
    wait = "gpu_check.sweep_rows = lambda *_: iter(lambda: __import__('time').sleep(0.1), 1)"
    process = start(tmp_path, wait, *NO_SWEEPS)
    try:
        row = process.stdout.readline()
        (kept,) = tmp_path.glob("cuda-0/gpu-check-*.txt")
        assert kept.read_text().startswith(f"{row}not finished; ")
    finally:
        process.kill()
        process.communicate()


def test_a_device_that_nobody_can_have_fails_every_step_in_words(tmp_path):
    process = start(tmp_path, "", *NO_SWEEPS, faults="busy")
    stdout, stderr = process.communicate(timeout=200)
    assert process.returncode == 1
    assert "Traceback" not in stderr
    assert [line.endswith("FAILED") for line in stdout.splitlines()] == [True] * 6 + [False]


def test_without_a_gpu_nothing_is_written(tmp_path):
    process = start(tmp_path, "", *NO_SWEEPS, devices=())
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.startswith("Error: ")
    assert list(tmp_path.iterdir()) == []
