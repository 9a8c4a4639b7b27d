"""The points of a running sweep on disk: JSON lines, appended visit by visit, so that a stop at any moment loses one visit.

Line 1 is the header: device, environment, config. Every further line is one visit of one point (its samples),
a point that could not be measured, or the mark of a resumed run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO, cast

from ert.codec import decode
from ert.devices.base import Sample
from ert.errors import ErtError, SchemaError
from ert.files import parse_json, write_remedy
from ert.findings import Finding
from ert.jsontypes import Json

SCHEMA = "ert.points"
SCHEMA_VERSION = 1
SUFFIX = ".points.jsonl"


@dataclass(frozen=True, slots=True)
class Visit:
    """What one visit of a point found.

    flops, bytes  of one repeat; working_set_bytes what was really touched
    status        ``ok``, or ``unsupported``, ``skipped``, ``error`` with the reason
    """

    id: str
    status: str = "ok"
    reason: str | None = None
    working_set_bytes: int | None = None
    flops: float = 0.0
    bytes: float = 0.0
    repeats: int = 0
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """A journal read back: its header, the visits, when it was resumed, and what had to be dropped."""

    header: Mapping[str, Json]
    visits: tuple[Visit, ...]
    resumed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    end_of_good_lines: int = 0


class Journal:
    """An open journal. Every line is flushed to the system before the call returns; ``sync`` forces it to the disk."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self.path = path
        self._file = file

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Json]) -> Journal:
        """A new journal; raises ErtError if the file exists already or cannot be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(path.parent, error) from error
        try:
            journal = cls(path, path.open("x", encoding="utf-8", newline="\n"))
        except FileExistsError as error:
            raise ErtError(f"{path}: exists already: another sweep writes there. Wait for it, or choose another --out.") from error
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            journal.append({"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **header})
        except ErtError:
            with suppress(OSError):  # closing tries to write once more
                journal.close()
            path.unlink(missing_ok=True)  # a journal without its header is of no use, and its name looks taken
            raise
        return journal

    @classmethod
    def reopen(cls, path: Path, end_of_good_lines: int, when: str) -> Journal:
        """Go on behind the last whole line; a torn one is cut off."""
        try:
            with path.open("r+b") as raw:
                raw.truncate(end_of_good_lines)
            journal = cls(path, path.open("a", encoding="utf-8", newline="\n"))
        except OSError as error:
            raise _cannot_write(path, error) from error
        journal.append({"resumed": when})
        return journal

    def record(self, visit: Visit) -> None:
        """Append one visit."""
        row: dict[str, Json] = {"id": visit.id}
        if visit.status != "ok":
            self.append({**row, "status": visit.status, "reason": visit.reason})
            return
        row |= {"working_set_bytes": visit.working_set_bytes, "flops": visit.flops, "bytes": visit.bytes, "repeats": visit.repeats}
        self.append({**row, "samples": [_sample_row(sample) for sample in visit.samples]})

    def append(self, row: Mapping[str, Json]) -> None:
        try:
            self._file.write(json.dumps(row, allow_nan=False, separators=(",", ":")) + "\n")
            self._file.flush()
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        """After the ceilings file holds everything."""
        self.close()
        self.path.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> ErtError:
    remedy = write_remedy(error, "choose another folder with --out")
    return ErtError(f"{path}: cannot be written: {error.strerror or error}. {remedy}")


def _sample_row(sample: Sample) -> dict[str, Json]:
    """Only what was measured: absent keys are unknown values."""
    row = {key: value for key, value in asdict(sample).items() if value is not None and value != ()}
    return cast(dict[str, Json], {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()})


def read_journal(path: Path) -> Recording:
    """Read a journal back; a torn last line is dropped and reported.

    Raises SchemaError naming file and line for anything else that is wrong, ErtError if it cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        where = "A sweep that was stopped leaves its journal in the folder of --out, a finished one none."
        raise ErtError(f"{path}: cannot be read: {error.strerror or error}. {where}") from error
    lines, good, findings = _whole_lines(path, content)
    if not lines:
        raise SchemaError(f"{path}: holds no whole line, so nothing can be resumed. Start a new sweep.")
    header = lines[0]
    _check_header(path, header)
    visits = [_visit(path, number, row) for number, row in enumerate(lines[1:], start=2) if "resumed" not in row]
    resumed = tuple(str(row["resumed"]) for row in lines[1:] if "resumed" in row)
    return Recording(header, tuple(visits), resumed, tuple(findings), good)


def _whole_lines(path: Path, content: bytes) -> tuple[list[dict[str, Json]], int, list[Finding]]:
    rows: list[dict[str, Json]] = []
    good = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        is_last = good + len(line) == len(content)
        try:
            row = parse_json(line.decode("utf-8"), f"{path}: line {number}")
        except (UnicodeDecodeError, SchemaError) as error:
            if is_last:
                message = f"{path}: line {number} is torn (the run was stopped while writing it); its point is measured again"
                return rows, good, [Finding("torn_line_dropped", message, float(number), None)]
            raise SchemaError(f"{path}: line {number} is not JSON. The file was changed by something else; start a new sweep.") from error
        if not isinstance(row, dict):
            raise SchemaError(f"{path}: line {number} is not a JSON object.")
        if is_last and not line.endswith(b"\n"):
            return (
                rows,
                good,
                [Finding("torn_line_dropped", f"{path}: line {number} has no end; its point is measured again", float(number), None)],
            )
        rows.append(row)
        good += len(line)
    return rows, good, []


def _check_header(path: Path, header: Mapping[str, Json]) -> None:
    if header.get("schema") != SCHEMA:
        raise SchemaError(f"{path}: not a journal of a sweep: schema is {header.get('schema')!r}, not '{SCHEMA}'.")
    version = header.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise SchemaError(
            f"{path}: written in schema version {version}; this ert knows versions up to {SCHEMA_VERSION}. Resume it with a newer ert."
        )


def _visit(path: Path, number: int, row: Mapping[str, Json]) -> Visit:
    try:
        if row.get("status", "ok") != "ok":
            return Visit(str(row["id"]), str(row["status"]), str(row.get("reason")))
        samples = tuple(_sample(sample, f"{path}: line {number}: not a visit of a point") for sample in cast(list[Json], row["samples"]))
        size = row["working_set_bytes"]
        return Visit(
            id=str(row["id"]),
            working_set_bytes=None if size is None else int(cast(int, size)),
            flops=float(cast(float, row["flops"])),
            bytes=float(cast(float, row["bytes"])),
            repeats=int(cast(int, row["repeats"])),
            samples=samples,
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(f"{path}: line {number}: not a visit of a point: {error!r}. The file was changed by something else.") from error


def _sample(row: Json, where: str) -> Sample:
    sample = decode(Sample, row, where)
    if sample.time_s <= 0:
        raise SchemaError(f"{where}: a sample is not above 0 s. The file was changed by something else.")
    return sample
