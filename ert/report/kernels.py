"""Judged kernels as points of the roofline chart: one per memory level, their area the share of time."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ert.chart import Series
from ert.columns import intensity, precision_name
from ert.compare import Comparison
from ert.judge import Judgement
from ert.points.model import UNKNOWN, split_work, work_name
from ert.report.figures import Tags, Trace, markers
from ert.report.looks import level_symbol, precision_colours
from ert.report.markup import hover
from ert.short_names import short_name
from ert.units import with_prefix

# Pixels across: the marker of a kernel that takes no time at all, and of one that takes all of it.
_SMALLEST, _LARGEST = 8.0, 30.0


def whole_time_s(comparison: Comparison) -> float:
    """Time of all kernels together, by which shares are taken; never 0."""
    return sum(k.point.time_s for k in comparison.kernels) or 1.0


def kernel_series(comparison: Comparison) -> tuple[Series, ...]:
    """Only for the axes, which must hold every point."""
    places = [(level, ai, rate) for k in comparison.kernels for level, ai, rate in places_of(k)]
    return tuple(Series(level, "", (ai,), (rate,)) for level, ai, rate in places)


def kernel_traces(comparison: Comparison) -> list[Trace]:
    """A trace per level and kind of work; ``rows`` of each point is the index of its kernel in the comparison."""
    whole_s = whole_time_s(comparison)
    groups: dict[tuple[str, str], list[int]] = {}
    for index, k in enumerate(comparison.kernels):
        for level, _, _ in places_of(k):
            groups.setdefault((level, work_of(k)), []).append(index)
    traces = []
    for (level, key), rows in groups.items():
        kernels = [comparison.kernels[i] for i in rows]
        precision, path = split_work(key)
        xs, ys = zip(*((ai, rate) for k in kernels for where, ai, rate in places_of(k) if where == level), strict=True)
        tags = Tags(precision_colours(precision), level=level, key=precision_name(precision, path), layer="kernels", rows=rows)
        sizes = [_size(k.point.time_s / whole_s) for k in kernels]
        traces.append(markers(xs, ys, [_place_text(k, level) for k in kernels], tags, symbol=level_symbol(level), size=sizes))
    return traces


def places_of(k: Judgement) -> Iterator[tuple[str, float, float]]:
    """(level, AI, rate) of a kernel with FLOPs, at each level that it moved bytes on."""
    if k.rate_flop_per_s:
        yield from ((level, ai, k.rate_flop_per_s) for level, ai in k.ai.items() if ai)


def work_of(k: Judgement) -> str:
    """The work that binds, else the largest part: a key like ``fp16_tensor``."""
    if k.bound and k.bound.precision:
        return k.bound.precision
    work = {key: amount for key, amount in (k.point.flops or {}).items() if amount}
    return max(work, key=lambda key: work[key], default=UNKNOWN)


def launches(k: Judgement) -> str:
    """``1 launch``, ``12 launches``."""
    return f"{k.point.launches} launch{'es' if k.point.launches != 1 else ''}"


def bound_of(k: Judgement) -> str:
    """``bandwidth: DRAM``, ``compute: fp16 tensor``, ``latency``, ``unknown``."""
    if k.bound is None:
        return "unknown"
    if k.bound.kind == "latency":
        return "latency"
    return f"{k.bound.kind}: {k.bound.level or work_name(k.bound.precision or UNKNOWN)}"


def _size(time_share: float) -> float:
    """Diameter; the area grows with the share of time."""
    return round(math.sqrt(_SMALLEST**2 + time_share * (_LARGEST**2 - _SMALLEST**2)), 1)


def _place_text(k: Judgement, level: str) -> str:
    """The lines of the hover label that belong to one level; the scripts add those of the kernel."""
    ai, rate = k.ai[level] or 0.0, k.rate_flop_per_s or 0.0
    share = k.bandwidth_share.get(level)
    return hover(
        f"{level}: {intensity(ai)} FLOP/byte, {with_prefix(rate, 'FLOP/s')}",
        f"{level} bandwidth at {100 * share:.1f} % of its roof" if share is not None else "",
    )


def hover_parts(k: Judgement, whole_s: float) -> tuple[str, str]:
    """Title and last lines of a kernel's hover labels, the same on every level: what binds, and how far away that is."""
    roof = f"; {100 * k.fraction_of_roof:.1f} % of its roof" if k.fraction_of_roof is not None else ""
    attainable = f" ({with_prefix(k.attainable_flop_per_s, 'FLOP/s')})" if roof and k.attainable_flop_per_s else ""
    title = short_name(k.point.name) + (f" [{short_name(k.point.label, 30)}]" if k.point.label else "")
    return hover(title=title), hover(
        f"bound by {bound_of(k)}{roof}{attainable}",
        f"{with_prefix(k.point.time_s, 's')}, {100 * k.point.time_s / whole_s:.1f} % of the time, {launches(k)}",
        ", ".join(k.flags),
    )
