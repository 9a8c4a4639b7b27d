"""What a roofline picture shows, as numbers: slopes, flat roofs, ridge points, measured points and the axes around them.

Nothing here draws; whatever draws (a picture, a web page, a terminal) starts from a Chart.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.ceilings import Ceilings
from ert.ceilings.kinds import ComputeCeiling
from ert.errors import AnalysisError
from ert.levels import FAST_TO_SLOW

# The axes go this far beyond what they must contain, so that slopes are long enough to carry a label.
_BEYOND_RIDGES, _BEYOND_POINTS, _BEYOND_RATES = 8.0, 2.0, 1.8
_CORNER_SAMPLES = 241
# A rounded roof is drawn where it lies visibly below the ideal one; elsewhere it would only cover it.
_SAME_RATE = 0.99
# With more lines than this, those that are no roof stay in the table only.
_MOST_FLATS = 14


@dataclass(frozen=True, slots=True)
class Slope:
    """The roof of a memory level, drawn from the left edge to ``x_end``."""

    level: str
    op: str
    bandwidth_bytes_per_s: float
    x_end: float


@dataclass(frozen=True, slots=True)
class Flat:
    """A compute ceiling, drawn from ``x_start`` to the right edge. ``is_roof`` is False for add, fma+add and the like."""

    precision: str
    path: str
    op: str
    rate_flop_per_s: float
    is_roof: bool
    x_start: float


@dataclass(frozen=True, slots=True)
class Ridge:
    """Where a slope meets a flat roof."""

    level: str
    precision: str
    path: str
    ai_flop_per_byte: float
    rate_flop_per_s: float

    @property
    def label(self) -> str:
        """The intensity in three digits, never as a power of ten that has to be read twice: ``3.51``, ``1230``."""
        return f"{float(f'{self.ai_flop_per_byte:.3g}'):g}"


@dataclass(frozen=True, slots=True)
class Series:
    """Measured points of one level and precision, by ascending intensity."""

    level: str
    precision: str
    ai_flop_per_byte: tuple[float, ...]
    rate_flop_per_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """The measured, rounded corner of a roof: the part that lies visibly below the ideal one."""

    level: str
    precision: str
    path: str
    ai_flop_per_byte: NDArray[np.float64]
    rate_flop_per_s: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chart:
    """One roofline; slopes and series from the fast level to the slow one, ``x`` and ``y`` the ends of the axes."""

    slopes: tuple[Slope, ...]
    flats: tuple[Flat, ...]
    ridges: tuple[Ridge, ...]
    series: tuple[Series, ...]
    curves: tuple[Curve, ...]
    x: tuple[float, float]
    y: tuple[float, float]


def chart_of(ceilings: Ceilings, *, rounded: bool = False, series: tuple[Series, ...] | None = None) -> Chart:
    """The picture of a ceilings file; ``rounded`` adds the measured corners, ``series`` replaces the sweep's own points.

    Raises AnalysisError if the file has no ceilings, or no corner where one was asked for.
    """
    bandwidths = {level: c.value for level, c in sorted(ceilings.bandwidth_roofs.items(), key=lambda item: level_rank(item[0]))}
    computes = _drawn(ceilings)
    rates = [c.value for c in computes]
    if not bandwidths and not rates:
        raise AnalysisError("this ceilings file has no ceilings to draw; `ert show` says what became of its points.")
    ridges = tuple(
        Ridge(level, precision, path, c.value / bandwidth, c.value)
        for level, bandwidth in bandwidths.items()
        for (precision, path), c in ceilings.compute_roofs.items()
    )
    series = _series(ceilings) if series is None else series
    x = _x_axis(ridges, series, bandwidths, rates)
    return Chart(
        slopes=tuple(
            Slope(level, ceilings.bandwidth_roofs[level].op, bandwidth, min(max(rates, default=math.inf) / bandwidth, x[1]))
            for level, bandwidth in bandwidths.items()
        ),
        flats=_flats(computes, max(bandwidths.values(), default=math.inf), x[0]),
        ridges=ridges,
        series=series,
        curves=_curves(ceilings, x) if rounded else (),
        x=x,
        y=_y_axis(x, series, bandwidths, rates),
    )


def level_rank(level: str) -> int:
    """Place in the table of levels, fast to slow; unknown ones come last."""
    return FAST_TO_SLOW.index(level) if level in FAST_TO_SLOW else len(FAST_TO_SLOW)


def _drawn(ceilings: Ceilings) -> list[ComputeCeiling]:
    every = ceilings.compute_ceilings
    return sorted(every if len(every) <= _MOST_FLATS else ceilings.compute_roofs.values(), key=lambda c: c.value)


def _flats(computes: list[ComputeCeiling], steepest: float, x_low: float) -> tuple[Flat, ...]:
    """By ascending rate; each begins where the steepest slope meets it."""
    return tuple(Flat(c.precision, c.path, c.op, c.value, c.roof, max(c.value / steepest, x_low)) for c in computes)


def _series(ceilings: Ceilings) -> tuple[Series, ...]:
    """The measured mixed points that have a place on logarithmic axes, level by level."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for p in ceilings.points:
        ai, rate = p.ai_flop_per_byte, p.rate_flop_per_s
        if p.status == "ok" and p.measures == "mixed" and p.level and ai and rate:
            found[p.level, p.precision].append((ai, rate))
    ordered = sorted(found.items(), key=lambda item: level_rank(item[0][0]))
    return tuple(Series(*key, *map(tuple, zip(*sorted(pairs), strict=True))) for key, pairs in ordered)


def _x_axis(ridges: tuple[Ridge, ...], series: tuple[Series, ...], bandwidths: dict[str, float], rates: list[float]) -> tuple[float, float]:
    """Contains every ridge (also those of lines that are no roof) and every point; an octave per byte where there are none."""
    corners = [rate / bandwidth for rate in rates for bandwidth in bandwidths.values()] or [0.1, 10.0]
    points = [ai for s in series for ai in s.ai_flop_per_byte]
    low = min([min(corners) / _BEYOND_RIDGES, *(ai / _BEYOND_POINTS for ai in points)])
    high = max([max(corners) * _BEYOND_RIDGES, *(ai * _BEYOND_POINTS for ai in points)])
    return low, high


def _y_axis(x: tuple[float, float], series: tuple[Series, ...], bandwidths: dict[str, float], rates: list[float]) -> tuple[float, float]:
    """Contains every roof and every point, and every slope as far as the left edge."""
    points = [rate for s in series for rate in s.rate_flop_per_s]
    slopes = [bandwidth * x[0] for bandwidth in bandwidths.values()]
    tops = rates or [bandwidth * x[1] for bandwidth in bandwidths.values()]
    beyond = _BEYOND_RATES if bandwidths else _BEYOND_RIDGES
    return min([*slopes, *points, *rates]) / beyond, max([*tops, *points]) * beyond


def _curves(ceilings: Ceilings, x: tuple[float, float]) -> tuple[Curve, ...]:
    roofs = [
        r for r in ceilings.roofs if r.corner and r.level in ceilings.bandwidth_roofs and (r.precision, r.path) in ceilings.compute_roofs
    ]
    if not roofs:
        raise AnalysisError("this ceilings file has no fitted corner to draw rounded: sweep with mixed kernels, or leave out --rounded.")
    every = np.geomspace(*x, _CORNER_SAMPLES)
    curves = []
    for r in roofs:
        rounded = ceilings.attainable(every, r.level, r.precision, r.path, rounded=True)
        apart = rounded < _SAME_RATE * ceilings.attainable(every, r.level, r.precision, r.path)
        curves.append(Curve(r.level, r.precision, r.path, every[apart], rounded[apart]))
    return tuple(curves)
