"""ert.lock: one sweep at a time on a device; a dead sweep holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import ert.lock
from ert.errors import DeviceError
from ert.lock import device_lock, lock_holder

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
        assert f"lock-a: is being measured already by process {process.pid} on {os.uname().nodename} since 20" in said
        assert "Two at once would measure each other; wait for it." in said
    finally:
        process.kill()
        process.wait()


def test_a_killed_sweeps_lock_does_not_block_the_next():
    process = holder("lock-b")
    process.send_signal(signal.SIGKILL)
    process.wait()
    with device_lock("lock-b"):
        text = next(Path(os.environ["ERT_LOCK_DIR"]).glob("ert-*lock-b.lock")).read_text()
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


def test_the_refusal_calls_the_device_as_the_person_did():
    process = holder("lock-h")
    try:
        with pytest.raises(DeviceError, match=r"^cuda:0: is being measured already by"), device_lock("lock-h", "cuda:0"):
            pass
    finally:
        process.kill()
        process.wait()


def test_every_user_of_the_host_meets_at_one_lock_and_may_write_into_it():
    with device_lock("lock-i"):
        (path,) = Path(os.environ["ERT_LOCK_DIR"]).glob("ert-lock-i.lock")
        assert path.stat().st_mode & 0o777 == 0o666


def test_a_lock_that_may_only_be_read_is_held_all_the_same(monkeypatch):
    path = Path(os.environ["ERT_LOCK_DIR"]) / "ert-lock-j.lock"
    path.write_text("process 1 of somebody else")
    for_reading = os.open

    def refuse_writing(name, flags, *mode):
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return for_reading(name, flags, *mode)

    monkeypatch.setattr(os, "open", refuse_writing)
    with device_lock("lock-j"):
        assert lock_holder("lock-j") == "process 1 of somebody else"
    assert lock_holder("lock-j") is None


def test_a_link_in_the_lock_s_place_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (Path(os.environ["ERT_LOCK_DIR"]) / "ert-lock-k.lock").symlink_to(precious)
    with device_lock("lock-k"):
        pass
    assert precious.read_text() == "mine"


def test_a_device_name_stays_inside_the_folder_of_locks():
    with device_lock("../../cuda:0"):
        assert any(Path(os.environ["ERT_LOCK_DIR"]).glob("ert-..-..-cuda-0.lock"))


def test_without_a_folder_to_lock_in_the_sweep_runs_unguarded(monkeypatch):
    monkeypatch.setenv("ERT_LOCK_DIR", "/dev/null/nowhere")
    with device_lock("lock-f"), device_lock("lock-f"):
        assert lock_holder("lock-f") is None


def test_two_jobs_with_temporary_folders_of_their_own_meet_at_one_lock(tmp_path, monkeypatch):
    monkeypatch.delenv("ERT_LOCK_DIR")
    monkeypatch.setattr(ert.lock, "SHARED_FOLDER", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "job 1"))
    with device_lock("lock-g"):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "job 2"))
        with pytest.raises(DeviceError, match="is being measured already"), device_lock("lock-g"):
            pass


def test_where_there_is_no_shared_folder_the_temporary_one_serves(tmp_path, monkeypatch):
    monkeypatch.delenv("ERT_LOCK_DIR")
    monkeypatch.setattr(ert.lock, "SHARED_FOLDER", "/dev/null")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with device_lock("lock-m"):
        assert [path.name for path in tmp_path.iterdir()] == ["ert-lock-m.lock"]
        assert lock_holder("lock-m")
