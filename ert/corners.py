"""The rounded corners of a sweep: the mixed kernel's points, one fit for each level and precision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ert.ceilings import BandwidthCeiling, ComputeCeiling, Corner, Point
from ert.errors import AnalysisError
from ert.findings import Finding
from ert.fit.corner import CornerFit, check_corner, fit_corner

# Place of a roof: level, precision, path.
RoofKey = tuple[str, str, str]
# The mixed kernel loads and stores the same elements, which is what this bandwidth operation does without arithmetic.
READ_AND_WRITE = "update"


def fit_corners(
    mixed: Iterable[tuple[Point, NDArray[np.float64]]], levels: Sequence[BandwidthCeiling], peaks: Sequence[ComputeCeiling]
) -> tuple[dict[RoofKey, Corner], list[Finding]]:
    """Corners by level, precision and path, and findings where a fit fails or disagrees with the direct measurement.

    mixed  points of the mixed kernel with the times of one repeat, s, of the samples that count
    """
    groups: dict[RoofKey, list[tuple[Point, NDArray[np.float64]]]] = {}
    for point, times_s in mixed:
        if point.level and point.flops_per_element and times_s.size:
            groups.setdefault((point.level, point.precision, point.path), []).append((point, times_s))
    corners: dict[RoofKey, Corner] = {}
    findings: list[Finding] = []
    for key, group in groups.items():
        where = f"{key[0]}, {key[1]} {key[2]}"
        try:
            fit = _fit(group)
        except AnalysisError as error:
            findings.append(Finding("no_corner", f"{where}: the rounded corner was not fitted: {error}", None, None))
            continue
        corners[key] = Corner(fit.exponent, fit.exponent_ci95, fit.bandwidth_bytes_per_s, fit.peak_flop_per_s)
        findings += _check(key, fit, levels, peaks, where)
    return corners, findings


def _fit(group: Sequence[tuple[Point, NDArray[np.float64]]]) -> CornerFit:
    """Every sample is a row, so that a noisy point weighs by its median only."""
    rows = [(point, float(time_s)) for point, times_s in group for time_s in times_s]
    flops = np.array([float(point.flops_per_element or 0) for point, _ in rows])
    elements = np.array([point.flops for point, _ in rows]) / flops
    return fit_corner(flops, np.array([time_s for _, time_s in rows]) / elements, np.array([point.bytes for point, _ in rows]) / elements)


def _check(key: RoofKey, fit: CornerFit, levels: Sequence[BandwidthCeiling], peaks: Sequence[ComputeCeiling], where: str) -> list[Finding]:
    level, precision, path = key
    bandwidth = next((b for b in levels if (b.level, b.op) == (level, READ_AND_WRITE)), None)
    peak = next((c for c in peaks if (c.precision, c.path) == (precision, path)), None)
    if bandwidth is None or peak is None:
        return []
    return check_corner(fit, (bandwidth.value, bandwidth.ci95), (peak.value, peak.ci95), where)
