"""Name the longest kernels of a picture: beside their markers, or where these crowd by numbers with a key below the axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ert.figure_labels import LINE_GAP, Canvas, text_size
from ert.figure_style import FAINT, INK, LABEL_SIZE, SMALL_SIZE, precision_colour
from ert.label_boxes import Array, Box, Boxes
from ert.label_layout import Obstacles
from ert.plot_points import PlotKernel, PlotKernels

_DIRECTIONS = np.array([(math.cos(2 * math.pi * i / 16), math.sin(2 * math.pi * i / 16)) for i in range(16)])
# Pixels from the marker. A name farther away than the second of a pair of lists would have to be searched for.
_NAME_DISTANCES = (14.0, 22.0, 34.0, 50.0)
_NUMBER_DISTANCES = (9.0, 14.0, 20.0, 28.0, 38.0, 50.0)
_PER_PIXEL = 1.0
# The ring around a number is this much larger than its digits.
_RING = 5.0
_KEY_COLUMNS = 3


def named_kernels(kernels: PlotKernels) -> list[PlotKernel]:
    """Those with a label, the longest first."""
    return sorted((k for k in kernels.kernels if k.label), key=lambda k: -k.time_share)


def label_kernels(figure: Figure, canvas: Canvas, named: Sequence[PlotKernel]) -> bool:
    """Write each name beside the marker on the slowest level; False, with nothing drawn, if one has no free place there."""
    anchors = _anchors(canvas, named)
    obstacles = replace(canvas.obstacles, boxes=[*canvas.obstacles.boxes])
    for kernel, anchor in zip(named, anchors, strict=True):
        width, height = text_size(figure, str(kernel.label), SMALL_SIZE)
        box, is_free = _best_place(obstacles, anchor, _NAME_DISTANCES, (width + 4, height + 2))
        if not is_free:
            return False
        obstacles.boxes.append(box)
    for kernel, anchor, box in zip(named, anchors, obstacles.boxes[len(canvas.obstacles.boxes) :], strict=True):
        _leader(figure, box, anchor)
        _write(figure, box, str(kernel.label), precision_colour(kernel.precision), {"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    canvas.obstacles.boxes[:] = obstacles.boxes
    return True


def number_kernels(figure: Figure, canvas: Canvas, named: Sequence[PlotKernel]) -> None:
    """A number beside each marker; it may cover the markers of kernels without one, which are too many to keep clear of."""
    anchors = _anchors(canvas, named)
    places = canvas.pixels([(p.ai_flop_per_byte, p.rate_flop_per_s) for k in named for p in k.places])
    obstacles = replace(canvas.obstacles, points=places, lines=np.empty((0, 4)))
    for number, anchor in enumerate(anchors, start=1):
        width, height = text_size(figure, str(number), SMALL_SIZE)
        box, _ = _best_place(obstacles, anchor, _NUMBER_DISTANCES, (width + _RING, height + _RING))
        obstacles.boxes.append(box)
        _leader(figure, box, anchor)
        ring = {"boxstyle": "round,pad=0.18", "facecolor": "white", "edgecolor": FAINT, "linewidth": 0.6}
        _write(figure, box, str(number), INK, ring)


def key_rows(named: Sequence[PlotKernel]) -> int:
    """How many lines the key takes."""
    return -(-len(named) // _KEY_COLUMNS)


def write_key(figure: Figure, axes: Axes, named: Sequence[PlotKernel], top: float) -> None:
    """The name of every number in columns, the first line at ``top`` pixels."""
    left, rows = axes.get_window_extent().x0, key_rows(named)
    column = (figure.bbox.width - left) / _KEY_COLUMNS
    for index, kernel in enumerate(named):
        x, y = left + index // rows * column, top - index % rows * LINE_GAP
        text = f"{index + 1}  {kernel.label}"
        place = (x / figure.bbox.width, y / figure.bbox.height)
        figure.text(*place, text, fontsize=LABEL_SIZE, color=precision_colour(kernel.precision), parse_math=False)


def _anchors(canvas: Canvas, named: Sequence[PlotKernel]) -> Array:
    return canvas.pixels([(k.anchor.ai_flop_per_byte, k.anchor.rate_flop_per_s) for k in named])


def _best_place(obstacles: Obstacles, anchor: Array, distances: Sequence[float], size: tuple[float, float]) -> tuple[Box, bool]:
    """The nearest free place around the marker and True, else the one that covers least and False."""
    best, lowest = Box(float(anchor[0]), float(anchor[1]), *size), math.inf
    for distance in distances:
        boxes = _around(anchor, distance, *size)
        met = obstacles.costs(boxes)
        costs = met + _PER_PIXEL * np.hypot(*(boxes.centres - anchor).T)
        index = int(costs.argmin())
        if costs[index] < lowest:
            best, lowest = boxes[index], float(costs[index])
        if met[index] == 0:
            return boxes[index], True
    return best, False


def _around(anchor: Array, distance: float, width: float, height: float) -> Boxes:
    """Boxes that begin at this distance from the marker, one in every direction."""
    # A box straight above or below is centred on its marker, one to the side is level with it.
    beside = np.sign(_DIRECTIONS) * (np.abs(_DIRECTIONS) > 0.2)
    return Boxes(anchor + distance * _DIRECTIONS + beside * (width / 2, height / 2), width, height)


def _leader(figure: Figure, box: Box, anchor: Array) -> None:
    """From the edge of the label to its marker."""
    x, y = box.edge_towards(float(anchor[0]), float(anchor[1]))
    width, height = figure.bbox.width, figure.bbox.height
    xs, ys = (x / width, float(anchor[0]) / width), (y / height, float(anchor[1]) / height)
    figure.add_artist(Line2D(xs, ys, color=FAINT, lw=0.5, transform=figure.transFigure))


def _write(figure: Figure, box: Box, text: str, colour: str, ground: dict[str, object]) -> None:
    x, y = box.x / figure.bbox.width, box.y / figure.bbox.height
    figure.text(x, y, text, fontsize=SMALL_SIZE, color=colour, ha="center", va="center", parse_math=False, bbox=ground)
