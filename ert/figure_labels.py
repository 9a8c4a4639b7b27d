"""Labels of a roofline picture: each beside what it names, none on top of anything else."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ert.chart import Chart, Flat, Slope
from ert.figure_style import FAINT, INK, LABEL_SIZE, SMALL_SIZE, precision_colour
from ert.label_boxes import Array, Box, Boxes
from ert.label_layout import Candidate, Obstacles, choose, spread
from ert.precisions import rate_unit
from ert.units import with_prefix

# Pixels at the layout resolution.
LINE_GAP = 14.0
_FROM_FRAME, _MARKER_RADIUS = 4.0, 4.2
# In the currency of Obstacles.cost, where a line crossed costs 200: what makes one free place better than another.
_LINE_BETWEEN, _FAR_ALONG, _NEEDS_LEADER, _PER_PIXEL = 200.0, 40.0, 60.0, 0.3
# Side of the line (1 above), pixels from it, and what that place costs. The far ones clear markers that lie beside the line.
_SIDES = ((1, 4.5, 0.0), (1, 8.0, 8.0), (-1, 4.5, 12.0), (-1, 8.0, 20.0))
# The next slope is farther from the label than its own by this factor.
_FARTHER = 1.5
# Where along a line, and on a grid of how many places each way, a label is tried.
_SHARES = np.linspace(0.03, 0.97, 48)
_PREFERRED_SHARE, _GRID = 0.35, 18


def flat_text(flat: Flat) -> str:
    """``fp16 tensor 804 TFLOP/s``: what stands beside a flat line."""
    words = [flat.precision, *([] if flat.path == "vector" else [flat.path]), *([] if flat.is_roof else [flat.op])]
    return f"{' '.join(words)}  {with_prefix(flat.rate_flop_per_s, rate_unit(flat.precision), 3)}"


def slope_text(slope: Slope) -> str:
    """``DRAM read 76.2 GB/s``: what stands along a slope."""
    return f"{slope.level} {slope.op}  {with_prefix(slope.bandwidth_bytes_per_s, 'B/s', 3)}"


def text_size(figure: Figure, text: str, size: float, *, weight: str = "normal") -> tuple[float, float]:
    """Width and height of an unturned text, pixels at the layout resolution."""
    artist = figure.text(0, 0, text, fontsize=size, weight=weight, parse_math=False)
    extent = artist.get_window_extent()
    artist.remove()
    return float(extent.width), float(extent.height)


class Canvas:
    """The picture in pixels, with everything labels must keep clear of."""

    def __init__(self, figure: Figure, axes: Axes, chart: Chart) -> None:
        self._figure, self._axes, self._chart = figure, axes, chart
        extent = axes.get_window_extent()
        inner = 2 * _FROM_FRAME
        center_x, center_y = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        points = [(x, y) for s in chart.series for x, y in zip(s.ai_flop_per_byte, s.rate_flop_per_s, strict=True)]
        points += [(r.ai_flop_per_byte, r.rate_flop_per_s) for r in chart.ridges]
        self._extent = extent
        self.obstacles = Obstacles(
            frame=Box(center_x, center_y, extent.width - inner, extent.height - inner),
            points=self.pixels(points),
            point_radius=_MARKER_RADIUS,
            lines=np.array(list(self._lines())).reshape(-1, 4),
        )

    def pixels(self, points: list[tuple[float, float]]) -> Array:
        """(n, 2) places of the chart in pixels."""
        transformed: Array = self._axes.transData.transform(np.array(points, dtype=float).reshape(-1, 2))
        return transformed

    def _lines(self) -> Iterator[Array]:
        (x_low, x_high), chart = self._chart.x, self._chart
        for s in chart.slopes:
            yield self.pixels([(x, x * s.bandwidth_bytes_per_s) for x in (x_low, s.x_end)]).ravel()
        for f in chart.flats:
            yield self.pixels([(f.x_start, f.rate_flop_per_s), (x_high, f.rate_flop_per_s)]).ravel()
        for c in chart.curves:
            path = self.pixels(list(zip(c.ai_flop_per_byte, c.rate_flop_per_s, strict=True)))
            yield from np.hstack([path[:-1], path[1:]])

    def label_flats(self, leader: float, legend_top: float | None) -> None:
        """One label beside the right end of each flat line, joined to it, stacked where lines are close."""
        if not self._chart.flats:
            return
        right, ends = self._extent.x1, self.pixels([(self._chart.x[1], f.rate_flop_per_s) for f in self._chart.flats])[:, 1]
        low = (legend_top + LINE_GAP if legend_top is not None else self._extent.y0) + LINE_GAP / 2
        heights = spread(list(ends), LINE_GAP, low, self._extent.y1 - LINE_GAP / 2)
        for flat, end, height in zip(self._chart.flats, ends, heights, strict=True):
            colour = precision_colour(flat.precision)
            self._text(right + leader, height, flat_text(flat), LABEL_SIZE, ha="left", colour=colour)
            xs = (right, right + 0.2 * leader, right + 0.7 * leader, right + 0.85 * leader)
            self._thin_line(xs, (end, end, height, height), colour)

    def label_slopes(self) -> None:
        """One label along each slope, or with a leader line where slopes are too close for that."""
        texts = [slope_text(slope) for slope in self._chart.slopes]
        sizes = [text_size(self._figure, text, LABEL_SIZE) for text in texts]
        places = [
            [*self._along(slope, size), *self._with_leader(slope, size)] for slope, size in zip(self._chart.slopes, sizes, strict=True)
        ]
        for text, place in zip(texts, choose(places), strict=True):
            self.obstacles.boxes.append(place.box)
            self._text(place.box.x, place.box.y, text, LABEL_SIZE, angle_rad=place.box.angle_rad)
            if place.anchor:
                self._leader(place.box, place.anchor)

    def _ends(self, slope: Slope) -> tuple[Array, Array]:
        start, end = self.pixels([(x, x * slope.bandwidth_bytes_per_s) for x in (self._chart.x[0], slope.x_end)])
        return start, end

    def _along(self, slope: Slope, size: tuple[float, float]) -> Iterator[Candidate]:
        """Places beside the line, turned with it; just above it and a third of the way up by preference."""
        start, end = self._ends(slope)
        angle = math.atan2(*(end - start)[::-1])
        normal = np.array([-math.sin(angle), math.cos(angle)])
        on_line = start + _SHARES[:, None] * (end - start)
        width, height = size
        for side, from_line, penalty in _SIDES:
            if self._is_anothers(start, side * normal, height + from_line * (1 + _FARTHER)):
                continue
            boxes = Boxes(on_line + side * (height / 2 + from_line) * normal, width + 2, height, angle)
            # A line between the label and its own would make the label that line's.
            between = Boxes(on_line + side * (from_line + 1) / 2 * normal, width, from_line - 1, angle)
            costs = self.obstacles.costs(boxes) + _LINE_BETWEEN * between.count_lines(self.obstacles.lines)
            costs += penalty + _FAR_ALONG * np.abs(_SHARES - _PREFERRED_SHARE)
            yield from (Candidate(boxes[index], float(cost)) for index, cost in enumerate(costs))

    def _is_anothers(self, start: Array, across: Array, width: float) -> bool:
        """Whether another slope lies in the strip of this width beside the line from ``start``: a label there would seem to be its."""
        lefts = np.array([self._ends(slope)[0] for slope in self._chart.slopes])
        away = (lefts - start) @ across
        return bool(((away > 0) & (away < width)).any())

    def _with_leader(self, slope: Slope, size: tuple[float, float]) -> Iterator[Candidate]:
        """Places anywhere in the frame, level, joined to the nearest part of the line that no marker covers."""
        anchors = self._anchors(slope)
        left, bottom, right, top = self.obstacles.frame.bounds()
        grid = np.stack(np.meshgrid(np.linspace(left, right, _GRID), np.linspace(bottom, top, _GRID)), axis=-1).reshape(-1, 2)
        boxes = Boxes(grid, size[0] + 4, size[1] + 2)
        distances = np.hypot(*(anchors[None] - grid[:, None]).transpose(2, 0, 1))
        nearest = anchors[distances.argmin(axis=1)]
        costs = self.obstacles.costs(boxes) + _NEEDS_LEADER + _PER_PIXEL * distances.min(axis=1)
        for index, cost in enumerate(costs):
            yield Candidate(boxes[index], float(cost), (float(nearest[index, 0]), float(nearest[index, 1])))

    def _anchors(self, slope: Slope) -> Array:
        """(n, 2) places on the line where a leader may end."""
        start, end = self._ends(slope)
        every: Array = start + np.linspace(0.05, 0.95, 61)[:, None] * (end - start)
        apart = np.hypot(*(every[:, None] - self.obstacles.points).transpose(2, 0, 1))
        free = every[(apart > 2 * _MARKER_RADIUS).all(axis=1)]
        return free if len(free) else every

    def label_ridges(self) -> None:
        """The intensity of each ridge of the slowest level, where there is room for it; the table has them all."""
        slowest = self._chart.slopes[-1].level if self._chart.slopes else None
        labelled: list[tuple[float, float]] = []
        for ridge in (r for r in self._chart.ridges if r.level == slowest):
            ((x, y),) = self.pixels([(ridge.ai_flop_per_byte, ridge.rate_flop_per_s)])
            # Two numbers beside what looks like one ring would only ask which is which.
            is_new = all(math.hypot(x - other_x, y - other_y) > 2 * _MARKER_RADIUS for other_x, other_y in labelled)
            if is_new and self._label_ridge(float(x), float(y), ridge.label):
                labelled.append((float(x), float(y)))

    def _label_ridge(self, x: float, y: float, text: str) -> bool:
        """Put the text at the first free place around (x, y); False if there is none."""
        width, height = text_size(self._figure, text, SMALL_SIZE)
        across, up = width / 2 + 5, height / 2 + 5
        shifts = np.array([(across, -up), (0, -up - 2), (across, up), (-across, up), (0, up + 2)])
        boxes = Boxes(np.array([x, y]) + shifts, width, height)
        free = np.flatnonzero(self.obstacles.costs(boxes) == 0)
        if not len(free):
            return False
        box = boxes[int(free[0])]
        self.obstacles.boxes.append(box)
        self._text(box.x, box.y, text, SMALL_SIZE)
        return True

    def _fraction(self, x: float, y: float) -> tuple[float, float]:
        width, height = self._figure.bbox.width, self._figure.bbox.height
        return x / width, y / height

    def _text(self, x: float, y: float, text: str, size: float, *, ha: str = "center", colour: str = INK, angle_rad: float = 0.0) -> None:
        self._figure.text(
            *self._fraction(x, y),
            text,
            fontsize=size,
            color=colour,
            ha=ha,
            va="center",
            rotation=math.degrees(angle_rad),
            rotation_mode="anchor",
            parse_math=False,
        )

    def _thin_line(self, xs: tuple[float, ...], ys: tuple[float, ...], colour: str) -> None:
        places = [self._fraction(x, y) for x, y in zip(xs, ys, strict=True)]
        self._figure.add_artist(Line2D(*zip(*places, strict=True), color=colour, lw=0.6, transform=self._figure.transFigure))

    def _leader(self, box: Box, anchor: tuple[float, float]) -> None:
        """From the edge of the label to a dot on the line."""
        x, y = box.edge_towards(*anchor)
        self._thin_line((x, anchor[0]), (y, anchor[1]), FAINT)
        dot = self._fraction(*anchor)
        self._figure.add_artist(Line2D([dot[0]], [dot[1]], marker="o", ms=2.2, color=INK, transform=self._figure.transFigure))
