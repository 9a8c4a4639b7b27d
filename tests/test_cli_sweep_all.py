"""``ert sweep --device all`` where there are no GPUs: on planted devices, and on the CPU alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from sweep_program import run, tiny_sweep

import ert.devices
from ert.devices import Listed, every_device
from ert.errors import DeviceError

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
