"""The working-set curves of a sweep, with the plateaus that became ceilings and the capacities that name them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ert.ceilings import Ceilings
from ert.columns import bandwidth_rows
from ert.fit.measured import ReadCurve, curves_of_points
from ert.levels import FAST_TO_SLOW
from ert.report.figures import Figure, Tags, Trace, line, log_axis, log_range, markers, spread
from ert.report.looks import INK, series_colours
from ert.report.markup import hover
from ert.report.roofline import ceiling_text
from ert.units import capacity, with_prefix

# Room on the axes around what is drawn, as a factor.
_BEYOND = 1.6
# Up to this many sizes a sweep measured a point or two per level.
_MOST_SINGLE_SIZES = 2 * len(FAST_TO_SLOW)


def curves_figure(ceilings: Ceilings) -> Figure | None:
    """None if the file has neither curves nor plateaus."""
    curves = curves_of_points(ceilings.points)
    plateaus = [c for c in bandwidth_rows(ceilings) if c.working_set_bytes]
    ops = list(dict.fromkeys([c.op or "bandwidth" for c in curves] + [c.op for c in plateaus]))
    if not ops:
        return None
    traces = [_curve(c, ops.index(c.op or "bandwidth")) for c in curves]
    for c in plateaus:
        low, high = c.working_set_bytes or (0, 0)
        # One of a single size would be invisible.
        ends = (low / 1.2, high * 1.2) if low == high else (float(low), float(high))
        xs = log_range(*ends)
        tags = Tags(series_colours(ops.index(c.op)), op=c.op, level=c.level)
        traces.append(line(xs, (c.value,) * len(xs), ceiling_text(c, f"{c.level} {c.op} plateau"), tags, width=7) | {"opacity": 0.55})
    sizes, rates = _extent(traces)
    traces += _capacities(ceilings, sizes, rates)
    layout: dict[str, object] = {
        "xaxis": log_axis("working set (bytes)", sizes) | _binary_ticks(*sizes),
        "yaxis": log_axis("bandwidth (B/s)", rates),
    }
    levels = ", ".join(f"{c.level} {with_prefix(c.value, 'B/s')}" for c in ceilings.bandwidth_roofs.values())
    return Figure(traces, layout, f"Bandwidth against working set for {', '.join(ops)}. Plateaus that became roofs: {levels or 'none'}.")


def _curve(read: ReadCurve, index: int) -> Trace:
    """The median at each size; the samples are in the hover label."""
    samples: dict[float, list[float]] = defaultdict(list)
    for size, rate in zip(read.curve.working_set_bytes, read.curve.bandwidth_bytes_per_s, strict=True):
        samples[float(size)].append(float(rate))
    op = read.op or "bandwidth"
    xs = tuple(sorted(samples))
    ys = tuple(float(np.median(samples[x])) for x in xs)
    texts = [
        hover(
            f"{with_prefix(y, 'B/s')} (median)",
            spread(samples[x], "B/s"),
            title=f"{op}, {capacity(x)}",
        )
        for x, y in zip(xs, ys, strict=True)
    ]
    drawn = markers(xs, ys, texts, Tags(series_colours(index), op=op), symbol="circle", size=5)
    # A line between single points would show what nobody measured.
    return drawn | {"mode": "lines+markers", "line": {"width": 1.2}} if len(xs) > _MOST_SINGLE_SIZES else drawn


def _extent(traces: list[Trace]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Axes that hold every trace."""
    columns = ([float(v) for t in traces for v in t[axis]] for axis in ("x", "y"))  # type: ignore[attr-defined]
    (sizes, rates) = ((min(values) / _BEYOND, max(values) * _BEYOND) for values in columns)
    return sizes, rates


def _capacities(ceilings: Ceilings, sizes: tuple[float, float], rates: tuple[float, float]) -> list[Trace]:
    """A vertical line where a level is full."""
    found = []
    for level, roof in ceilings.bandwidth_roofs.items():
        if roof.capacity_bytes and sizes[0] < roof.capacity_bytes < sizes[1]:
            text = hover("as the device reports it", title=f"{level} holds {capacity(roof.capacity_bytes)}")
            tags = Tags(INK, level=level, label=f"{level} {capacity(roof.capacity_bytes)}", place="top")
            xs = (float(roof.capacity_bytes),) * 2
            found.append(line(xs, rates, text, tags, dash="dot", width=1))
    return found


def _binary_ticks(low: float, high: float) -> dict[str, object]:
    """A tick every four octaves: 4 KiB, 64 KiB, 1 MiB."""
    powers = [p for p in range(0, 60, 4) if low <= 2**p <= high]
    return {"tickvals": [2**p for p in powers], "ticktext": [capacity(2**p) for p in powers]}
