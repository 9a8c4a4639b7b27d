"""The main job: open a device, sweep it, write its ceilings; and go on where an interrupted run stopped."""

from __future__ import annotations

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
from ert.ceilings import Ceilings, save
from ert.ceilings.model import Tool
from ert.config import SweepConfig
from ert.devices import Options, folder_of, lock_name, open_device
from ert.devices.base import Device
from ert.errors import ConfigError, ErtError, MeasurementError
from ert.journal import SUFFIX, Journal, Recording, read_journal
from ert.jsontypes import Json
from ert.kernels import source_hashes
from ert.lock import device_lock
from ert.plan import Plan, make_plan
from ert.sweep import PointState, Progress, Sweep
from ert.timestamps import utc_now

# What must be equal for samples of two runs to belong to one file.
_SAME_DEVICE = ("id", "vendor", "name", "uuid", "threads", "vector_bytes")
_SAME_SOFTWARE = ("compiler", "driver", "cuda_driver_api")
_PACKAGES = ("numpy", "scipy", "pycuda", "nvidia-ml-py")


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: ``signal_number`` decides the exit code, ``journal`` is what can be resumed."""

    def __init__(self, signal_number: int, journal: Path | None = None) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number
        self.journal = journal


@dataclass(frozen=True, slots=True)
class Written:
    """A finished sweep and where its file lies. Where the device was lost on the way: its last words, and the journal to resume."""

    ceilings: Ceilings
    path: Path
    lost: str | None = None
    journal: Path | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for; ``argv`` is the command line, as the file keeps it."""

    device_id: str
    config: SweepConfig
    options: Options
    argv: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Record:
    """Where a run writes, and what an earlier one left there; ``resumed``: UTC times at which an interrupted run went on."""

    journal: Journal
    header: Mapping[str, Json]
    earlier: Recording | None = None
    resumed: tuple[str, ...] = ()


def run_sweep(request: Request, out: Path, progress: Progress) -> Written:
    """Measure a device into ``out/<device>/<UTC time>.json``. Raises ErtError; Interrupted carries the journal to resume."""
    with _device(request) as device:
        plan = make_plan(device, request.config)
        created = utc_now()
        header = _header(device, request, created)
        journal = _new_journal(out / folder_of(device.id), created, header)
        return _measure(device, request.config, plan, _Record(journal, header), progress)


def resume_sweep(request: Request, path: Path, progress: Progress) -> Written:
    """Go on with an interrupted sweep. Raises ConfigError if the journal is of another device, configuration or kernel version.

    What it finds is written beside the journal.
    """
    try:
        earlier = read_journal(path)
    except ErtError as error:
        raise type(error)(f"--resume {error}") from error
    with _device(request) as device:
        header = _header(device, request, str(earlier.header.get("created")))
        _check_same(path, earlier.header, header)
        plan, now = make_plan(device, request.config), utc_now()
        journal = Journal.reopen(path, earlier.end_of_good_lines, now)
        return _measure(device, request.config, plan, _Record(journal, header, earlier, (*earlier.resumed, now)), progress)


def _measure(device: Device, config: SweepConfig, plan: Plan, record: _Record, progress: Progress) -> Written:
    journal = record.journal
    target = journal.path.with_name(journal.path.name.removesuffix(SUFFIX) + ".json")
    sweep = Sweep(device, plan, config, journal, progress)
    if record.earlier:
        sweep.reuse(record.earlier.visits)
    with _keeping(journal):
        states = sweep.run()
    _refuse_nothing(states, journal)
    with _keeping(journal):
        ceilings = assemble(device, config, plan, states, _provenance(record))
        save(ceilings, target)
    if sweep.lost:
        journal.close()
        return Written(ceilings, target, sweep.lost, journal.path)
    journal.remove()
    return Written(ceilings, target)


def _provenance(record: _Record) -> Run:
    header = record.header
    return Run(
        created=str(header["created"]),
        argv=tuple(cast(list[str], header["argv"])),
        tool=_tool(),
        environment=cast(dict[str, Json], header["environment"]),
        resumed=record.resumed,
        findings=record.earlier.findings if record.earlier else (),
    )


def _refuse_nothing(states: Sequence[PointState], journal: Journal) -> None:
    """A sweep in which every point failed has no ceilings to write and nothing to resume."""
    if any(state.samples for state in states):
        return
    journal.remove()
    first = states[0]
    raise MeasurementError(
        f"None of the {len(states)} points could be measured. The first, {first.planned.id}: {first.reason} "
        "`ert kernels --verify` and `ert doctor` look closer."
    )


@contextmanager
def _device(request: Request) -> Iterator[Device]:
    """The device, open, and nobody else's meanwhile."""
    with device_lock(lock_name(request.device_id), request.device_id):
        device = open_device(request.device_id, request.options)
        try:
            yield device
        finally:
            device.close()


@contextmanager
def _keeping(journal: Journal) -> Iterator[None]:
    """SIGINT and SIGTERM become Interrupted; whatever ends the run, everything measured is on disk and the error says how to go on."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number, journal.path)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except ErtError as error:
        kept = f"What was measured is kept: go on with --resume {journal.path} and the same options; that file may be moved before."
        raise type(error)(f"{error} {kept}") from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _new_journal(folder: Path, created: str, header: Mapping[str, Json]) -> Journal:
    """A name nobody else uses: the ranks of a job start in one second, on one shared folder, and each calls its GPU ``cuda:0``."""
    stem = created.replace(":", "").replace("-", "")
    for attempt in range(1, 1000):
        name = stem if attempt == 1 else f"{stem}-{attempt}"
        path = folder / f"{name}{SUFFIX}"
        if (folder / f"{name}.json").exists() or path.exists():
            continue
        try:
            return Journal.create(path, header)
        except ErtError:
            # Another one may have taken the name since we looked; whatever else is wrong is wrong for every name.
            if not path.exists():
                raise
    raise ConfigError(f"{folder}: a thousand sweeps of this second already. Choose another --out.")


def _header(device: Device, request: Request, created: str) -> dict[str, Json]:
    facts, surroundings = device.facts(), device.environment()
    return {
        "created": created,
        "argv": list(request.argv),
        "tool": {"name": "ert", "version": __version__},
        "device": {key: facts.get(key) for key in _SAME_DEVICE},
        "software": {key: surroundings.get(key) for key in _SAME_SOFTWARE},
        "config": request.config.to_json(),
        "kernels": dict(source_hashes(device.kind)),
        "environment": environment(),
    }


def _check_same(path: Path, old: Mapping[str, Json], new: Mapping[str, Json]) -> None:
    """Samples of another device, driver, compiler, sweep or kernel are never mixed in."""
    for part in ("device", "software", "kernels"):
        before, now = cast(dict[str, Json], old.get(part) or {}), cast(dict[str, Json], new[part])
        differing = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
        if differing:
            key = differing[0]
            raise ConfigError(
                f"--resume {path}: its {part} differs: {key} was {before.get(key)!r}, here it is {now.get(key)!r}. Start a new sweep."
            )
    before_hash = cast(dict[str, Json], old.get("config") or {}).get("sha256")
    if before_hash != cast(dict[str, Json], new["config"])["sha256"]:
        raise ConfigError(
            f"--resume {path}: it was started with another configuration. "
            "Give the same --config, --precision and --level, or start a new sweep."
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
