"""Draw kernels on a roofline: one marker per level, joined, their area the share of time, the longest ones named."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ert.figure_labels import Canvas, text_size
from ert.figure_style import FAINT, INK, SMALL_SIZE, FillStyle, fill_styles, level_look, precision_colour
from ert.label_boxes import Array, Box, Boxes
from ert.label_layout import Obstacles
from ert.plot_points import PlotKernel, PlotKernels

Key = TypeVar("Key", bound=Hashable)

# Points across: the marker of a kernel that takes no time at all, and of one that takes all of it.
_SMALLEST, _LARGEST = 3.2, 13.0
# With more kernels than this, those without a label step back.
_MANY, _FAINT_ALPHA = 60, 0.35
_DIRECTIONS = np.array([(math.cos(2 * math.pi * i / 16), math.sin(2 * math.pi * i / 16)) for i in range(16)])
_DISTANCES = (14.0, 22.0, 34.0, 50.0, 70.0, 95.0, 125.0)
_PER_PIXEL = 1.0


def marker_size(time_share: float) -> float:
    """Diameter in half points; the area grows with the share of time."""
    return round(2 * math.sqrt(_SMALLEST**2 + time_share * (_LARGEST**2 - _SMALLEST**2))) / 2


def draw_kernels(axes: Axes, kernels: PlotKernels) -> None:
    """Markers, the lines that join the levels of a kernel, and arrows from version to version."""
    fills = fill_styles(list(dict.fromkeys(k.precision for k in kernels.kernels)))
    faint = _FAINT_ALPHA if len(kernels.kernels) > _MANY else 1.0
    for (precision, alpha), group in _grouped(kernels.kernels, lambda k: (k.precision, 1.0 if k.label else faint)).items():
        joins = [[(p.ai_flop_per_byte, p.rate_flop_per_s) for p in k.places] for k in group]
        axes.add_collection(
            LineCollection(joins, colors=precision_colour(precision), linewidths=0.7, alpha=0.6 * alpha, zorder=3), autolim=False
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


def label_kernels(figure: Figure, canvas: Canvas, kernels: PlotKernels) -> None:
    """Name the longest kernels where there is room, each joined to its marker on the slowest level."""
    named = sorted((k for k in kernels.kernels if k.label), key=lambda k: -k.time_share)
    anchors = canvas.pixels([(k.anchor.ai_flop_per_byte, k.anchor.rate_flop_per_s) for k in named])
    for kernel, anchor in zip(named, anchors, strict=True):
        assert kernel.label is not None
        width, height = text_size(figure, kernel.label, SMALL_SIZE)
        box = _best_place(canvas.obstacles, anchor, width + 4, height + 2)
        canvas.obstacles.boxes.append(box)
        _leader(figure, box, anchor)
        x, y = box.x / figure.bbox.width, box.y / figure.bbox.height
        figure.text(
            x,
            y,
            kernel.label,
            fontsize=SMALL_SIZE,
            color=precision_colour(kernel.precision),
            ha="center",
            va="center",
            parse_math=False,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
        )


def _best_place(obstacles: Obstacles, anchor: Array, width: float, height: float) -> Box:
    """The nearest free place around the marker, else the one that covers least."""
    best, lowest = Box(float(anchor[0]), float(anchor[1]), width, height), math.inf
    for distance in _DISTANCES:
        boxes = _around(anchor, distance, width, height)
        met = obstacles.costs(boxes)
        costs = met + _PER_PIXEL * np.hypot(*(boxes.centres - anchor).T)
        index = int(costs.argmin())
        if costs[index] < lowest:
            best, lowest = boxes[index], float(costs[index])
        if met[index] == 0:
            break
    return best


def _around(anchor: Array, distance: float, width: float, height: float) -> Boxes:
    """Boxes that begin at this distance from the marker, one in every direction."""
    # A box straight above or below is centred on its marker, one to the side is level with it.
    beside = np.sign(_DIRECTIONS) * (np.abs(_DIRECTIONS) > 0.2)
    return Boxes(anchor + distance * _DIRECTIONS + beside * (width / 2, height / 2), width, height)


def _leader(figure: Figure, box: Box, anchor: Array) -> None:
    x = min(max(float(anchor[0]), box.x - box.width / 2), box.x + box.width / 2)
    y = min(max(float(anchor[1]), box.y - box.height / 2), box.y + box.height / 2)
    width, height = figure.bbox.width, figure.bbox.height
    xs, ys = (x / width, float(anchor[0]) / width), (y / height, float(anchor[1]) / height)
    figure.add_artist(Line2D(xs, ys, color=FAINT, lw=0.5, transform=figure.transFigure))
