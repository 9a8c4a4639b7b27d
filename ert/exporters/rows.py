"""Ceilings as flat rows, all in SI units: the long table of the csv exporter and of ``Ceilings.to_frame``."""

from __future__ import annotations

from dataclasses import dataclass

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling, ComputeCeiling
from ert.columns import bandwidth_rows, compute_rows
from ert.precisions import si_rate_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingRow:
    """One ceiling. ``level`` only for bandwidth, ``precision`` and ``path`` only for compute; None is not measured or not known."""

    device_id: str
    device: str
    created: str
    kind: str
    level: str | None
    precision: str | None
    path: str | None
    op: str
    is_roof: bool
    value: float
    unit: str
    ci95_low: float | None
    ci95_high: float | None
    limit: float | None
    share_of_limit: float | None
    clock_hz: float | None
    threads: int | None
    working_set_min_bytes: int | None
    working_set_max_bytes: int | None
    capacity_bytes: int | None
    kernel: str
    flags: str


def ceiling_rows(ceilings: Ceilings) -> list[CeilingRow]:
    """Every ceiling of the file, in the order of the tables."""
    return [_row(ceilings, c) for c in bandwidth_rows(ceilings)] + [_row(ceilings, c) for c in compute_rows(ceilings)]


def _row(ceilings: Ceilings, c: Ceiling) -> CeilingRow:
    of_level = c if isinstance(c, BandwidthCeiling) else None
    of_precision = c if isinstance(c, ComputeCeiling) else None
    low, high = c.ci95 or (None, None)
    smallest, largest = (of_level.working_set_bytes if of_level else None) or (None, None)
    return CeilingRow(
        device_id=str(ceilings.device.get("id", "")),
        device=str(ceilings.device.get("name", "")),
        created=ceilings.created,
        kind="compute" if of_precision else "bandwidth",
        level=of_level.level if of_level else None,
        precision=of_precision.precision if of_precision else None,
        path=of_precision.path if of_precision else None,
        op=c.op,
        is_roof=c.roof,
        value=c.value,
        unit="byte/s" if of_precision is None else si_rate_unit(of_precision.precision),
        ci95_low=low,
        ci95_high=high,
        limit=c.limit,
        share_of_limit=c.share_of_limit,
        clock_hz=c.clock_hz,
        threads=c.threads,
        working_set_min_bytes=smallest,
        working_set_max_bytes=largest,
        capacity_bytes=of_level.capacity_bytes if of_level else None,
        kernel=c.kernel,
        flags=" ".join(c.flags),
    )
