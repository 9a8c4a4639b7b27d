"""One run of the store as one row of the index: who, when, comparable with what, and its ceilings."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from ert.ceilings import load
from ert.ceilings.file import to_dict
from ert.ceilings.model import SCHEMA, SCHEMA_VERSION
from ert.codec import decode
from ert.errors import ErtError
from ert.fingerprint import EXCUSES, Fingerprint, fingerprint
from ert.jsontypes import Json
from ert.precisions import rate_unit
from ert.store import StoredFile

_Facts = tuple[tuple[str, Json], ...]


@dataclass(frozen=True, slots=True)
class RepeatOf:
    """``config.repeat_of`` of a run that measures some ceilings of another run again: its start, its sweep, which ceilings."""

    created: str
    sha256: str | None
    ceilings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CeilingRow:
    """One ceiling of one run; value, ci_lo, ci_hi in byte/s, flop/s or op/s; ``slowed_by``: reasons the device gave, if flagged."""

    ceiling: str
    unit: str
    value: float
    ci_lo: float | None
    ci_hi: float | None
    roof: bool
    flags: list[str]
    clock_hz: float | None
    slowed_by: list[str]


@dataclass(frozen=True, slots=True)
class RunRow:
    """One file of the store; with a ``problem`` (torn, newer, foreign) everything that is not its path and folder is None.

    night        UTC day of the run;  series: runs that share it may stand in one history
    facts        what else makes runs comparable, and ``environment`` the surroundings: JSON text, keys sorted
    repeat_of    start of the run that this one repeats some ceilings of
    """

    path: str
    size: int
    mtime_ns: int
    host: str
    device: str
    problem: str | None = None
    created: str | None = None
    night: str | None = None
    device_id: str | None = None
    name: str | None = None
    kind: str | None = None
    memory_bytes: int | None = None
    series: str | None = None
    facts: str | None = None
    sweep: str | None = None
    environment: str | None = None
    repeat_of: str | None = None
    ceilings: list[CeilingRow] = field(default_factory=list)


def read_row(store: Path, file: StoredFile) -> RunRow:
    """The row of a file. What cannot be read becomes a row with a ``problem``, so that one bad file stops nobody."""
    path = store / file.path
    try:
        return _row(file, _DECODER.decode(path.read_bytes().decode()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    # Older versions and damaged files take the long way, which migrates the ones and explains the others.
    try:
        return _row(file, to_dict(load(path)))
    except ErtError as error:
        problem = str(error)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        problem = f"{path}: not a run of a device: {error!r}."
    return RunRow(file.path, file.size, file.mtime_ns, file.host, file.device, problem)


def row_to_json(row: RunRow) -> str:
    """One line of the file the index is filled from."""
    return json.dumps(row, default=_fields, allow_nan=False)


def _fields(row: RunRow | CeilingRow) -> dict[str, object]:
    """``dataclasses.asdict`` copies everything, which a hundred thousand files notice."""
    return {name: getattr(row, name) for name in row.__slots__}


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _row(file: StoredFile, document: dict[str, Json]) -> RunRow:
    """Only a document of exactly this version, and only if its numbers are such as a ceiling can have."""
    if document["schema"] != SCHEMA or document["schema_version"] != SCHEMA_VERSION:
        raise ValueError("another schema")
    device, environment, config, lists = (_object(document[key]) for key in ("device", "environment", "config", "ceilings"))
    created = datetime.datetime.fromisoformat(_text(document["created"]))
    if created.tzinfo is None:
        raise ValueError("a time without a zone")
    created = created.astimezone(datetime.UTC)
    prints = fingerprint(device, environment, config)
    series, facts, surroundings = _texts(tuple(prints.device.items()), prints.sweep, tuple(prints.environment.items()))
    memory, repeated = device.get("memory_bytes"), _repeated(config)
    points = document["points"]
    ceilings = [_bandwidth(row, points) for row in _list(lists["bandwidth"])] + [_compute(row, points) for row in _list(lists["compute"])]
    return RunRow(
        path=file.path,
        size=file.size,
        mtime_ns=file.mtime_ns,
        host=_text(environment.get("host") or file.host),
        device=_text(device.get("uuid") or device.get("id") or file.device),
        created=created.replace(tzinfo=None).isoformat(timespec="seconds") + "Z",
        night=created.date().isoformat(),
        device_id=_text(device["id"]),
        name=_text(device["name"]),
        kind=_text(device["kind"]),
        memory_bytes=memory if isinstance(memory, int) else None,
        series=series,
        facts=facts,
        sweep=prints.sweep,
        environment=surroundings,
        repeat_of=repeated.created if repeated else None,
        ceilings=[row for row in ceilings if repeated is None or row.ceiling in repeated.ceilings],
    )


@lru_cache(maxsize=8192)
def _texts(device: _Facts, sweep: str | None, environment: _Facts) -> tuple[str, str, str]:
    """(series, device facts, surroundings) as the row holds them: the same for almost every night of a device."""
    print_ = Fingerprint(dict(device), sweep, dict(environment))
    return print_.series, json.dumps(print_.device, sort_keys=True), json.dumps(print_.environment, sort_keys=True)


def _repeated(config: dict[str, Json]) -> RepeatOf | None:
    return decode(RepeatOf, config["repeat_of"], "config.repeat_of") if config.get("repeat_of") is not None else None


def _bandwidth(value: Json, points: Json) -> CeilingRow:
    row = _object(value)
    return _ceiling(row, f"{_text(row['level'])} {_text(row['op'])}", "B/s", points)


def _compute(value: Json, points: Json) -> CeilingRow:
    row = _object(value)
    precision = _text(row["precision"])
    return _ceiling(row, f"{precision} {_text(row['path'])} {_text(row['op'])}", rate_unit(precision), points)


def _ceiling(row: dict[str, Json], name: str, unit: str, points: Json) -> CeilingRow:
    interval, clock = row.get("ci95"), row.get("clock_hz")
    lo, hi = map(_positive, _list(interval)) if interval is not None else (None, None)
    flags = [_text(flag) for flag in _list(row.get("flags", []))]
    return CeilingRow(
        ceiling=name,
        unit=unit,
        value=_positive(row["value"]),
        ci_lo=lo,
        ci_hi=hi,
        roof=bool(row["roof"]),
        flags=flags,
        clock_hz=None if clock is None else _positive(clock),
        slowed_by=_reasons(points, _list(row.get("point_ids", []))) if set(flags) & set(EXCUSES) else [],
    )


def _reasons(points: Json, ids: list[Json]) -> list[str]:
    """Why samples of these points make no ceiling, the most frequent reason first."""
    own = [point for point in map(_object, _list(points)) if point["id"] in ids]
    words = Counter(_text(word) for point in own for sample in _list(point.get("throttled", [])) for word in _list(sample))
    return [word for word, _ in words.most_common()]


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _positive(value: Json) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ValueError(value)
    return float(value)
