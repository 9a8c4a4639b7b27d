"""The main job: open a device, sweep it, write its ceilings; and go on where an interrupted run stopped."""

from __future__ import annotations

import datetime
import os
import platform
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import cast

from ert import __version__
from ert.assemble import Run, assemble
from ert.ceilings import Ceilings, Tool, save
from ert.config import SweepConfig
from ert.devices import Options, open_device
from ert.devices.base import Device
from ert.errors import ConfigError
from ert.journal import SUFFIX, Journal, Recording, read_journal
from ert.jsontypes import Json
from ert.kernels import load_kernels
from ert.lock import device_lock
from ert.plan import make_plan
from ert.sweep import Progress, Sweep

# What must be equal for samples of two runs to belong to one file.
_SAME_DEVICE = ("id", "vendor", "name", "uuid", "threads", "vector_bytes")
_PACKAGES = ("numpy", "scipy", "pycuda", "nvidia-ml-py")


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: ``signal_number`` decides the exit code, ``journal`` is what can be resumed."""

    def __init__(self, signal_number: int, journal: Path | None = None) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number
        self.journal = journal


@dataclass(frozen=True, slots=True)
class Written:
    """A finished sweep and where its file lies."""

    ceilings: Ceilings
    path: Path


def run_sweep(device_id: str, config: SweepConfig, out: Path, options: Options, argv: Sequence[str], progress: Progress) -> Written:
    """Measure a device into ``out/<device>/<UTC time>.json``. Raises ErtError; Interrupted carries the journal to resume."""
    with device_lock(device_id), _device(device_id, options) as device:
        created = _now()
        header = _header(device, config, argv, created)
        journal = _new_journal(out / _folder_name(device), created, header)
        return _measure(device, config, journal, None, header, progress)


def resume_sweep(path: Path, config: SweepConfig, device_id: str, options: Options, argv: Sequence[str], progress: Progress) -> Written:
    """Go on with an interrupted sweep. Raises ConfigError if the journal is of another device, configuration or kernel version."""
    recording = read_journal(path)
    with device_lock(device_id), _device(device_id, options) as device:
        header = _header(device, config, argv, str(recording.header.get("created")))
        _check_same(path, recording.header, header)
        journal = Journal.reopen(path, recording.end_of_good_lines, _now())
        return _measure(device, config, journal, recording, header, progress)


def _measure(
    device: Device, config: SweepConfig, journal: Journal, recording: Recording | None, header: Mapping[str, Json], progress: Progress
) -> Written:
    plan = make_plan(device, config)
    sweep = Sweep(device, plan, config, journal, progress)
    if recording:
        sweep.reuse(recording.visits)
    with _interruptible(journal):
        states = sweep.run()
    resumed = (*recording.resumed, _now()) if recording else ()
    run = Run(
        created=str(header["created"]),
        argv=tuple(cast(list[str], header["argv"])),
        tool=_tool(),
        environment=cast(dict[str, Json], header["environment"]),
        resumed=resumed,
        findings=recording.findings if recording else (),
    )
    ceilings = assemble(device, config, plan, states, run)
    target = journal.path.with_name(journal.path.name.removesuffix(SUFFIX) + ".json")
    save(ceilings, target)
    journal.remove()
    return Written(ceilings, target)


@contextmanager
def _device(device_id: str, options: Options) -> Iterator[Device]:
    device = open_device(device_id, options)
    try:
        yield device
    finally:
        device.close()


@contextmanager
def _interruptible(journal: Journal) -> Iterator[None]:
    """SIGINT and SIGTERM end the sweep between two samples, with everything measured on disk."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number, journal.path)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _new_journal(folder: Path, created: str, header: Mapping[str, Json]) -> Journal:
    """A name nobody else uses: two sweeps may start in one second, on one shared folder."""
    stem = created.replace(":", "").replace("-", "")
    for attempt in range(1, 1000):
        name = stem if attempt == 1 else f"{stem}-{attempt}"
        if not (folder / f"{name}.json").exists() and not (folder / f"{name}{SUFFIX}").exists():
            return Journal.create(folder / f"{name}{SUFFIX}", header)
    raise ConfigError(f"{folder}: a thousand sweeps of this second already. Choose another --out.")


def _folder_name(device: Device) -> str:
    return device.id.replace(":", "-")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _header(device: Device, config: SweepConfig, argv: Sequence[str], created: str) -> dict[str, Json]:
    facts = device.facts()
    return {
        "created": created,
        "argv": list(argv),
        "tool": {"name": "ert", "version": __version__},
        "device": {key: facts.get(key) for key in _SAME_DEVICE},
        "config": config.to_json(),
        "kernels": {kernel.name: kernel.sha256 for kernel in load_kernels("cuda" if device.kind == "cuda" else "cpu").values()},
        "environment": environment(),
    }


def _check_same(path: Path, old: Mapping[str, Json], new: Mapping[str, Json]) -> None:
    """Samples of another device, sweep or kernel are never mixed in."""
    for part in ("device", "kernels"):
        before, now = cast(dict[str, Json], old.get(part) or {}), cast(dict[str, Json], new[part])
        differing = [key for key in now if before.get(key) != now[key]]
        if differing:
            key = differing[0]
            raise ConfigError(
                f"--resume {path}: its {part} differs: {key} was {before.get(key)!r}, here it is {now[key]!r}. Start a new sweep."
            )
    before_hash = cast(dict[str, Json], old.get("config") or {}).get("sha256")
    if before_hash != cast(dict[str, Json], new["config"])["sha256"]:
        raise ConfigError(
            f"--resume {path}: it was started with another configuration. Give the same --config, --precision and --level, or start a new sweep."
        )


def environment() -> dict[str, Json]:
    """Host, operating system, Python and the packages the numbers depend on."""
    packages: dict[str, Json] = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = None
    return {"host": socket.gethostname(), "os": platform.platform(), "python": platform.python_version(), "packages": packages}


def _tool() -> Tool:
    """This program; with the commit where it runs from a checkout."""
    folder = Path(__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return Tool("ert", __version__)
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return Tool("ert", __version__, commit or None, bool(changed) if changed is not None else None)


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=False, env={**os.environ, "LC_ALL": "C"}
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
