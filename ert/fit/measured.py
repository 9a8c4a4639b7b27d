"""The working-set curves among the points of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ert.ceilings import Point
from ert.fit.model import Curve
from ert.journal import Visit

_LEAST_SIZES = 2


@dataclass(frozen=True, slots=True)
class ReadCurve:
    """One curve of a file: ``op`` is the operation it belongs to, None where the file does not say."""

    op: str | None
    curve: Curve


@dataclass(frozen=True, slots=True)
class _Sampled:
    """One point of a curve: bytes/s, clock and whether the device throttled, for each of its samples."""

    op: str
    working_set_bytes: int
    rates: tuple[float, ...]
    clock_hz: tuple[float, ...]
    throttled: tuple[bool, ...]


def curves_of_points(points: Iterable[Point]) -> list[ReadCurve]:
    """One curve per operation from the points of a ceilings file.

    Points of a curve aim at no level; a file without such points has its bandwidth points taken together.
    """
    usable = [p for p in points if p.measures == "bandwidth" and p.working_set_bytes and p.samples_s and p.bytes]
    return _curves([_point(p) for p in usable if p.level is None] or [_point(p) for p in usable])


def curves_of_visits(visits: Iterable[Visit]) -> list[ReadCurve]:
    """The same from a journal, whose ids read ``kernel/precision/curve/size/...``; there the kernel stands for its operation."""
    by_id: dict[str, list[Visit]] = {}
    for visit in visits:
        if visit.samples and visit.working_set_bytes and visit.bytes and visit.id.split("/")[2:3] == ["curve"]:
            by_id.setdefault(visit.id, []).append(visit)
    return _curves([_visited(several) for several in by_id.values()])


def _point(point: Point) -> _Sampled:
    count = len(point.samples_s)
    return _Sampled(
        op=point.op,
        working_set_bytes=point.working_set_bytes or 0,
        rates=tuple(point.bytes * point.repeats / time_s for time_s in point.samples_s),
        clock_hz=tuple(np.nan if hz is None else hz for hz in point.clock_hz) or (np.nan,) * count,
        throttled=tuple(bool(words) for words in point.throttled) or (False,) * count,
    )


def _visited(visits: Sequence[Visit]) -> _Sampled:
    samples = [(v.bytes * v.repeats / s.time_s, s) for v in visits for s in v.samples]
    return _Sampled(
        op=visits[0].id.split("/")[0],
        working_set_bytes=visits[0].working_set_bytes or 0,
        rates=tuple(rate for rate, _ in samples),
        clock_hz=tuple(np.nan if s.clock_hz is None else s.clock_hz for _, s in samples),
        throttled=tuple(bool(s.throttled) for _, s in samples),
    )


def _curves(sampled: Sequence[_Sampled]) -> list[ReadCurve]:
    """At each size the fastest variant of a kernel stands for what the memory can deliver."""
    best: dict[str, dict[int, _Sampled]] = {}
    for point in sampled:
        sizes = best.setdefault(point.op, {})
        rival = sizes.get(point.working_set_bytes)
        if rival is None or median(point.rates) > median(rival.rates):
            sizes[point.working_set_bytes] = point
    return [ReadCurve(op, _curve(list(sizes.values()))) for op, sizes in best.items() if len(sizes) >= _LEAST_SIZES]


def _curve(points: Sequence[_Sampled]) -> Curve:
    """Points are visited in rounds, so that the number of a sample is its time as far as the file remembers it."""
    clock = np.array([hz for p in points for hz in p.clock_hz])
    return Curve(
        working_set_bytes=np.array([float(p.working_set_bytes) for p in points for _ in p.rates]),
        bandwidth_bytes_per_s=np.array([rate for p in points for rate in p.rates]),
        order=np.array([float(number) for p in points for number in range(len(p.rates))]),
        clock_hz=None if np.isnan(clock).all() else clock,
        throttled=np.array([mark for p in points for mark in p.throttled], dtype=bool),
    )
