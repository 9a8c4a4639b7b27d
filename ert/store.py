"""The store: one immutable JSON file per run, ``STORE/<host>/<device uuid>/<UTC time>.json``.

Nothing is ever changed or overwritten, so any number of writers on any number of machines may share the folder.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ert.ceilings import Ceilings
from ert.ceilings.check import check
from ert.ceilings.file import ceilings_to_json
from ert.errors import ErtError
from ert.files import write_remedy, write_text_atomic
from ert.findings import Finding

# The folder of a device beside its runs: baselines that a person set.
BASELINES = "baselines"
_RUN_NAME = re.compile(r"(\d{8}T\d{6}Z)(?:-\d+)?\.json")
# File systems that cannot link say so with one of these.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of the store as its folder lists it; path is relative to the store."""

    path: str
    host: str
    device: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Added:
    """A run that is in the store now, and what was odd about it."""

    path: Path
    findings: tuple[Finding, ...] = ()


def add_run(store: Path, ceilings: Ceilings) -> Added:
    """Write a run into the store. Raises SchemaError for contradicting ceilings, ErtError if it cannot be written."""
    folder = device_folder(store, host_of(ceilings), uuid_of(ceilings))
    stem = ceilings.created.replace("-", "").replace(":", "")
    check(ceilings, str(folder / f"{stem}.json"))
    findings = tuple(_clock_findings(folder, stem))
    return Added(write_once(folder, stem, ceilings_to_json(ceilings)), findings)


def device_folder(store: Path, host: str, uuid: str) -> Path:
    """Where the runs of a device lie."""
    return store / folder_name(host) / folder_name(uuid)


def folder_name(text: str) -> str:
    """A name that is one folder on every file system."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".") or "unnamed"


def host_of(ceilings: Ceilings) -> str:
    """The machine a run was made on."""
    return str(ceilings.environment.get("host") or "unknown-host")


def uuid_of(ceilings: Ceilings) -> str:
    """The device's UUID; its id where it has none."""
    return str(ceilings.device.get("uuid") or ceilings.device.get("id") or "unknown-device")


def check_writable(store: Path, host: str) -> None:
    """Raise ErtError now rather than after the measurement, if nothing can be written there."""
    probe = store / folder_name(host) / f".probe-{secrets.token_hex(8)}"
    write_text_atomic(probe, "")
    probe.unlink()


def write_once(folder: Path, stem: str, text: str) -> Path:
    """Write ``stem.json``, or ``stem-2.json``, ... where that exists: whole, on the disk, and never over another file."""
    temporary = folder / f".{stem}-{secrets.token_hex(8)}.new"
    write_text_atomic(temporary, text)
    try:
        for number in range(1, 10_000):
            target = folder / (f"{stem}.json" if number == 1 else f"{stem}-{number}.json")
            if _link(temporary, target):
                _sync_folder(folder)
                return target
    except OSError as error:
        raise ErtError(f"{folder}: cannot be written: {error.strerror or error}. {write_remedy(error, 'name another --store')}") from error
    finally:
        temporary.unlink(missing_ok=True)
    raise ErtError(f"{folder}: ten thousand runs of one second already. Is something starting runs in a loop?")


def _link(temporary: Path, target: Path) -> bool:
    """Give the file its name; False if somebody else has it. Linking, unlike renaming, never replaces."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        # NFS may answer a repeated request for a link that was made the first time.
        return temporary.stat().st_nlink == 2
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _reserve_and_rename(temporary, target)
    return True


def _reserve_and_rename(temporary: Path, target: Path) -> bool:
    """For file systems without links: whoever creates the empty name may replace it."""
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError:
        return False
    os.replace(temporary, target)  # noqa: PTH105  (beside os.link and os.open, whose counterpart it is)
    return True


def _sync_folder(folder: Path) -> None:
    """The name must be on the disk, too; file systems that cannot sync a folder do so by themselves."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _clock_findings(folder: Path, stem: str) -> Iterator[Finding]:
    try:
        stems = [found[1] for path in folder.iterdir() if (found := _RUN_NAME.fullmatch(path.name))]
    except FileNotFoundError:
        return
    newest = max(stems, default="")
    if newest > stem:
        message = f"this run is of {stem}, the store has one of {newest} for this device: the clock was set back, or the run is an old one"
        yield Finding("clock_set_back", message, None, "check the clock (timedatectl); runs are sorted by their own time")


def list_files(store: Path, host: str | None = None, device: str | None = None) -> list[StoredFile]:
    """Every run file of the store, or of one host and device; sorted. Raises ErtError if the folder cannot be read."""
    if not store.is_dir():
        raise ErtError(f"--store {store}: no such folder. `ert nightly --store {store}` makes one.")
    try:
        return sorted(_walk(store, host, device), key=lambda file: file.path)
    except OSError as error:
        raise ErtError(f"{error.filename or store}: cannot be read: {error.strerror or error}.") from error


def _walk(store: Path, host: str | None, device: str | None) -> Iterator[StoredFile]:
    for host_name in _folders(store, host):
        for device_name in _folders(store / host_name, device):
            with os.scandir(store / host_name / device_name) as entries:
                for entry in entries:
                    if _RUN_NAME.fullmatch(entry.name):
                        facts = entry.stat()
                        relative = f"{host_name}/{device_name}/{entry.name}"
                        yield StoredFile(relative, host_name, device_name, facts.st_size, facts.st_mtime_ns)


def _folders(parent: Path, only: str | None) -> list[str]:
    """Sub-folders by name; hidden ones hold what is being written."""
    if only is not None:
        name = folder_name(only)
        return [name] if (parent / name).is_dir() else []
    with os.scandir(parent) as entries:
        return [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
