"""What every chart of the report has in common: a figure is plotly traces and axes, and the scripts add the theme."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ert.report.looks import Colour
from ert.units import with_prefix

Trace = dict[str, object]
# Along a line there is a point to hover over every few pixels.
_HOVER_POINTS = 60


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart: ``summary`` is what it shows, in words, for people who do not see it."""

    traces: list[Trace]
    layout: Mapping[str, object]
    summary: str

    def to_dict(self) -> dict[str, object]:
        return {"traces": self.traces, "layout": self.layout}

    def tagged(self, tag: str) -> list[str]:
        """What the traces carry in a field of their tags, each once, in the order drawn."""
        metas = [t["meta"] for t in self.traces if isinstance(t["meta"], dict)]
        return list(dict.fromkeys(meta[tag] for meta in metas if tag in meta))


@dataclass(frozen=True, slots=True)
class Tags:
    """What the scripts need to know of a trace.

    level, key, op, device  hidden as soon as one of these is switched off; ``key`` is ``fp16 tensor``
    layer       likewise: ``points``, ``corners``, ``kernels``, ``other``
    label       written beside the line;  place: where, ``end`` or ``slope``
    rows        per point, the row of the table of kernels it belongs to
    """

    colour: Colour
    level: str | None = None
    key: str | None = None
    op: str | None = None
    device: str | None = None
    layer: str | None = None
    label: str | None = None
    place: str | None = None
    rows: list[int] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        found = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in found.items() if value not in (None, [])}


def log_range(low: float, high: float) -> tuple[float, ...]:
    """Evenly spaced on a logarithmic axis, both ends exact."""
    inner = (low * (high / low) ** (i / (_HOVER_POINTS - 1)) for i in range(1, _HOVER_POINTS - 1))
    return (low, *inner, high)


def line(xs: tuple[float, ...], ys: tuple[float, ...], text: str, tags: Tags, *, dash: str = "solid", width: float = 2.0) -> Trace:
    """A line that says ``text`` wherever the pointer meets it."""
    return _trace("lines", xs, ys, text, tags) | {"line": {"dash": dash, "width": width}}


def markers(xs: tuple[float, ...], ys: tuple[float, ...], texts: list[str], tags: Tags, *, symbol: str, size: float | list[float]) -> Trace:
    """Points, each with its own hover label."""
    return _trace("markers", xs, ys, texts, tags) | {"marker": {"symbol": symbol, "size": size}}


def _trace(mode: str, xs: tuple[float, ...], ys: tuple[float, ...], text: str | list[str], tags: Tags) -> Trace:
    return {
        "type": "scatter",
        "mode": mode,
        "x": _rounded(xs),
        "y": _rounded(ys),
        "hovertext": text,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "meta": tags.to_dict(),
    }


def _rounded(values: tuple[float, ...]) -> list[float]:
    """Six digits: more cannot be seen, and the file is smaller."""
    return [float(f"{value:.6g}") for value in values]


def spread(rates: Sequence[float], unit: str) -> str:
    """``1.2 TB/s .. 1.3 TB/s over 9 samples``, of rates in an SI unit, for hover labels."""
    return f"{with_prefix(min(rates), unit)} .. {with_prefix(max(rates), unit)} over {len(rates)} samples"


def log_axis(title: str, ends: tuple[float, float] | None, *, is_plain: bool = False) -> dict[str, object]:
    """A logarithmic axis from end to end, or around what is shown; ticks read ``10G``, or with ``is_plain`` ``0.01``."""
    span: dict[str, object] = {"autorange": True} if ends is None else {"range": [math.log10(end) for end in ends]}
    # d3's formats: decimal prefixes, or digits written out; the tilde drops trailing zeros.
    return {"type": "log", "title": {"text": title}, "tickformat": "~r" if is_plain else "~s", **span}
