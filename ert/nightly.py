"""One night of one device: sweep it, add the run to the store, judge it, and measure again what looks odd before saying so."""

from __future__ import annotations

import datetime
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ert.ceilings import Ceilings
from ert.checks import name_of
from ert.codec import encode
from ert.config import SweepConfig, restrict
from ert.errors import ErtError, LostError
from ert.findings import Finding
from ert.fingerprint import kernel_sources
from ert.history import Check, check, open_history
from ert.history_events import DeviceAnswer, Event
from ert.history_index import open_index
from ert.history_rows import RepeatOf
from ert.history_rules import Rules
from ert.journal import SUFFIX
from ert.runner import Request, Written, resume_sweep, run_sweep
from ert.store import Added, add_run, check_writable, folder_name, host_of, uuid_of
from ert.sweep import Progress

# One odd night out of three measurements is outvoted by the other two.
REPEATS = 2
# Where sweeps that are not finished lie, inside the host's folder; hidden, so that nobody takes them for runs.
_PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class Night:
    """What came of it: what is said, and the files that are in the store now; ``error``: why the device was not measured."""

    check: Check
    paths: tuple[Path, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Repeats:
    """The further measurements of a night."""

    paths: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()


def run_night(store: Path, request: Request, rules: Rules, progress: Progress, resume: Path | None = None) -> Night:
    """Measure, store and judge a device. A device that cannot be measured is a night with ``no_data`` and the error.

    Raises ErtError if the store cannot be written, before anything is measured. Interrupted carries the journal to resume.
    """
    host = socket.gethostname()
    check_writable(store, host)
    folder = store / folder_name(host) / _PARTIAL / f"{folder_name(request.device_id)}-{os.getpid()}"
    try:
        written = _whole(resume_sweep(request, resume, progress) if resume else run_sweep(request, folder, progress), store)
    except ErtError as error:
        if resume:
            raise
        _remove_if_empty(folder)
        return Night(_not_measured(store, host, request.device_id, str(error)), error=str(error))
    first = _move_in(store, written, _with_kernel_sources(written.ceilings))
    judged = _judge(store, written.ceilings, rules)
    repeats = _Repeats()
    if suspects := _suspects(judged):
        smaller = replace(request, config=repeat_config(request.config, written.ceilings, suspects))
        repeats = _measure_again(store, written.ceilings, suspects, lambda: run_sweep(smaller, folder, progress))
        judged = _judge(store, written.ceilings, rules)
    findings = (*first.findings, *_left_over(store, host), *repeats.findings, *judged.findings)
    return Night(replace(judged, findings=findings), (first.path, *repeats.paths))


def _whole(written: Written, store: Path | None = None) -> Written:
    """Raises LostError for part of a sweep: what a lost device did not get to would look like a loss. Nothing of it is stored.

    store  of a night that can be resumed; None for a repeat, of which nothing is kept
    """
    if written.lost is None or written.journal is None:
        return written
    written.path.unlink(missing_ok=True)
    if store is None:
        written.journal.unlink(missing_ok=True)
        _remove_working_folders(written)
        raise LostError(written.lost)
    raise LostError(f"{written.lost} Go on with: ert nightly --store {store} --resume {written.journal} and the same options.")


def _measure_again(store: Path, first: Ceilings, suspects: Sequence[str], sweep: Callable[[], Written]) -> _Repeats:
    """Measure the suspects twice more; what fails is said, and the first measurement stands."""
    paths: list[Path] = []
    for _ in range(REPEATS):
        try:
            again = _whole(sweep())
        except ErtError as error:
            failed = Finding("not_repeated", f"{', '.join(suspects)}: could not be measured again: {error}")
            return _Repeats(tuple(paths), (failed,))
        paths.append(_move_in(store, again, _as_repeat(again.ceilings, first, suspects)).path)
    return _Repeats(tuple(paths))


def _move_in(store: Path, written: Written, ceilings: Ceilings) -> Added:
    """Into the store; the working copy is not needed any more."""
    added = add_run(store, ceilings)
    written.path.unlink(missing_ok=True)
    _remove_working_folders(written)
    return added


def _remove_working_folders(written: Written) -> None:
    """Where the working copy lay, unless something else lies there."""
    _remove_if_empty(written.path.parent)
    _remove_if_empty(written.path.parent.parent)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def repeat_config(config: SweepConfig, measured: Ceilings, names: Sequence[str]) -> SweepConfig:
    """The part of a sweep that measures these ceilings again.

    Levels and precisions are chosen, not single ceilings; where only the one kind is asked for, the other is kept small.
    """
    levels = [c.level for c in measured.bandwidth_ceilings if name_of(c) in names]
    precisions = [c.precision for c in measured.compute_ceilings if name_of(c) in names]
    levels = levels or [c.level for c in measured.bandwidth_ceilings][:1]
    precisions = precisions or [c.precision for c in measured.compute_ceilings][:1]
    return restrict(config, levels=tuple(dict.fromkeys(levels)), precisions=tuple(dict.fromkeys(precisions)))


def _with_kernel_sources(ceilings: Ceilings) -> Ceilings:
    sources = kernel_sources(str(ceilings.device["kind"]))
    return replace(ceilings, environment={**ceilings.environment, "kernel_sources": sources})


def _as_repeat(again: Ceilings, first: Ceilings, names: Sequence[str]) -> Ceilings:
    """Marked as a repeat: only the ceilings that were asked for count, as further measurements of the same night."""
    sweep = first.config.get("sha256")
    mark = RepeatOf(first.created, str(sweep) if sweep else None, tuple(names))
    return _with_kernel_sources(replace(again, config={**again.config, "repeat_of": encode(mark)}))


def _judge(store: Path, ceilings: Ceilings, rules: Rules) -> Check:
    """This device alone: the other thousands are not read."""
    history = open_history(store, rules, host_of(ceilings), uuid_of(ceilings))
    return check(history, datetime.date.fromisoformat(ceilings.created[:10]))


def _suspects(judged: Check) -> list[str]:
    """What one night shows alone, and a change that came with a driver: both are said only if they show again."""
    return [event.ceiling for event in judged.events if event.ceiling and event.kind in ("suspect", "environment_change")]


def _not_measured(store: Path, host: str, device_id: str, reason: str) -> Check:
    """A night without a run, said of the device that had this place last."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    last = open_index(store, host).query(
        "SELECT device, name FROM runs WHERE problem IS NULL AND device_id = ? ORDER BY created DESC LIMIT 1", device_id
    )
    # A device that was never measured has no other name than its id.
    uuid, name = map(str, last[0]) if last else (device_id, device_id)
    event = Event(today, host, uuid, None, "no_data", None, today, reason)
    answer = DeviceAnswer(host, uuid, device_id, name, today, None, "not comparable", reason)
    return Check(today, (answer,), (), (event,), ())


def _left_over(store: Path, host: str) -> list[Finding]:
    """Nights that were stopped in the middle, by a kill or a power cut."""
    journals = sorted((store / folder_name(host) / _PARTIAL).glob(f"*/*/*{SUFFIX}"))
    return [
        Finding("interrupted_night", f"{path}: a night that was stopped in the middle", None, f"ert nightly --resume {path}, or delete it")
        for path in journals
        if not _is_running(path)
    ]


def _is_running(journal: Path) -> bool:
    """Whether the process whose number ends the working folder's name is there."""
    process = journal.parent.parent.name.rpartition("-")[2]
    return process.isdigit() and Path(f"/proc/{process}").exists()


def merge(nights: Sequence[Night]) -> Check:
    """What is said of several devices as one check, of the latest of their nights."""
    checks = [night.check for night in nights]
    return Check(
        night=max(each.night for each in checks),
        answers=tuple(answer for each in checks for answer in each.answers),
        readings=tuple(reading for each in checks for reading in each.readings),
        events=tuple(event for each in checks for event in each.events),
        findings=tuple(finding for each in checks for finding in each.findings),
    )
