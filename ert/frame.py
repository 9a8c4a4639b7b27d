"""Ceilings and points as pandas data frames, for notebooks."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from ert.ceilings import Ceilings
from ert.ceilings.point import Point
from ert.exporters.rows import ceiling_rows


def ceilings_frame(ceilings: Ceilings) -> pd.DataFrame:
    """One row per ceiling, the columns of the csv export."""
    return pd.DataFrame([asdict(row) for row in ceiling_rows(ceilings)])


def points_frame(ceilings: Ceilings) -> pd.DataFrame:
    """One row per measured point, also those that could not be measured; times and rates are those of the median sample."""
    return pd.DataFrame([_row(point) for point in ceilings.points])


def _row(p: Point) -> dict[str, object]:
    return {
        "id": p.id,
        "kernel": p.kernel,
        "measures": p.measures,
        "op": p.op,
        "precision": p.precision,
        "path": p.path,
        "level": p.level,
        "working_set_bytes": p.working_set_bytes,
        "flops_per_element": p.flops_per_element,
        "flops": p.flops,
        "bytes": p.bytes,
        "samples": len(p.samples_s),
        "time_s": p.median_time_s,
        "rate_flop_per_s": p.rate_flop_per_s,
        "bandwidth_bytes_per_s": p.bandwidth_bytes_per_s,
        "ai_flop_per_byte": p.ai_flop_per_byte,
        "operands": p.operands,
        "sustain_s": p.sustain_s,
        "status": p.status,
        "reason": p.reason,
    }
