"""The roofline on axes of one's own: a subplot of a notebook or a paper, in the user's own matplotlib settings."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from ert.ceilings import Ceilings
from ert.chart import Chart, chart_of
from ert.columns import precision_name
from ert.figure import draw_lines, draw_points, draw_ridges, scale_axes
from ert.figure_labels import flat_text, slope_text
from ert.figure_style import INK, LABEL_SIZE, precision_colour

_SIZE_INCHES = (8.4, 5.2)
# Right of the frame, in points: the distance of the names, and of one name from the next.
_GAP, _LINE = 4.0, LABEL_SIZE * 1.25
# Names of slopes stand this far from the left edge, as a share of the width.
_LEFT, _STEP = 0.02, 0.2
# A name stands above or below its line by this factor.
_LIFT = 1.15
# Slopes closer than this ratio have no room for a name between them.
_CLOSE = 1.7


def draw_on(ceilings: Ceilings, axes: Axes | None, *, rounded: bool = False) -> Axes:
    """The roofline of ``ceilings`` on ``axes``, or on those of a new figure. Errors as in ``chart_of``."""
    chart = chart_of(ceilings, rounded=rounded)
    if axes is None:
        from matplotlib import pyplot as plt  # noqa: PLC0415  (a notebook shows what pyplot made)

        _, axes = plt.subplots(figsize=_SIZE_INCHES, layout="constrained")
    scale_axes(axes, chart)
    draw_lines(axes, chart)
    draw_points(axes, chart)
    draw_ridges(axes, chart)
    axes.set_title(str(ceilings.device.get("name", "")), parse_math=False)
    _name_flats(axes, chart)
    _name_slopes(axes, chart)
    return axes


def _name_flats(axes: Axes, chart: Chart) -> None:
    """Right of the frame, lowest first, pushed up where two would overlap."""
    per_point = axes.figure.dpi / 72
    least = float("-inf")
    for flat in sorted(chart.flats, key=lambda f: f.rate_flop_per_s):
        at = float(axes.transData.transform((chart.x[1], flat.rate_flop_per_s))[1]) / per_point
        place = max(at, least)
        least = place + _LINE
        axes.annotate(
            flat_text(flat),
            (1, flat.rate_flop_per_s),
            xycoords=("axes fraction", "data"),
            xytext=(_GAP, place - at),
            textcoords="offset points",
            va="center",
            fontsize=LABEL_SIZE,
            color=precision_colour(flat.precision),
            annotation_clip=False,
            gid=precision_name(flat.precision, flat.path),
        )


def _name_slopes(axes: Axes, chart: Chart) -> None:
    """Along each line near its left end: above it, below where the next line above is too close, further right where both are."""
    angle = _angle_deg(axes, chart)
    bandwidths = [math.inf, *(slope.bandwidth_bytes_per_s for slope in chart.slopes), 0.0]
    place = _LEFT
    for slope, faster, slower in zip(chart.slopes, bandwidths, bandwidths[2:], strict=False):
        own = slope.bandwidth_bytes_per_s
        has_room_above, has_room_below = faster >= _CLOSE * own, own >= _CLOSE * slower
        place = _LEFT if has_room_above or has_room_below else place + _STEP
        is_below = has_room_below and not has_room_above
        x = chart.x[0] * (chart.x[1] / chart.x[0]) ** place
        axes.text(
            x,
            x * own * (1 / _LIFT if is_below else _LIFT),
            slope_text(slope),
            rotation=angle,
            rotation_mode="anchor",
            va="top" if is_below else "bottom",
            fontsize=LABEL_SIZE,
            color=INK,
        )


def _angle_deg(axes: Axes, chart: Chart) -> float:
    """The angle of a slope on the screen: all have the same, a decade up for a decade to the right."""
    engine = axes.figure.get_figure(root=True).get_layout_engine()
    if engine is not None:
        # The final size of the axes, which decides the angle.
        engine.execute(axes.figure.get_figure(root=True))
    x, y = chart.x[0], chart.y[0]
    start, end = axes.transData.transform([(x, y), (10 * x, 10 * y)])
    return math.degrees(math.atan2(float(end[1] - start[1]), float(end[0] - start[0])))
