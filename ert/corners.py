"""The rounded corners of a sweep: the mixed kernel's points, one fit for each level and precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ert.ceilings.kinds import BandwidthCeiling, ComputeCeiling, Corner
from ert.ceilings.point import Point
from ert.errors import AnalysisError
from ert.findings import Finding
from ert.fit.corner import CornerFit, check_corner, fit_corner

# Place of a roof: level, precision, path.
RoofKey = tuple[str, str, str]
# Mixed kernel -> the bandwidth operation that moves data as it does, without arithmetic; the first that shows a roof's corner
# makes it. One that stores nothing also serves where nothing can be stored, as in a GPU's L1, and reaches twice the intensity.
MOVES_LIKE = {"mixed": "update", "mixed_read": "read"}


def fit_corners(
    mixed: Iterable[tuple[Point, NDArray[np.float64]]], levels: Sequence[BandwidthCeiling], peaks: Sequence[ComputeCeiling]
) -> tuple[dict[RoofKey, Corner], list[Finding]]:
    """Corners by level, precision and path, and findings where a fit fails or disagrees with the direct measurement.

    mixed  points of the mixed kernel with the times of one repeat, s, of the samples that count
    """
    groups: dict[RoofKey, dict[str, list[tuple[Point, NDArray[np.float64]]]]] = {}
    for point, times_s in mixed:
        if point.level and point.flops_per_element and times_s.size:
            kernels = groups.setdefault((point.level, point.precision, point.path), {})
            kernels.setdefault(point.kernel, []).append((point, times_s))
    corners: dict[RoofKey, Corner] = {}
    findings: list[Finding] = []
    for key, kernels in groups.items():
        where = f"{key[0]}, {key[1]} {key[2]}"
        try:
            kernel, fit = _first_fit(kernels)
        except AnalysisError as error:
            findings.append(Finding("no_corner", f"{where}: the rounded corner was not fitted: {error}", None, None))
            continue
        corners[key] = Corner(fit.exponent, fit.exponent_ci95, fit.bandwidth_bytes_per_s, fit.peak_flop_per_s)
        findings += _check(key, fit, [b for b in levels if b.op == MOVES_LIKE.get(kernel)], peaks, where)
    return corners, findings


def _first_fit(kernels: Mapping[str, Sequence[tuple[Point, NDArray[np.float64]]]]) -> tuple[str, CornerFit]:
    """The first kernel, in the order of MOVES_LIKE, whose points show a corner. Raises AnalysisError of the first if none does."""
    order = [*(name for name in MOVES_LIKE if name in kernels), *(name for name in kernels if name not in MOVES_LIKE)]
    problems: list[AnalysisError] = []
    for name in order:
        try:
            return name, _fit(kernels[name])
        except AnalysisError as error:
            problems.append(error)
    raise problems[0]


def _fit(group: Sequence[tuple[Point, NDArray[np.float64]]]) -> CornerFit:
    """Every sample is a row, so that a noisy point weighs by its median only."""
    rows = [(point, float(time_s)) for point, times_s in group for time_s in times_s]
    flops = np.array([float(point.flops_per_element or 0) for point, _ in rows])
    elements = np.array([point.flops for point, _ in rows]) / flops
    return fit_corner(flops, np.array([time_s for _, time_s in rows]) / elements, np.array([point.bytes for point, _ in rows]) / elements)


def _check(key: RoofKey, fit: CornerFit, levels: Sequence[BandwidthCeiling], peaks: Sequence[ComputeCeiling], where: str) -> list[Finding]:
    level, precision, path = key
    bandwidth = next((b for b in levels if b.level == level), None)
    peak = next((c for c in peaks if (c.precision, c.path) == (precision, path)), None)
    if bandwidth is None or peak is None:
        return []
    return check_corner(fit, (bandwidth.value, bandwidth.ci95), (peak.value, peak.ci95), where)
