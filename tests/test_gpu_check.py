"""``make gpu-check`` on a soft GPU: it runs to its end, says what falls short, and writes what it found."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from softcuda.devices import H200_LIKE, environment

ROOT = Path(__file__).parent.parent
FEW = str(Path(__file__).parent / "data" / "cuda" / "few.toml")
SUSTAINED = str(Path(__file__).parent / "data" / "cuda" / "sustained.toml")


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Rows by their first words, exit code and files of a check of a device that is an H200 by name and reads DRAM too slowly."""
    folder = tmp_path_factory.mktemp("results")
    ceilings = {**H200_LIKE.ceilings, "dram": 4.2e12, "mma_bf16": 820e12, "cap_s": 0.15, "cap_clock": 0.8}
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "gpu_check.py"), "--out", str(folder), "--sweeps", SUSTAINED, FEW],
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
