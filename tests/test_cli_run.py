"""``ert run`` as a program, on small sizes: what it writes, what it says, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from example_gpu import EXAMPLE_GPU
from programs import check_schema
from softcuda.devices import H200_LIKE, environment

from ert.ceilings import save
from ert.lock import device_lock

CPU = replace(EXAMPLE_GPU, device={"id": "cpu", "kind": "cpu", "name": "made up"})


def ert(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("ert")
    wide = {**(env or os.environ), "COLUMNS": "200"}
    return subprocess.run([program, "run", *arguments], capture_output=True, text=True, cwd=cwd, env=wide, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two ceilings files of the CPU, as sweeps leave them."""
    for name in ("20261201T020000Z.json", "20261202T020000Z.json"):
        save(CPU, tmp_path / "results" / "cpu" / name)
    return tmp_path


def test_axpy_is_measured_placed_checked_and_drawn(folder: Path):
    done = ert("axpy", "--device", "cpu", "--precision", "fp32", "--size", "65536", "--stride", "8", "--stride", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "axpy fp32 own [stride 1]" in done.stdout and "axpy fp32 library [stride 8]" in done.stdout
    assert "Predictions" in done.stdout and "stride 8 -> 1" in done.stdout
    assert "6 of 6 measured" in done.stderr
    (picture,) = (folder / "results" / "cpu").glob("*axpy.png")
    assert picture.stat().st_size > 5000


def test_json_is_a_comparison_with_the_predictions_beside_it(folder: Path):
    done = ert("gemm", "--device", "cpu", "--precision", "fp64", "--size", "96", "--size", "192", "--no-plot", "--json", "-", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    check_schema(document, "comparison")
    assert document["workload"] == "gemm"
    assert [(k["name"], k["label"]) for k in document["kernels"]] == [
        (f"gemm fp64 {by}", f"N={n}") for by in ("own", "library") for n in (96, 192)
    ]
    assert document["kernels"][0]["flops"] == {"fp64": 2 * 96**3}
    assert {p["verdict"] for p in document["predictions"]} <= {"confirmed", "refuted"}
    assert not list((folder / "results" / "cpu").glob("*.png"))


def test_a_picture_that_cannot_be_written_does_not_cost_the_numbers(folder: Path):
    (folder / "file").write_text("in the way")
    ceilings = "results/cpu/20261201T020000Z.json"
    sizes = ("--precision", "fp32", "--size", "4096", "--kernel", "own")
    done = ert("vecadd", "--device", "cpu", *sizes, "--ceilings", ceilings, "--out", "file/under", "--json", "v.json", cwd=folder)
    assert done.returncode == 1
    assert "cannot be written: Not a directory" in done.stderr
    assert "vecadd fp32 own" in done.stdout
    assert json.loads((folder / "v.json").read_text())["workload"] == "vecadd"


def test_vecadd_with_own_kernels_only_and_a_named_file(tmp_path: Path):
    save(CPU, tmp_path / "roof.json")
    done = ert("vecadd", "--device", "cpu", "--kernel", "own", "--size", "4096", "--ceilings", "roof.json", "--no-plot", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "vecadd fp64 own" in done.stdout and "library" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("gemm", "--size", "100"), 2, "--size 100"),
        (("axpy", "--size", "0"), 2, "'--size': 0 is not in the range x>=1"),
        (("axpy", "--size", "-1"), 2, "'--size': -1 is not in the range x>=1"),
        (("axpy", "--size", "4G"), 2, "'--size': '4G' is not a valid integer"),
        (("axpy", "--size", ""), 2, "--size is empty"),
        (("vecadd", "--precision", "fp32", "--size", "274877906944"), 1, "--size 274877906944: 3298534883328 bytes are beyond the "),
        (("axpy", "--threads", "0"), 2, "'--threads': 0 is not in the range x>=1"),
        (("axpy", "--threads", "100000"), 1, "--threads 100000"),
        (("axpy", "--stride", "0"), 2, "'--stride': 0 is not in the range x>=1"),
        (("axpy", "--offset", "-4"), 2, "'--offset': -4 is not in the range x>=0"),
        (("axpy", "--device", "all"), 2, "'--device': all: unknown"),
        (("axpy", "--offset", "3"), 2, "--offset 3"),
        (("axpy", "--stride", "99999"), 2, "--stride 99999: from 1 to"),
        (("gemm", "--stride", "2"), 2, "--stride and --offset are for axpy"),
        (("fft",), 2, "'fft' is not one of"),
        (("axpy", "--ceilings", "none.json"), 1, "none.json: cannot be read"),
    ],
)
def test_wrong_wishes_name_the_option_and_print_nothing(folder: Path, arguments: tuple[str, ...], code: int, words: str):
    done = ert(*arguments, *(("--device", "cpu") if code == 1 else ()), cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_a_device_that_a_sweep_has_is_refused_naming_the_process(folder: Path):
    with device_lock("cpu"):
        done = ert("axpy", "--device", "cpu", cwd=folder)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"cpu: is being measured already by process {os.getpid()} on {os.uname().nodename} since " in done.stderr


def test_the_device_it_took_is_said_when_none_was_named(folder: Path):
    done = ert("vecadd", "--precision", "fp32", "--size", "4096", "--kernel", "own", "--no-plot", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "device: cpu (" in done.stderr and "the first usable one; choose another with --device" in done.stderr


def test_without_ceilings_it_says_how_to_get_them(tmp_path: Path):
    done = ert("axpy", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 1
    assert "ert sweep --device cpu" in done.stderr


def test_on_a_gpu_own_kernels_run_and_a_missing_cublas_is_told(tmp_path: Path):
    """The soft GPU executes the very same .cu sources on the CPU; it has no cuBLAS."""
    save(EXAMPLE_GPU, tmp_path / "roof.json")
    gpu = replace(H200_LIKE, says={**H200_LIKE.says, "sms": 2, "l2": 1 << 20, "mem": 1e9}, ceilings={})
    small = ("--device", "0", "--ceilings", "roof.json", "--no-plot", "--json", "-")
    for workload, size, names in (("axpy", "4096", {"axpy fp32 own", "axpy fp32 own unaligned"}), ("gemm", "64", {"gemm fp32 own"})):
        done = ert(workload, "--precision", "fp32", "--size", size, *small, cwd=tmp_path, env=environment([gpu]))
        assert done.returncode == 3, done.stderr
        document = json.loads(done.stdout)
        assert {k["name"] for k in document["kernels"]} == names
        assert all("cuBLAS is not installed" in s["reason"] for s in document["skipped"])


def test_help_ends_with_an_example(tmp_path: Path):
    assert "ert run gemm --precision fp32" in ert("--help", cwd=tmp_path).stdout
