"""ert.lock: one sweep at a time on a device; a dead sweep holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ert.errors import DeviceError
from ert.lock import device_lock

HOLD = """
import sys, time
from ert.lock import device_lock
with device_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(device: str) -> subprocess.Popen[str]:
    """Another process that has the device."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, device], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_sweep_is_refused_at_once_naming_the_first():
    process = holder("lock-a")
    try:
        with pytest.raises(DeviceError) as caught, device_lock("lock-a"):
            pass
        said = str(caught.value)
        assert f"lock-a: is being swept already by process {process.pid} on {os.uname().nodename} since 20" in said
        assert "Two sweeps would measure each other; wait for it." in said
    finally:
        process.kill()
        process.wait()


def test_a_killed_sweeps_lock_does_not_block_the_next():
    process = holder("lock-b")
    process.send_signal(signal.SIGKILL)
    process.wait()
    with device_lock("lock-b"):
        text = next(Path(tempfile.gettempdir()).glob("ert-*lock-b.lock")).read_text()
    assert str(os.getpid()) in text
    assert str(process.pid) not in text


def test_two_devices_are_swept_side_by_side():
    with device_lock("lock-c"), device_lock("lock-d"):
        pass


def test_the_lock_is_free_again_after_an_error():
    with pytest.raises(ZeroDivisionError), device_lock("lock-e"):
        raise ZeroDivisionError
    with device_lock("lock-e"):
        pass


def test_a_device_name_stays_inside_the_temporary_folder():
    with device_lock("../../cuda:0"):
        assert any(Path(tempfile.gettempdir()).glob("ert-*-..-..-cuda-0.lock"))


def test_without_a_temporary_folder_the_sweep_runs_unguarded(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/nowhere")
    with device_lock("lock-f"):
        pass
