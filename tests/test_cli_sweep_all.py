"""``ert sweep`` of several devices where there are no GPUs: all by one process, and each by a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from sweep_program import run, start, tiny_sweep

import ert.devices
from ert.devices import Listed, every_device
from ert.errors import DeviceError
from ert.lock import device_lock

TWO = [sys.executable, str(Path(__file__).with_name("two_fakes.py"))]


def listing(monkeypatch: pytest.MonkeyPatch, *devices: Listed) -> None:
    monkeypatch.setattr(ert.devices, "list_devices", lambda: list(devices))


NO_DRIVER = Listed("cuda", "NVIDIA GPU", "No GPU can be used: there is no driver.")
CPU = Listed("cpu", "CPU, 2 cores")


def test_all_are_the_gpus_where_there_are_gpus(monkeypatch):
    broken = Listed("cuda:1", "GPU", "no compiler")
    listing(monkeypatch, Listed("cuda:0", "GPU"), broken, CPU)
    assert [device.id for device in every_device()] == ["cuda:0", "cuda:1"]


def test_all_is_the_cpu_where_there_is_no_gpu(monkeypatch):
    listing(monkeypatch, NO_DRIVER, CPU)
    assert every_device() == [CPU]


def test_all_of_nothing_is_an_error_with_every_reason(monkeypatch):
    listing(monkeypatch, NO_DRIVER, Listed("cpu", "CPU", "no C compiler works"))
    with pytest.raises(DeviceError, match=r"cuda: No GPU can be used: there is no driver. cpu: no C compiler works"):
        every_device()


def test_each_device_has_its_files_and_its_table(tmp_path):
    done = run(TWO, "sweep", "--device", "all", "--config", tiny_sweep(tmp_path), "--out", str(tmp_path / "out"), "--level", "L1")
    assert done.returncode == 0, done.stderr
    for folder in ("fake-0", "fake-1"):
        assert {path.suffix for path in (tmp_path / "out" / folder).iterdir()} == {".json", ".png"}
    assert "(fake:0)" in done.stdout
    assert "(fake:1)" in done.stdout


def test_json_is_a_list_with_nothing_else_on_stdout(tmp_path):
    arguments = ("--config", tiny_sweep(tmp_path), "--out", str(tmp_path / "out"), "--level", "L1", "--no-plot", "--json", "-")
    done = run(TWO, "sweep", "--device", "all", *arguments)
    assert [each["device"]["uuid"] for each in json.loads(done.stdout)] == ["planted-0", "planted-1"]


@pytest.mark.parametrize("variable", ["SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"])
def test_each_process_of_a_launcher_measures_a_device_of_its_own(tmp_path, variable):
    arguments = ("sweep", "--config", tiny_sweep(tmp_path), "--out", str(tmp_path / "out"), "--level", "L1", "--no-plot")
    ranks = [start(TWO, *arguments, **{variable: str(rank)}) for rank in range(2)]
    for rank, process in enumerate(ranks):
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        assert f"device: fake:{rank} (Planted), of {variable}={rank}" in stderr
    assert [len(list((tmp_path / "out" / folder).glob("*.json"))) for folder in ("fake-0", "fake-1")] == [1, 1]


def test_a_process_too_many_is_told_how_many_to_start(tmp_path):
    done = run(TWO, "sweep", "--out", str(tmp_path / "out"), SLURM_LOCALID="2")
    assert done.returncode == 1
    assert "SLURM_LOCALID=2: no device is left for this process; here are: fake:0, fake:1." in done.stderr
    assert "--ntasks-per-node=2" in done.stderr
    assert not (tmp_path / "out").exists()


def test_processes_that_name_one_device_do_not_measure_it_twice(tmp_path):
    with device_lock("fake:0"):
        done = run(TWO, "sweep", "--device", "fake:0", "--out", str(tmp_path / "out"), SLURM_LOCALID="1")
    assert done.returncode == 4
    assert "fake:0: is being measured already by process" in done.stderr


def test_all_is_one_process_s_work(tmp_path):
    done = run(TWO, "sweep", "--device", "all", "--out", str(tmp_path / "out"), SLURM_LOCALID="1")
    assert done.returncode == 2
    assert "SLURM_LOCALID=1: --device all is for one process. Leave --device out" in " ".join(done.stderr.split())
    alone = ("--config", tiny_sweep(tmp_path), "--level", "L1", "--no-plot")
    assert run(TWO, "sweep", "--device", "all", "--out", str(tmp_path / "out"), *alone, SLURM_LOCALID="0").returncode == 0
