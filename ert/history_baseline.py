"""Reference baselines that a person set: which nights of a device are the good ones from now on.

``STORE/<host>/<device>/baselines/<UTC time>.json``; none is ever changed, the last one counts.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from ert.codec import decode, encode
from ert.errors import AnalysisError, ErtError, SchemaError
from ert.files import dump_json, read_json
from ert.findings import Finding
from ert.history_rules import BaselineRules
from ert.history_series import Grid
from ert.jsontypes import Json
from ert.store import BASELINES, device_folder, write_once

SCHEMA = "ert.baseline"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Baseline:
    """The nights (UTC dates) whose values are the reference of every ceiling of a device, and why."""

    created: str
    host: str
    device: str
    nights: tuple[str, ...]
    note: str = ""


def set_baseline(store: Path, baseline: Baseline) -> Path:
    """Write it into the store. Raises ErtError if it cannot be written."""
    folder = device_folder(store, baseline.host, baseline.device) / BASELINES
    document = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **cast(dict[str, Json], encode(baseline))}
    return write_once(folder, baseline.created.replace("-", "").replace(":", ""), dump_json(document))


def load_baselines(store: Path, devices: Sequence[tuple[str, str]]) -> tuple[list[Baseline], list[Finding]]:
    """Those of (host, device) pairs, oldest first; a file that cannot be read is a finding."""
    found, findings = [], []
    for host, device in devices:
        for path in sorted((device_folder(store, host, device) / BASELINES).glob("[0-9]*.json")):
            try:
                found.append(_load(path))
            except ErtError as error:
                findings.append(Finding("unreadable_baseline", f"{error} It is left out.", None, "set it again"))
    return sorted(found, key=lambda baseline: baseline.created), findings


def _load(path: Path) -> Baseline:
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise SchemaError(f"{path}: not a baseline.")
    version = document.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise SchemaError(f"{path}: written in schema version {version}; this ert knows versions up to {SCHEMA_VERSION}.")
    baseline = decode(Baseline, document, str(path))
    for night in baseline.nights:
        _date(night, str(path))
    return baseline


def _date(text: str, where: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise SchemaError(f"{where}: '{text}' is not a date such as 2025-01-31.") from error


def choose_nights(
    grid: Grid, device: tuple[str, str], between: tuple[datetime.date | None, datetime.date | None], rules: BaselineRules
) -> tuple[str, ...]:
    """The nights of a device (host, uuid) with a run, from the first to the last date of ``between``.

    Without a first date as many of the last nights as a reference takes. Raises AnalysisError with the count if there are too few.
    """
    since, until = between
    rows = [row for row, track in enumerate(grid.tracks) if (track.host, track.device) == device]
    nights = [grid.nights[column] for column in np.flatnonzero(np.any(grid.ran[rows], axis=0))]
    nights = [night for night in nights if until is None or night <= until]
    nights = nights[-rules.reference_nights :] if since is None else [night for night in nights if night >= since]
    if len(nights) < rules.least_nights:
        raise AnalysisError(f"{device[1]} on {device[0]}: {len(nights)} nights with a run there; a baseline needs {rules.least_nights}.")
    return tuple(night.isoformat() for night in nights)


def place(grid: Grid, baselines: Sequence[Baseline], least: int) -> tuple[dict[int, list[tuple[int, list[int]]]], list[Finding]]:
    """Where the baselines begin to count: night -> (series row, night columns); in force from their own last night on."""
    column = {night.isoformat(): i for i, night in enumerate(grid.nights)}
    placed: dict[int, list[tuple[int, list[int]]]] = {}
    findings = []
    for baseline in baselines:
        nights = sorted(column[night] for night in baseline.nights if night in column)
        rows = [row for row, s in enumerate(grid.series) if (s.track.host, s.track.device) == (baseline.host, baseline.device)]
        full = [(row, nights) for row in rows if np.isfinite(grid.log_value[row, nights]).sum() >= least]
        if full:
            placed.setdefault(nights[-1], []).extend(full)
        else:
            when = f"the baseline of {baseline.device} set {baseline.created[:10]}"
            message = f"{when} has fewer than {least} nights in the store; it does not count"
            findings.append(Finding("baseline_without_nights", message, float(len(nights)), "ert history baseline --set"))
    return placed, findings
