"""The chart of the report that everything else explains: slopes, flat roofs, ridges, measured points, kernels."""

from __future__ import annotations

from ert.ceilings import Ceilings
from ert.ceilings.kinds import Ceiling
from ert.chart import Chart, Curve, Flat, Ridge, Slope, chart_of
from ert.columns import intensity, interval, precision_name, share_of_limit, unit_of
from ert.compare import Comparison
from ert.errors import AnalysisError
from ert.precisions import rate_unit
from ert.report.figures import Figure, Tags, Trace, line, log_axis, log_range, markers, spread
from ert.report.kernels import kernel_series, kernel_traces
from ert.report.looks import INK, level_dash, level_symbol, precision_colours, rate_dash
from ert.report.markup import hover
from ert.units import with_prefix

# Beside every number of a line stands where on it the pointer is.
_ON_SLOPE = "%{hovertext}<br>at %{x:.3~g} FLOP/byte: %{y:.4~s}FLOP/s<extra></extra>"


def roofline_figure(ceilings: Ceilings, comparison: Comparison | None = None) -> Figure:
    """Raises AnalysisError if the file has no ceilings to draw."""
    chart = _chart(ceilings, comparison)
    traces = [_slope(ceilings, s, chart) for s in chart.slopes]
    traces += [_flat(ceilings, f, chart) for f in chart.flats]
    traces += [_corner(curve) for curve in chart.curves]
    traces += _measured(ceilings)
    slowest = chart.slopes[-1].level if chart.slopes else None
    traces += [_ridges(level, chart, is_labelled=level == slowest) for level in (s.level for s in chart.slopes)]
    traces += kernel_traces(comparison) if comparison else []
    layout: dict[str, object] = {
        "xaxis": log_axis("arithmetic intensity (FLOP/byte)", chart.x, is_plain=True),
        "yaxis": log_axis("rate (FLOP/s)", chart.y),
    }
    return Figure([t for t in traces if t["x"]], layout, _summary(ceilings, chart))


def _chart(ceilings: Ceilings, comparison: Comparison | None) -> Chart:
    """With rounded corners where there are any, and axes that hold both measured points and kernels."""
    own = chart_of(ceilings)
    series = own.series + (kernel_series(comparison) if comparison else ())
    try:
        return chart_of(ceilings, rounded=True, series=series)
    except AnalysisError:  # no corner was fitted
        return chart_of(ceilings, series=series)


def ceiling_text(c: Ceiling, title: str) -> str:
    """The hover label of a ceiling: every number the file has of it."""
    unit = unit_of(c)
    limit = f"{share_of_limit(c)} of the limit, {with_prefix(c.limit, unit)}" if c.limit else f"limit: {c.limit_source or 'not known'}"
    clock, threads = with_prefix(c.clock_hz, "Hz") if c.clock_hz else "", f"{c.threads} threads" if c.threads else ""
    state = ", ".join(filter(None, (clock, threads, f"kernel {c.kernel}", *c.flags)))
    return hover(f"{with_prefix(c.value, unit)}  [95 %: {interval(c)}]", limit, state, title=title)


def _slope(ceilings: Ceilings, slope: Slope, chart: Chart) -> Trace:
    roof = ceilings.bandwidth_roofs[slope.level]
    xs = log_range(chart.x[0], slope.x_end)
    tags = Tags(INK, level=slope.level, label=f"{slope.level} {with_prefix(roof.value, 'B/s')}", place="slope")
    text = ceiling_text(roof, f"{slope.level} roof, {slope.op}")
    drawn = line(xs, tuple(x * slope.bandwidth_bytes_per_s for x in xs), text, tags, dash=level_dash(slope.level))
    return drawn | {"hovertemplate": _ON_SLOPE}


def _flat(ceilings: Ceilings, flat: Flat, chart: Chart) -> Trace:
    key = precision_name(flat.precision, flat.path)
    found = next(c for c in ceilings.compute_ceilings if (c.precision, c.path, c.op) == (flat.precision, flat.path, flat.op))
    name = key if flat.is_roof else f"{key} {flat.op}"
    tags = Tags(
        precision_colours(flat.precision),
        key=key,
        layer=None if flat.is_roof else "other",
        label=f"{name} {with_prefix(found.value, unit_of(found))}",
        place="end",
    )
    xs = log_range(flat.x_start, chart.x[1])
    text = ceiling_text(found, f"{name} roof, {flat.op}" if flat.is_roof else name)
    dash, width = rate_dash(flat.path, is_roof=flat.is_roof), 2.2 if flat.is_roof else 1.4
    return line(xs, (flat.rate_flop_per_s,) * len(xs), text, tags, dash=dash, width=width)


def _corner(curve: Curve) -> Trace:
    key = precision_name(curve.precision, curve.path)
    xs, ys = tuple(map(float, curve.ai_flop_per_byte)), tuple(map(float, curve.rate_flop_per_s))
    tags = Tags(precision_colours(curve.precision), level=curve.level, key=key, layer="corners")
    return line(xs, ys, hover(title=f"measured corner, {key} at {curve.level}"), tags, width=1.2) | {"hovertemplate": _ON_SLOPE}


def _measured(ceilings: Ceilings) -> list[Trace]:
    """The points of the mixed kernel, a trace per level and precision."""
    groups: dict[tuple[str, str, str], list[tuple[float, float, str]]] = {}
    for p in ceilings.points:
        ai, rate, time_s = p.ai_flop_per_byte, p.rate_flop_per_s, p.median_time_s
        if p.status == "ok" and p.measures == "mixed" and p.level and ai and rate and time_s:
            key = precision_name(p.precision, p.path)
            text = hover(
                f"{with_prefix(rate, 'FLOP/s')} at {intensity(ai)} FLOP/byte",
                spread([p.flops * p.repeats / t for t in p.undisturbed_s], "FLOP/s"),
                f"{p.flops_per_element} FLOPs per element, {with_prefix(time_s, 's')} a pass",
                title=f"measured: {key} at {p.level}",
            )
            groups.setdefault((p.level, p.precision, key), []).append((ai, rate, text))
    traces = []
    for (level, precision, key), points in groups.items():
        xs, ys, texts = zip(*sorted(points), strict=True)
        tags = Tags(precision_colours(precision), level=level, key=key, layer="points")
        traces.append(markers(xs, ys, list(texts), tags, symbol=f"{level_symbol(level)}-open", size=7))
    return traces


def _ridges(level: str, chart: Chart, *, is_labelled: bool) -> Trace:
    """The ridge points of one level; each vanishes with its precision, so the scripts hide them point by point."""
    ridges = [r for r in chart.ridges if r.level == level]
    keys = [precision_name(r.precision, r.path) for r in ridges]
    texts = [_ridge_text(r, key) for r, key in zip(ridges, keys, strict=True)]
    xs, ys = tuple(r.ai_flop_per_byte for r in ridges), tuple(r.rate_flop_per_s for r in ridges)
    tags = Tags(INK, level=level)
    drawn = markers(xs, ys, texts, tags, symbol="circle", size=6) | {"meta": {**tags.to_dict(), "ridge": True, "keys": keys}}
    # Above the flat roof and left of the slope: measured points are never there.
    label = {"mode": "markers+text", "text": [r.label for r in ridges], "textposition": "top left"}
    return drawn | label if is_labelled else drawn


def _ridge_text(r: Ridge, key: str) -> str:
    place = f"{r.label} FLOP/byte, {with_prefix(r.rate_flop_per_s, 'FLOP/s')}"
    return hover(place, "left of it bandwidth binds, right of it compute", title=f"ridge: {key} at {r.level}")


def _summary(ceilings: Ceilings, chart: Chart) -> str:
    """The picture in words."""
    levels = ", ".join(f"{s.level} {with_prefix(s.bandwidth_bytes_per_s, 'B/s')}" for s in chart.slopes)
    roofs = ", ".join(
        f"{precision_name(f.precision, f.path)} {with_prefix(f.rate_flop_per_s, rate_unit(f.precision))}" for f in chart.flats if f.is_roof
    )
    name = ceilings.device.get("name", "the device")
    return f"Roofline of {name} on logarithmic axes. Slopes: {levels or 'none'}. Flat roofs: {roofs or 'none'}."
