"""One sweep at a time on one device of one machine: two would measure each other."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ert.errors import DeviceError


@contextmanager
def device_lock(device_id: str) -> Iterator[None]:
    """Hold the device. Raises DeviceError naming the sweep that has it; a killed sweep's lock is gone with its process."""
    path = _lock_path(device_id)
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError:
        # No temporary folder to lock in: better an unguarded sweep than none.
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise DeviceError(
                f"{device_id}: is being swept already by {holder}. Two sweeps would measure each other; wait for it."
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
        file.flush()
        yield


def lock_holder(device_id: str) -> str | None:
    """Who sweeps the device right now, None if nobody does. Only looks: a shared lock, held for no time."""
    try:
        with _lock_path(device_id).open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip() or "another process"
    except OSError:
        return None
    return None


def _lock_path(device_id: str) -> Path:
    return Path(tempfile.gettempdir()) / f"ert-{os.getuid()}-{device_id.replace(':', '-').replace('/', '-')}.lock"
