"""Curves from files: a CSV of measured rows, a ceilings file, or the journal of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ert.ceilings import load
from ert.ceilings.point import Point
from ert.devices import kind_of
from ert.errors import AnalysisError, SchemaError
from ert.files import StrPath, read_json, read_text
from ert.findings import Finding
from ert.fit.csv_curves import curves_of_csv, parse_clocks
from ert.fit.facts import capacity_facts
from ert.fit.measured import ReadCurve, curves_of_points, points_of_visits
from ert.fit.model import CapacityFact
from ert.journal import read_journal
from ert.jsontypes import Json
from ert.kernels import DeviceKind, load_kernels

_JOURNAL_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class CurveFile:
    """The curves of a file, what it says about the device's caches, what had to be left out, and the sweep's points if it is of one."""

    curves: tuple[ReadCurve, ...]
    facts: tuple[CapacityFact, ...] = ()
    findings: tuple[Finding, ...] = ()
    points: tuple[Point, ...] = ()


def read_curves(path: StrPath, clocks: StrPath | None = None) -> CurveFile:
    """The curves in a file: a journal by its name, a ceilings file by its first brace, else a CSV.

    clocks  a CSV with the core clock beside each data row of a CSV: ``row`` (from 0) and ``clock_hz`` or ``sm_clock_MHz``

    Raises SchemaError or AnalysisError naming file, line and column, or the key; ErtError if it cannot be read.
    """
    if str(path).endswith(_JOURNAL_SUFFIX):
        recording = read_journal(Path(path))
        device = recording.header.get("device")
        points, findings = points_of_visits(recording.visits, load_kernels(_kind_of(device)))
        return _measured(path, points, device, [*recording.findings, *findings])
    text = read_text(path)
    if text.lstrip().startswith("{"):
        ceilings = load(path)
        return _measured(path, ceilings.points, ceilings.device, ())
    beside = None if clocks is None else parse_clocks(read_text(clocks), str(clocks))
    curves, findings = curves_of_csv(text, str(path), beside)
    return CurveFile(tuple(curves), (), tuple(findings))


def _kind_of(device: Json) -> DeviceKind:
    """The kind of a journal's device, whose header has its id."""
    return "cuda" if isinstance(device, dict) and kind_of(str(device.get("id"))) == "cuda" else "cpu"


def _measured(path: StrPath, points: Sequence[Point], device: Json, findings: Sequence[Finding]) -> CurveFile:
    curves = curves_of_points(points)
    if not curves:
        raise AnalysisError(f"{path}: holds no working-set curve: no measured points of several working sets. Sweep without --level.")
    facts = capacity_facts(device, str(path)) if isinstance(device, dict) else []
    return CurveFile(tuple(curves), tuple(facts), tuple(findings), tuple(points))


def read_facts(path: StrPath) -> list[CapacityFact]:
    """Caches from a JSON file: a device object, or a file of ert that holds one under ``device``."""
    document = read_json(path)
    device = document.get("device", document) if isinstance(document, dict) else None
    if not isinstance(device, dict):
        raise SchemaError(f"{path}: not a JSON object with the facts of a device.")
    facts = capacity_facts(device, str(path))
    if not facts:
        raise SchemaError(f"{path}: says nothing about caches. Write l1_bytes, l2_bytes, l3_bytes, or l1_bytes_per_sm and sm_count.")
    return facts
