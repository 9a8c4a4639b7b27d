"""Draw kernels on a roofline: one marker per level, joined, their area the share of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from ert.figure_style import INK, FillStyle, fill_styles, level_look, precision_colour
from ert.plot_points import PlotKernel, PlotKernels

Key = TypeVar("Key", bound=Hashable)

# Points across: the marker of a kernel that takes no time at all, and of one that takes all of it.
_SMALLEST, _LARGEST = 3.2, 13.0
# With more kernels than this, those without a label step back, and their levels are not joined.
_MANY, _FAINT_ALPHA = 60, 0.35


def marker_size(time_share: float) -> float:
    """Diameter in half points; the area grows with the share of time."""
    return round(2 * math.sqrt(_SMALLEST**2 + time_share * (_LARGEST**2 - _SMALLEST**2))) / 2


def draw_kernels(axes: Axes, kernels: PlotKernels) -> None:
    """Markers, the lines that join the levels of a kernel, and arrows from version to version."""
    fills = fill_styles(list(dict.fromkeys(k.precision for k in kernels.kernels)))
    faint = _FAINT_ALPHA if len(kernels.kernels) > _MANY else 1.0
    for (precision, alpha), group in _grouped(kernels.kernels, lambda k: (k.precision, 1.0 if k.label else faint)).items():
        if alpha == 1.0:
            joins = [[(p.ai_flop_per_byte, p.rate_flop_per_s) for p in k.places] for k in group]
            axes.add_collection(
                LineCollection(joins, colors=precision_colour(precision), linewidths=0.7, alpha=0.6, zorder=3), autolim=False
            )
        for size, same in sorted(_grouped(group, lambda k: marker_size(k.time_share)).items()):
            # The longest on top, so that no small one hides them.
            _draw_markers(axes, same, size, precision, fills[precision], alpha)
    for start, end in kernels.arrows:
        _arrow(axes, kernels.kernels[start], kernels.kernels[end])


def _grouped(kernels: Sequence[PlotKernel], key: Callable[[PlotKernel], Key]) -> dict[Key, list[PlotKernel]]:
    groups: dict[Key, list[PlotKernel]] = {}
    for kernel in kernels:
        groups.setdefault(key(kernel), []).append(kernel)
    return groups


def _draw_markers(axes: Axes, kernels: Sequence[PlotKernel], size: float, precision: str, fill: FillStyle, alpha: float) -> None:  # noqa: PLR0917
    """One artist per level for kernels that look the same."""
    places = [place for kernel in kernels for place in kernel.places]
    for level in dict.fromkeys(place.level for place in places):
        here = [place for place in places if place.level == level]
        markers = Line2D(
            [place.ai_flop_per_byte for place in here],
            [place.rate_flop_per_s for place in here],
            ls="",
            marker=level_look(level).marker,
            ms=size,
            mew=0.8,
            color=precision_colour(precision),
            alpha=alpha,
            fillstyle=fill,
            markerfacecoloralt="white",
            zorder=3.5 + size / 100,
        )
        axes.add_line(markers)


def _arrow(axes: Axes, earlier: PlotKernel, later: PlotKernel) -> None:
    """On the slowest level that both versions have."""
    before, after = ({p.level: p for p in k.places} for k in (earlier, later))
    level = next((p.level for p in reversed(later.places) if p.level in before), None)
    if level is not None:
        ends = [(p.ai_flop_per_byte, p.rate_flop_per_s) for p in (before[level], after[level])]
        style = {"arrowstyle": "-|>", "color": INK, "lw": 0.9, "shrinkA": 4, "shrinkB": 5, "mutation_scale": 9}
        axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops=style, zorder=4)
