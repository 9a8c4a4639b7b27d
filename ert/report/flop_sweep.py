"""The FLOP sweep: rate of the mixed kernel against FLOPs per element, with the ideal roof and the measured, rounded corner."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ert.ceilings import Ceilings
from ert.ceilings.kinds import Corner
from ert.ceilings.point import Point
from ert.chart import level_rank
from ert.columns import interval, precision_name, unit_of
from ert.report.figures import Figure, Tags, Trace, line, log_axis, log_range, markers, spread
from ert.report.looks import level_symbol, series_colours
from ert.report.markup import hover
from ert.roofline import attainable
from ert.units import with_prefix

# Room on the axes around the points, as a factor.
_BEYOND = 1.5


@dataclass(frozen=True, slots=True)
class _Sweep:
    """The points of one level and precision, by ascending FLOPs; bytes of one element are the same for all."""

    level: str
    precision: str
    path: str
    points: tuple[Point, ...]

    @property
    def key(self) -> str:
        return precision_name(self.precision, self.path)

    @property
    def bytes_per_element(self) -> float:
        first = self.points[0]
        return first.bytes * (first.flops_per_element or 0) / first.flops

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.points[0].flops_per_element or 1), float(self.points[-1].flops_per_element or 1)


def flop_sweep_figure(ceilings: Ceilings) -> Figure | None:
    """None if the sweep had no mixed points."""
    sweeps = _sweeps(ceilings)
    if not sweeps:
        return None
    traces = [t for s in sweeps for t in _traces(ceilings, s)]
    rates = [p.rate_flop_per_s or 0.0 for s in sweeps for p in s.points]
    ends = (min(s.ends[0] for s in sweeps) / _BEYOND, max(s.ends[1] for s in sweeps) * _BEYOND)
    layout: dict[str, object] = {
        "xaxis": log_axis("FLOPs per element", ends, is_plain=True),
        "yaxis": log_axis("rate (FLOP/s)", (min(rates) / _BEYOND, max(rates) * _BEYOND)),
    }
    corners = [f"{s.key} at {s.level}: exponent {c.exponent:.1f}" for s in sweeps if (c := ceilings.corner(s.level, s.precision, s.path))]
    return Figure(traces, layout, f"Rate of the mixed kernel against FLOPs per element. Fitted corners: {'; '.join(corners) or 'none'}.")


def sweep_keys(ceilings: Ceilings) -> list[str]:
    """The precisions of the sweep, in the order of the file."""
    return list(dict.fromkeys(s.key for s in _sweeps(ceilings)))


def _sweeps(ceilings: Ceilings) -> list[_Sweep]:
    groups: dict[tuple[str, str, str], list[Point]] = {}
    for p in ceilings.points:
        if p.status == "ok" and p.measures == "mixed" and p.level and p.flops_per_element and p.rate_flop_per_s and p.bytes:
            groups.setdefault((p.level, p.precision, p.path), []).append(p)
    ordered = sorted(groups.items(), key=lambda item: level_rank(item[0][0]))
    return [_Sweep(*key, tuple(sorted(points, key=lambda p: p.flops_per_element or 0))) for key, points in ordered]


def _traces(ceilings: Ceilings, s: _Sweep) -> list[Trace]:
    tags = Tags(series_colours(level_rank(s.level)), level=s.level, key=s.key)
    xs = tuple(float(p.flops_per_element or 0) for p in s.points)
    ys = tuple(p.rate_flop_per_s or 0.0 for p in s.points)
    traces = [markers(xs, ys, [_text(p, s) for p in s.points], tags, symbol=level_symbol(s.level), size=8)]
    if s.level in ceilings.bandwidth_roofs and (s.precision, s.path) in ceilings.compute_roofs:
        traces.append(_ideal(ceilings, s, tags))
    corner = ceilings.corner(s.level, s.precision, s.path)
    if corner and corner.bandwidth_bytes_per_s and corner.rate_flop_per_s:
        traces.append(_rounded(s, corner, corner.bandwidth_bytes_per_s, corner.rate_flop_per_s, tags))
    return traces


def _text(p: Point, s: _Sweep) -> str:
    elements = p.flops / (p.flops_per_element or 1)
    return hover(
        f"{p.flops_per_element} FLOPs per element: {with_prefix(p.rate_flop_per_s or 0.0, 'FLOP/s')}",
        spread([p.flops * p.repeats / t for t in p.undisturbed_s], "FLOP/s"),
        f"{with_prefix((p.median_time_s or 0.0) / elements, 's')} per element, {with_prefix(p.bandwidth_bytes_per_s or 0.0, 'B/s')}",
        title=f"{s.key} at {s.level}",
    )


def _ideal(ceilings: Ceilings, s: _Sweep, tags: Tags) -> Trace:
    """The two roofs as they were measured on their own."""
    bandwidth, peak = ceilings.bandwidth_roofs[s.level], ceilings.compute_roofs[s.precision, s.path]
    low, high = s.ends
    corner = s.bytes_per_element * peak.value / bandwidth.value
    xs = tuple(sorted({*log_range(low, high), min(max(corner, low), high)}))
    ys = tuple(attainable(x / s.bytes_per_element, bandwidth.value, peak.value) for x in xs)
    text = hover(
        f"{with_prefix(bandwidth.value, 'B/s')} [{interval(bandwidth)}], {bandwidth.op}",
        f"{with_prefix(peak.value, unit_of(peak))} [{interval(peak)}]",
        title=f"ideal roof, {s.key} at {s.level}",
    )
    return line(xs, ys, text, tags, dash="dot", width=1.2)


def _rounded(s: _Sweep, corner: Corner, bandwidth: float, peak: float, tags: Tags) -> Trace:
    """The fit through these points."""
    xs = log_range(*s.ends)
    exponent = corner.exponent if math.isfinite(corner.exponent) else None
    ys = tuple(attainable(x / s.bytes_per_element, bandwidth, peak, exponent=exponent) for x in xs)
    ends = f" [{corner.ci95[0]:.2g} .. {corner.ci95[1]:.2g}]" if corner.ci95 else ""
    text = hover(
        f"corner exponent {corner.exponent:.2f}{ends}",
        f"fitted bandwidth {with_prefix(bandwidth, 'B/s')}, fitted peak {with_prefix(peak, 'FLOP/s')}",
        title=f"rounded roof, {s.key} at {s.level}",
    )
    return line(xs, ys, text, tags, width=1.8)
