"""What a sweep's points say beyond the working-set curve: compute ceilings, and the corners of the mixed kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ert.ceilings.kinds import Corner
from ert.ceilings.point import Point
from ert.corners import RoofKey, fit_corners
from ert.findings import Finding
from ert.fit.compute import Ceiling, fit_ceiling

# Precision, path, operation.
ComputeKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PointFit:
    """Rates in op/s by precision, path and operation; corners by level, precision and path."""

    compute: Mapping[ComputeKey, Ceiling]
    corners: Mapping[RoofKey, Corner]
    warnings: tuple[Finding, ...] = ()


def fit_points(points: Iterable[Point]) -> PointFit:
    """Fit compute ceilings and rounded corners to measured points, from the samples that count."""
    measured = [p for p in points if p.samples_s and p.repeats and p.flops and not p.is_follow_up]
    candidates: dict[ComputeKey, dict[str, list[float]]] = {}
    for p in measured:
        if p.measures == "compute":
            rates = [p.flops * p.repeats / time_s for time_s in p.undisturbed_s]
            candidates.setdefault((p.precision, p.path, p.op), {})[p.id] = rates
    compute = {key: fit_ceiling(rates) for key, rates in candidates.items()}
    mixed = [(p, np.array(p.undisturbed_s) / p.repeats) for p in measured if p.measures == "mixed"]
    corners, warnings = fit_corners(mixed, (), ())
    return PointFit(compute, corners, tuple(warnings))
