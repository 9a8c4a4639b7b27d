"""The fit output ``ert.fit``: what ``ert fit`` prints and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import cast

from rich import box
from rich.table import Table

from ert.ceilings.kinds import Corner
from ert.columns import precision_name
from ert.corners import RoofKey
from ert.findings import Finding
from ert.fit.compute import Ceiling
from ert.fit.levels import fit_levels
from ert.fit.model import CapacityFact, Level
from ert.fit.points import ComputeKey, PointFit, fit_points
from ert.fit.read import CurveFile
from ert.jsontypes import Json
from ert.precisions import rate_unit
from ert.units import capacity, with_prefix

SCHEMA, SCHEMA_VERSION = "ert.fit", 1
NO_NAME = "?"


@dataclass(frozen=True, slots=True)
class FitReport:
    """Levels of every curve of a file, (operation, level) fast to slow within one operation; what its other points say; all warnings."""

    source: str
    levels: tuple[tuple[str | None, Level], ...]
    points: PointFit
    warnings: tuple[Finding, ...]


def fit_file(source: str, found: CurveFile, facts: Sequence[CapacityFact] = ()) -> FitReport:
    """Fit every curve of a file; ``facts`` replace those of the file."""
    levels: list[tuple[str | None, Level]] = []
    warnings = list(found.findings)
    for read in found.curves:
        fit = fit_levels(read.curve, facts or found.facts)
        levels += [(read.op, level) for level in fit.levels]
        warnings += fit.warnings if read.op is None else [_of_op(finding, read.op) for finding in fit.warnings]
    points = fit_points(found.points)
    return FitReport(source, tuple(levels), points, (*warnings, *points.warnings))


def _of_op(finding: Finding, op: str) -> Finding:
    return Finding(finding.code, f"{op}: {finding.message}", finding.value, finding.remedy)


def report_to_dict(report: FitReport) -> dict[str, Json]:
    """The document, keys in the contract's order."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "source": report.source,
        "levels": [_level_to_dict(op, level) for op, level in report.levels],
        "compute": [_ceiling_to_dict(key, ceiling) for key, ceiling in report.points.compute.items()],
        "corners": [_corner_to_dict(key, corner) for key, corner in report.points.corners.items()],
        "warnings": [cast(Json, asdict(finding)) for finding in report.warnings],
    }


def _level_to_dict(op: str | None, level: Level) -> dict[str, Json]:
    return {
        "level": level.name,
        "op": op,
        "value": level.value_bytes_per_s,
        "ci95": list(level.ci95),
        "working_set_bytes": [round(size) for size in level.working_set_bytes],
        "capacity_bytes": None if level.capacity_bytes is None else round(level.capacity_bytes),
        "capacity_ci95": None if level.capacity_ci95 is None else [round(size) for size in level.capacity_ci95],
        "points": level.points,
        "flags": list(level.flags),
    }


def _ceiling_to_dict(key: ComputeKey, ceiling: Ceiling) -> dict[str, Json]:
    precision, path, op = key
    interval = None if ceiling.ci95 is None else list[Json](ceiling.ci95)
    return {"precision": precision, "path": path, "op": op, "value": ceiling.value_per_s, "ci95": interval}


def _corner_to_dict(key: RoofKey, corner: Corner) -> dict[str, Json]:
    level, precision, path = key
    return {"level": level, "precision": precision, "path": path, **cast(dict[str, Json], asdict(corner))}


def report_tables(report: FitReport) -> list[Table]:
    """Levels, and compute ceilings and corners where the file has such points, for a terminal."""
    return [table for table in (_level_table(report), _compute_table(report), _corner_table(report)) if table.row_count]


def _level_table(report: FitReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    has_ops = any(op for op, _ in report.levels)
    for name in (*(["op"] if has_ops else []), "level"):
        table.add_column(name)
    for name in ("bandwidth", "95 % interval", "working sets", "capacity"):
        table.add_column(name, justify="right")
    table.add_column("notes")
    for op, level in report.levels:
        table.add_row(*([op or ""] if has_ops else []), *_cells(level))
    return table


def _compute_table(report: FitReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("precision", "op"):
        table.add_column(name)
    for name in ("rate", "95 % interval"):
        table.add_column(name, justify="right")
    for (precision, path, op), ceiling in report.points.compute.items():
        unit = rate_unit(precision)
        interval = "-" if ceiling.ci95 is None else " .. ".join(with_prefix(end, unit) for end in ceiling.ci95)
        table.add_row(precision_name(precision, path), op, with_prefix(ceiling.value_per_s, unit), interval)
    return table


def _corner_table(report: FitReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("level", "precision"):
        table.add_column(name)
    for name in ("bandwidth", "rate", "exponent"):
        table.add_column(name, justify="right")
    for (level, precision, path), corner in report.points.corners.items():
        bandwidth = with_prefix(corner.bandwidth_bytes_per_s or 0, "B/s")
        rate = with_prefix(corner.rate_flop_per_s or 0, rate_unit(precision))
        table.add_row(level, precision_name(precision, path), bandwidth, rate, f"{corner.exponent:.3g}")
    return table


def _cells(level: Level) -> Iterator[str]:
    low, high = level.ci95
    yield level.name or NO_NAME
    yield with_prefix(level.value_bytes_per_s, "B/s")
    yield f"{with_prefix(low, 'B/s')} .. {with_prefix(high, 'B/s')}"
    yield f"{capacity(level.working_set_bytes[0])} .. {capacity(level.working_set_bytes[1])}"
    yield capacity(level.capacity_bytes) if level.capacity_bytes else "-"
    yield ", ".join(level.flags)


def warning_lines(report: FitReport) -> list[str]:
    """Each warning with its remedy, for stderr."""
    return [f"Warning: {f.message}" + (f" {f.remedy}" if f.remedy else "") for f in report.warnings]
