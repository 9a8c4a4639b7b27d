"""One measurement at a time on one device of one host, whoever starts it: two would measure each other.

The name of a lock is ``ert.devices.lock_name``: one for the CPU, one for each physical GPU or slice of one.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ert.errors import DeviceError


@contextmanager
def device_lock(name: str, device_id: str | None = None) -> Iterator[None]:
    """Hold a device, which messages call ``device_id``. A killed program's lock is gone with its process.

    Raises DeviceError naming the process that has it.
    """
    try:
        file = _open(_lock_path(name))
    except OSError:
        # No temporary folder to lock in: better an unguarded measurement than none.
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise DeviceError(
                f"{device_id or name}: is being measured already by {holder}. Two at once would measure each other; wait for it."
            ) from error
        if file.writable():
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            file.flush()
        yield


def lock_holder(name: str) -> str | None:
    """Who measures the device right now, None if nobody does. Only looks: a shared lock, held for no time."""
    try:
        with _lock_path(name).open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip() or "another process"
    except OSError:
        return None
    return None


def _open(path: Path) -> TextIO:
    """The lock's file, made if need be. Of another user's file the right to read is enough to hold it. Raises OSError."""
    # Not created at once: in a shared folder the system may forbid that for a file of somebody else that is there already.
    for flags in (os.O_RDWR, os.O_RDWR | os.O_CREAT):
        with suppress(OSError):
            descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o666)
            with suppress(OSError):
                # The umask must not keep other users from writing who has the device.
                os.fchmod(descriptor, 0o666)
            return os.fdopen(descriptor, "r+", encoding="utf-8")
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "r", encoding="utf-8")


def _lock_path(name: str) -> Path:
    return Path(tempfile.gettempdir()) / f"ert-{name.replace(':', '-').replace('/', '-')}.lock"
