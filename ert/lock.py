"""One measurement at a time on one device of one host, whoever starts it: two would measure each other.

The name of a lock is ``ert.devices.lock_name``: one for the CPU, one for each physical GPU or slice of one.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ert.errors import BusyError

# Every user of a host may write there.
SHARED_FOLDER = "/tmp"


@contextmanager
def device_lock(name: str, device_id: str | None = None) -> Iterator[None]:
    """Hold a device, which messages call ``device_id``. A killed program's lock is gone with its process.

    Raises BusyError naming the process that has it.
    """
    file = _open_first(_lock_paths(name))
    if file is None:
        # No folder to lock in: better an unguarded measurement than none.
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise BusyError(
                f"{device_id or name}: is being measured already by {holder}. Two at once would measure each other; wait for it."
            ) from error
        if file.writable():
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            file.flush()
        yield


def lock_holder(name: str) -> str | None:
    """Who measures the device right now, None if nobody does. Only looks: a shared lock, held for no time."""
    for path in _lock_paths(name):
        with suppress(OSError), path.open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip() or "another process"
    return None


def _open_first(paths: Iterable[Path]) -> TextIO | None:
    """The first lock file that can be had, None if none can."""
    for path in paths:
        with suppress(OSError):
            return _open(path)
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


def _lock_paths(name: str) -> list[Path]:
    """Where the lock may lie, the place to prefer first: all who measure on this host must come to the same one."""
    # Not $TMPDIR: batch systems give every job its own, and two jobs on one device would never meet.
    folder = os.environ.get("ERT_LOCK_DIR")
    folders = [folder] if folder else [SHARED_FOLDER, tempfile.gettempdir()]
    return [Path(folder) / f"ert-{name.replace(':', '-').replace('/', '-')}.lock" for folder in folders]
