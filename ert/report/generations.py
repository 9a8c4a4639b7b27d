"""Several devices, or one at several dates, under one pair of axes: how the roofs grow and where the ridge goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ert.ceilings import Ceilings
from ert.columns import intensity, interval, precision_name, roof_keys, roof_levels, unit_of
from ert.report.figures import Figure, Tags, Trace, line, log_axis, markers
from ert.report.looks import INK, series_colours
from ert.report.markup import hover
from ert.units import with_prefix

# The roofs are drawn from this far left of the first ridge to this far right of the last, as a factor.
_BEYOND_RIDGE = 20.0


@dataclass(frozen=True, slots=True)
class Generation:
    """One of the compared files. ``name`` is the device's, with the date where two have one name."""

    name: str
    ceilings: Ceilings


def generations(all_ceilings: Sequence[Ceilings]) -> list[Generation]:
    """In the order given."""
    names = [str(c.device.get("name", "unnamed device")) for c in all_ceilings]
    dated = [f"{name}, {c.created[:10]}" if names.count(name) > 1 else name for name, c in zip(names, all_ceilings, strict=True)]
    # Two sweeps of one day differ by the time.
    unique = [f"{name} {c.created[11:16]}" if dated.count(name) > 1 else name for name, c in zip(dated, all_ceilings, strict=True)]
    return [Generation(name, c) for name, c in zip(unique, all_ceilings, strict=True)]


def common_levels(found: Sequence[Generation]) -> list[str]:
    """Levels that at least one of them has a roof for, fast to slow."""
    return list(dict.fromkeys(level for g in found for level in roof_levels(g.ceilings)))


def common_keys(found: Sequence[Generation]) -> list[tuple[str, str]]:
    """(precision, path) of the flat roofs, those that more devices have first."""
    keys = list(dict.fromkeys(key for g in found for key in roof_keys(g.ceilings)))
    return sorted(keys, key=lambda key: -sum(key in g.ceilings.compute_roofs for g in found))


def generations_figure(found: Sequence[Generation]) -> Figure:
    """A roof per device, level and precision, of which the scripts show one level and precision at a time."""
    traces: list[Trace] = []
    for level, key in [(level, key) for level in common_levels(found) for key in common_keys(found)]:
        having = [i for i, g in enumerate(found) if level in g.ceilings.bandwidth_roofs and key in g.ceilings.compute_roofs]
        ridges = [(found[i].ceilings.ridge(level, *key), found[i].ceilings.compute_peak(*key)) for i in having]
        if not ridges:
            continue
        ends = min(ai for ai, _ in ridges) / _BEYOND_RIDGE, max(ai for ai, _ in ridges) * _BEYOND_RIDGE
        traces += [_roof(found[i], i, level, key, ends) for i in having]
        if len(ridges) > 1:
            traces.append(_path(ridges, level, key))
    # The scripts fit the axes to the level and precision that are shown.
    axes = {"xaxis": log_axis("arithmetic intensity (FLOP/byte)", None, is_plain=True), "yaxis": log_axis("rate (FLOP/s)", None)}
    names = ", ".join(g.name for g in found)
    return Figure(traces, axes, f"Rooflines of {names} under one pair of axes; the table below has the ridge points.")


def _roof(g: Generation, index: int, level: str, key: tuple[str, str], x: tuple[float, float]) -> Trace:
    """Slope, ridge (the only marker) and flat roof in one line."""
    bandwidth, peak = g.ceilings.bandwidth_roofs[level], g.ceilings.compute_roofs[key]
    ridge, name = g.ceilings.ridge(level, *key), precision_name(*key)
    text = hover(
        f"{level} {with_prefix(bandwidth.value, 'B/s')} [{interval(bandwidth)}]",
        f"{name} {with_prefix(peak.value, unit_of(peak))} [{interval(peak)}]",
        f"ridge at {intensity(ridge)} FLOP/byte",
        g.ceilings.created[:10],
        title=g.name,
    )
    tags = Tags(series_colours(index), level=level, key=name, device=g.name, label=g.name, place="end")
    drawn = markers(
        (x[0], ridge, x[1]), (x[0] * bandwidth.value, peak.value, peak.value), [text] * 3, tags, symbol="circle", size=[0, 10, 0]
    )
    return drawn | {"mode": "lines+markers", "line": {"width": 2.2}}


def _path(ridges: Sequence[tuple[float, float]], level: str, key: tuple[str, str]) -> Trace:
    """From ridge to ridge, in the order of the files."""
    xs, ys = zip(*ridges, strict=True)
    text = hover(" to ".join(intensity(x) for x in xs) + " FLOP/byte", title="the way of the ridge")
    return line(xs, ys, text, Tags(INK, level=level, key=precision_name(*key)), dash="dot", width=1.4)
