"""The working-set curves among the points of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import cast

import numpy as np

from ert.ceilings.kinds import ComputePath
from ert.ceilings.point import Point
from ert.findings import Finding
from ert.fit.model import Curve
from ert.journal import Visit
from ert.kernels import Kernel
from ert.levels import LEVELS
from ert.plan import ON_ZEROS, SUSTAINED

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
    usable = [p for p in points if p.measures == "bandwidth" and p.working_set_bytes and p.samples_s and p.bytes and not p.is_follow_up]
    return _curves([_point(p) for p in usable if p.level is None] or [_point(p) for p in usable])


def points_of_visits(visits: Iterable[Visit], kernels: Mapping[str, Kernel]) -> tuple[list[Point], list[Finding]]:
    """The points behind a journal's visits, whose ids read ``kernel/precision/level/size/parameter=value/...``.

    kernels  the catalogue, which knows what each kernel measures; visits of a kernel it does not know are counted in a finding
    """
    by_id: dict[str, list[Visit]] = {}
    unknown = 0
    for visit in visits:
        if visit.id.rsplit("/", 1)[-1] in (ON_ZEROS, SUSTAINED):
            continue
        if visit.samples and _can_be_read(visit.id, kernels):
            by_id.setdefault(visit.id, []).append(visit)
        else:
            unknown += bool(visit.samples)
    message = f"{unknown} visits are of kernels this version does not have, and are left out."
    findings = [Finding("unknown_kernel", message, float(unknown), "Fit the file with the version that measured it.")] if unknown else []
    return [_visited(kernels[key.split("/")[0]], several) for key, several in by_id.items()], findings


# No working set or count in a point's name is longer.
_MOST_DIGITS = 20


def _can_be_read(point_id: str, kernels: Mapping[str, Kernel]) -> bool:
    """Kernel, precision, where, and whole-number parameters: another version may name its points otherwise."""
    words = point_id.split("/")
    values = [value for _, _, value in (word.partition("=") for word in words) if value]
    return words[0] in kernels and len(words) > 2 and all(value.isdecimal() and len(value) < _MOST_DIGITS for value in values)


def _visited(kernel: Kernel, visits: Sequence[Visit]) -> Point:
    words = visits[0].id.split("/")
    samples = [sample for visit in visits for sample in visit.samples]
    parameters = {name: int(value) for name, _, value in (word.partition("=") for word in words) if value}
    return Point(
        id=visits[0].id,
        kernel=kernel.name,
        measures=kernel.measures,
        op=kernel.op,
        precision=words[1],
        path=cast(ComputePath, kernel.path),
        level=words[2] if words[2] in LEVELS else None,
        working_set_bytes=visits[0].working_set_bytes,
        flops_per_element=parameters.get("flops"),
        flops=visits[0].flops,
        bytes=visits[0].bytes,
        repeats=visits[0].repeats,
        samples_s=tuple(sample.time_s for sample in samples),
        clock_hz=tuple(sample.clock_hz for sample in samples),
        throttled=tuple(sample.throttled for sample in samples),
    )


def _point(point: Point) -> _Sampled:
    count = len(point.undisturbed_s)
    if point.counted_s:
        # Times joined from single cores are undisturbed by themselves and have no clock of their own.
        times, clocks, marks = point.counted_s, (np.nan,) * count, (False,) * count
    else:
        times = point.samples_s
        clocks = tuple(np.nan if hz is None else hz for hz in point.clock_hz) or (np.nan,) * len(times)
        marks = tuple(bool(words) for words in point.throttled) or (False,) * len(times)
    return _Sampled(point.op, point.working_set_bytes or 0, tuple(point.bytes * point.repeats / t for t in times), clocks, marks)


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
