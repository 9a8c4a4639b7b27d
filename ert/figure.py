"""Draw a Chart with matplotlib, without a display and without touching the caller's settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ert.ceilings import Ceilings
from ert.chart import Chart, chart_of
from ert.figure_labels import LINE_GAP, Canvas, flat_text, text_size
from ert.figure_names import key_rows, label_kernels, named_kernels, number_kernels, write_key
from ert.figure_points import draw_kernels
from ert.figure_style import (
    FAINT,
    INK,
    LABEL_SIZE,
    MARKER_SIZE,
    MARKER_SIZES,
    OTHER_OP_DASHES,
    PATH_DASHES,
    TITLE_SIZE,
    FillStyle,
    fill_styles,
    level_look,
    precision_colour,
)
from ert.plot_points import PlotKernel, PlotKernels
from ert.provenance import provenance

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

# Layout is computed in pixels at this resolution and kept in fractions of the figure, so that it holds at any other.
LAYOUT_DPI = 100
_WIDTH, _HEIGHT = 840, 520
_LEFT, _BOTTOM, _TOP, _EDGE = 34, 50, 56, 10
# Between the frame and the labels beside it: room for their leader lines.
_LEADER = 22
_RIDGE_SIZE = 3.4
# Hinting makes texts up to this much wider at another resolution.
_OTHER_DPI = 0.97
# An axis shorter than this has ticks at 2 and 5, too.
_SHORT_AXIS = 200
_FONT_SIZE = 9.0
# What the markers of the legend are.
_MEASURED, _KERNELS = "measured, mixed kernel", "kernels by level,\narea: share of time"
_SETTINGS: dict[RcKeyType, object] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so it is everywhere
    "font.size": _FONT_SIZE,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.8,
    "svg.hashsalt": "ert",  # the same file in gives the same bytes out
    "pdf.fonttype": 42,  # journals refuse type 3
}


@contextmanager
def own_settings() -> Iterator[None]:
    """Matplotlib's defaults and ours, whatever the user's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def draw_roofline(ceilings: Ceilings, *, rounded: bool = False, kernels: PlotKernels | None = None) -> Figure:
    """The roofline of a ceilings file as a figure; ``rounded`` adds the measured corners, ``kernels`` replace the sweep's own points.

    Raises AnalysisError if there is nothing to draw, or no corner where one was asked for.
    """
    chart = chart_of(ceilings, rounded=rounded, series=kernels.series if kernels else None)
    named = named_kernels(kernels) if kernels else []
    with own_settings():
        figure, canvas = _drawn(ceilings, chart, kernels)
        if not label_kernels(figure, canvas, named):
            figure, canvas = _drawn(ceilings, chart, kernels, key=named)
            number_kernels(figure, canvas, named)
        canvas.label_ridges()
    return figure


def _drawn(ceilings: Ceilings, chart: Chart, kernels: PlotKernels | None, key: Sequence[PlotKernel] = ()) -> tuple[Figure, Canvas]:
    """Everything but the names of kernels and the numbers of ridges; ``key`` are the kernels that get a line below the axis."""
    figure = Figure(dpi=LAYOUT_DPI)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    scale_axes(axes, chart)
    legend = _legend(figure, chart, _MEASURED if kernels is None else _KERNELS)
    captions = kernels.captions if kernels else ()
    _arrange(figure, axes, chart, legend, len(captions) + key_rows(key))
    draw_lines(axes, chart)
    draw_points(axes, chart) if kernels is None else draw_kernels(axes, kernels)
    draw_ridges(axes, chart)
    _title(figure, axes, ceilings)
    _write_captions(figure, axes, captions)
    write_key(figure, axes, key, _EDGE + (len(captions) + key_rows(key) - 1) * LINE_GAP)
    canvas = Canvas(figure, axes, chart)
    canvas.label_flats(_LEADER, float(legend.get_window_extent().y1) if legend else None)
    canvas.label_slopes()
    return figure, canvas


def scale_axes(axes: Axes, chart: Chart) -> None:
    """Logarithmic axes in decimal units, a tick at least every decade."""
    axes.set(xscale="log", yscale="log", xlim=chart.x, ylim=chart.y)
    unit, factor = _rate_unit(chart.y[1])
    axes.set_xlabel("arithmetic intensity (FLOP/byte)")
    axes.set_ylabel(f"rate ({unit})")
    for axis, (low, high), scale in ((axes.xaxis, chart.x, 1.0), (axes.yaxis, chart.y, factor)):
        is_short = high / low < _SHORT_AXIS
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if is_short else (1,), numticks=14))
        axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=14))
        axis.set_major_formatter(FuncFormatter(lambda value, _, scale=scale: _plain(value / scale)))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(which="major", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)


def _legend(figure: Figure, chart: Chart, title: str) -> Legend | None:
    """What markers mean: shape the level, fill and colour the precision."""
    precisions = _names(chart, "precision")
    fills = fill_styles(precisions)
    entries = [_key(level, level_look(level).marker, INK, "full") for level in _names(chart, "level")]
    entries += [_key(p, "o", precision_colour(p), fills[p]) for p in precisions]
    if chart.ridges:
        entries.append(_key(f"ridge point, {chart.slopes[-1].level}'s\nin FLOP/byte", "o", INK, "none"))
        entries[-1].set(markersize=_RIDGE_SIZE)
    if chart.curves:
        entries.append(Line2D([], [], color=INK, lw=1.0, label="rounded corner"))
    if not entries:
        return None
    return figure.legend(
        handles=entries,
        title=title if chart.series else None,
        loc="lower left",
        alignment="left",
        frameon=False,
        fontsize=LABEL_SIZE,
        title_fontsize=LABEL_SIZE,
        borderaxespad=0,
        borderpad=0,
        labelspacing=0.35,
        handlelength=1.6,
        handletextpad=0.6,
    )


def _names(chart: Chart, kind: Literal["level", "precision"]) -> list[str]:
    """The levels or precisions that have measured points, each once, in the order of the chart."""
    return list(dict.fromkeys(s.level if kind == "level" else s.precision for s in chart.series))


def _key(label: str, marker: str, colour: str, fill: FillStyle) -> Line2D:
    size = MARKER_SIZES.get(fill, MARKER_SIZE)
    return Line2D([], [], ls="", marker=marker, color=colour, fillstyle=fill, markerfacecoloralt="white", ms=size, mew=0.9, label=label)


def _arrange(figure: Figure, axes: Axes, chart: Chart, legend: Legend | None, lines: int) -> None:
    """Leave the margins that tick labels, labels of flat lines, legend and the lines below need; the figure grows with them."""
    bottom = _BOTTOM + lines * LINE_GAP
    widths = [text_size(figure, flat_text(flat), LABEL_SIZE)[0] for flat in chart.flats]
    legend_height = 0.0
    if legend:
        extent = legend.get_window_extent()
        legend_height = float(extent.height) + LINE_GAP
        widths.append(float(extent.width))
    height = max(_HEIGHT, legend_height + len(chart.flats) * LINE_GAP + bottom + _TOP)
    figure.set_size_inches(_WIDTH / LAYOUT_DPI, height / LAYOUT_DPI)
    ticks = max(text_size(figure, label.get_text(), _FONT_SIZE)[0] for label in axes.get_yticklabels())
    left, right = _LEFT + ticks, _WIDTH - _EDGE - (max(widths) + _LEADER if widths else 0.0)
    axes.set_position((left / _WIDTH, bottom / height, (right - left) / _WIDTH, (height - bottom - _TOP) / height))
    if legend:
        legend.set_bbox_to_anchor(((right + _LEADER) / _WIDTH, bottom / height), transform=figure.transFigure)


def _rate_unit(highest: float) -> tuple[str, float]:
    """The unit that keeps the upper ticks short: ``10000`` at most."""
    for unit, factor in (("MFLOP/s", 1e6), ("GFLOP/s", 1e9)):
        if highest < 2e4 * factor:
            return unit, factor
    return "TFLOP/s", 1e12


def _plain(value: float) -> str:
    """``0.01``, ``1``, ``10000``; powers of ten only where zeros would have to be counted."""
    return f"{value:.6g}" if 1e-4 <= value < 1e6 else f"{value:.0e}"


def draw_lines(axes: Axes, chart: Chart) -> None:
    """Slopes, flat roofs and rounded corners."""
    (x_low, x_high), top = chart.x, 2.0
    for slope in chart.slopes:
        ends = (x_low, slope.x_end)
        heights = [x * slope.bandwidth_bytes_per_s for x in ends]
        axes.plot(ends, heights, color=INK, lw=1.3, ls=level_look(slope.level).dashes, zorder=top)
    for flat in chart.flats:
        dashes = PATH_DASHES.get(flat.path, "solid") if flat.is_roof else OTHER_OP_DASHES
        rates = (flat.rate_flop_per_s, flat.rate_flop_per_s)
        axes.plot(
            (flat.x_start, x_high), rates, color=precision_colour(flat.precision), lw=1.5 if flat.is_roof else 1.0, ls=dashes, zorder=top
        )
    for curve in chart.curves:
        axes.plot(curve.ai_flop_per_byte, curve.rate_flop_per_s, color=precision_colour(curve.precision), lw=1.0, zorder=top)


def draw_points(axes: Axes, chart: Chart) -> None:
    """The measured points: shape the level, fill and colour the precision."""
    fills = fill_styles(_names(chart, "precision"))
    for s in chart.series:
        key = _key(f"{s.level} {s.precision}", level_look(s.level).marker, precision_colour(s.precision), fills[s.precision])
        key.set(xdata=s.ai_flop_per_byte, ydata=s.rate_flop_per_s, zorder=3)
        axes.add_line(key)


def draw_ridges(axes: Axes, chart: Chart) -> None:
    """A ring at every ridge point."""
    xs, ys = [r.ai_flop_per_byte for r in chart.ridges], [r.rate_flop_per_s for r in chart.ridges]
    axes.plot(xs, ys, ls="", marker="o", ms=_RIDGE_SIZE, mew=0.8, color=INK, markerfacecolor="white", zorder=4)


def _write_captions(figure: Figure, axes: Axes, captions: tuple[str, ...]) -> None:
    """Below the axis, one line each."""
    extent, height = axes.get_window_extent(), figure.bbox.height
    for number, text in enumerate(reversed(captions)):
        shown = _shortened(figure, text, LABEL_SIZE, "normal", room=_WIDTH - _EDGE - extent.x0)
        figure.text(extent.x0 / _WIDTH, (_EDGE + number * LINE_GAP) / height, shown, fontsize=LABEL_SIZE, color=FAINT, parse_math=False)


def _title(figure: Figure, axes: Axes, ceilings: Ceilings) -> None:
    """Device, and below it clock, date and tool; too long a name ends in dots."""
    found = provenance(ceilings)
    left, top = axes.get_window_extent().x0, figure.bbox.height
    for text, size, colour, below_top, weight in (
        (found.device, TITLE_SIZE, INK, 22, "bold"),
        (found.state, LABEL_SIZE, FAINT, 41, "normal"),
    ):
        shown = _shortened(figure, text, size, weight, room=_WIDTH - _EDGE - left)
        figure.text(left / _WIDTH, 1 - below_top / top, shown, fontsize=size, color=colour, weight=weight, parse_math=False)


def _shortened(figure: Figure, text: str, size: float, weight: str, *, room: float) -> str:
    shown = text
    while len(text) > 1 and text_size(figure, shown, size, weight=weight)[0] > room * _OTHER_DPI:
        text = text[:-1]
        shown = text.rstrip() + "..."
    return shown
