"""Devices that stand out among their like in one night: the one card that was always slow has no night to be compared with."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.codec import encode
from ert.errors import AnalysisError
from ert.findings import Finding
from ert.history_index import Index
from ert.history_series import Grid, load_grid
from ert.history_stats import Bools, Floats, normal_z, row_medians
from ert.jsontypes import Json
from ert.stats import MAD_TO_SIGMA

SCHEMA = "ert.fleet"
SCHEMA_VERSION = 1
# With fewer devices their median and MAD are those of two or three.
LEAST_DEVICES = 8
# Robust standard deviations from the fleet's median: 1 in 10,000 devices of a normal fleet, both sides together ...
OUTLIER_Z = 3.9
# ... and no less than this: cards of one kind differ by a percent or two by nature.
LEAST_CHANGE = 0.03
# A MAD of n devices is worth about this share of n - 1 degrees of freedom (its efficiency for normal values).
_MAD_EFFICIENCY = 0.37


@dataclass(frozen=True, slots=True)
class Outlier:
    """A device far from its fleet.

    change, z  from the fleet's median, relative and in its robust standard deviations
    since      first night of an unbroken run of such nights
    """

    host: str
    device: str
    name: str
    ceiling: str
    value: float
    unit: str
    median: float
    change: float
    z: float
    since: str


@dataclass(frozen=True, slots=True)
class FleetCeiling:
    """One ceiling over all devices of one kind in the night; ``spread``: robust standard deviation as a share of the median."""

    name: str
    ceiling: str
    unit: str
    devices: int
    median: float
    spread: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every kind of device in a night, and those that stand out, lowest first."""

    night: str
    ceilings: tuple[FleetCeiling, ...]
    outliers: tuple[Outlier, ...]
    findings: tuple[Finding, ...]

    @property
    def is_alarming(self) -> bool:
        """A device below its fleet; one above it is worth a look, not an alarm."""
        return any(outlier.change < 0 for outlier in self.outliers)

    def to_dict(self) -> dict[str, Json]:
        """The document of ``ert history fleet --json``."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "night": self.night,
            "ceilings": encode(self.ceilings),
            "outliers": encode(self.outliers),
            "warnings": encode(self.findings),
        }


def compare_fleet(index: Index, night: datetime.date | None = None) -> Fleet:
    """The fleet of a night, the last one by default. Raises AnalysisError without runs or outside of the store's nights."""
    grid = load_grid(index)
    if not grid.nights:
        raise AnalysisError("the store holds no run yet. `ert nightly` adds one.")
    last = night or grid.nights[-1]
    if not grid.nights[0] <= last <= grid.nights[-1]:
        raise AnalysisError(f"--night {last}: the store has nights from {grid.nights[0]} to {grid.nights[-1]}.")
    column = (last - grid.nights[0]).days
    ceilings: list[FleetCeiling] = []
    outliers: list[Outlier] = []
    small: set[str] = set()
    for (name, _, ceiling), rows in _fleets(index, grid).items():
        present = rows[np.isfinite(grid.log_value[rows, column])]
        if 0 < present.size < LEAST_DEVICES:
            small.add(name)
        if present.size >= LEAST_DEVICES:
            center, sigma, z = fleet_z(grid.log_value[rows, : column + 1])
            unit = grid.series[int(present[0])].unit
            ceilings.append(FleetCeiling(name, ceiling, unit, int(present.size), math.exp(center[-1]), float(sigma[-1])))
            outliers += _outliers(grid, name, rows, (center, z))
    findings = [Finding("small_fleet", f"{name}: fewer than {LEAST_DEVICES} devices; not compared", None) for name in sorted(small)]
    return Fleet(last.isoformat(), tuple(ceilings), tuple(sorted(outliers, key=lambda o: o.change)), (*index.findings, *findings))


def fleet_z(log_value: Floats) -> tuple[Floats, Floats, Floats]:
    """(center, sigma) per night and z per device and night, of log values (devices, nights), NaN where a device is missing.

    Median and MAD of the devices: half of them may be wrong. Source: Iglewicz & Hoaglin, "How to Detect and Handle Outliers",
    ASQC 1993; the z is that of a normal fleet as large as this one.
    """
    center = row_medians(log_value.T)
    away = log_value - center
    sigma = MAD_TO_SIGMA * row_medians(np.abs(away).T)
    freedom = np.maximum(_MAD_EFFICIENCY * (np.isfinite(log_value).sum(axis=0) - 1), 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(away == 0, 0.0, normal_z(away / sigma, np.broadcast_to(freedom, away.shape)))
    return center, sigma, z


def _fleets(index: Index, grid: Grid) -> dict[tuple[str, str, str], NDArray[np.int64]]:
    """(name, what else makes them one kind, ceiling) -> rows. Devices of one name, memory and sweep are one kind."""
    kinds = {
        (str(host), str(device), str(series)): (str(name), f"{memory} {sweep}")
        for host, device, series, name, memory, sweep in index.query(
            "SELECT host, device, series, any_value(name), any_value(memory_bytes), any_value(sweep) FROM runs "
            "WHERE problem IS NULL GROUP BY ALL"
        )
    }
    fleets: dict[tuple[str, str, str], list[int]] = {}
    for row, series in enumerate(grid.series):
        track = series.track
        fleets.setdefault((*kinds[track.host, track.device, track.series], series.ceiling), []).append(row)
    return {key: np.array(rows, dtype=np.int64) for key, rows in sorted(fleets.items())}


def _outliers(grid: Grid, name: str, rows: NDArray[np.int64], found: tuple[Floats, Floats]) -> Iterable[Outlier]:
    center, z = found
    away = grid.log_value[rows, : center.size] - center
    is_out = (np.abs(z) > OUTLIER_Z) & ((away <= math.log1p(-LEAST_CHANGE)) | (away >= math.log1p(LEAST_CHANGE)))
    for i in np.flatnonzero(is_out[:, -1]):
        series = grid.series[int(rows[i])]
        yield Outlier(
            host=series.track.host,
            device=series.track.device,
            name=name,
            ceiling=series.ceiling,
            value=float(grid.value[rows[i], center.size - 1]),
            unit=series.unit,
            median=math.exp(center[-1]),
            change=math.expm1(away[i, -1]),
            z=float(z[i, -1]),
            since=grid.nights[_first_of_run(is_out[i], np.isnan(away[i]))].isoformat(),
        )


def _first_of_run(is_out: Bools, is_missing: Bools) -> int:
    """The night an outlier's unbroken run began; nights without it neither break nor begin one."""
    inside = np.flatnonzero(~is_out & ~is_missing)
    start = int(inside[-1]) + 1 if inside.size else 0
    return start + int(np.flatnonzero(is_out[start:])[0])
