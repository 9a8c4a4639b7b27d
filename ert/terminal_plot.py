"""The roof drawn with characters, for a cluster's login node: braille dots where the terminal has them, else ASCII.

Nothing here prints; ``ert show --plot`` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rich.text import Text

from ert.ceilings import Ceilings
from ert.chart import Chart, Flat, Slope, chart_of
from ert.columns import precision_name
from ert.precisions import rate_unit
from ert.units import with_prefix

# Narrower or lower than this a roof cannot be told from its ridge.
LEAST_WIDTH, LEAST_HEIGHT = 40, 12
_AXIS = 6
# Rich's names; the order is that of the flat roofs, the slopes are in the terminal's own colour.
_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta", "bright_yellow", "bright_green")
# Bits of the dots of a braille cell, by column and row from the top (Unicode 16.0, chapter 21, Braille Patterns).
_BRAILLE = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BRAILLE_BLANK = 0x2800


@dataclass(slots=True)
class _Canvas:
    """Cells of 2 x 4 dots with braille, of one dot without; a character written by hand stands above the dots."""

    width: int
    height: int
    is_braille: bool
    dots: dict[tuple[int, int], int] = field(default_factory=dict)
    letters: dict[tuple[int, int], str] = field(default_factory=dict)
    styles: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def scale(self) -> tuple[int, int]:
        """Dots per cell."""
        return (2, 4) if self.is_braille else (1, 1)

    def dot(self, x: float, y: float, character: str, style: str) -> None:
        """``x``, ``y`` from 0 to 1, left to right and bottom to top; outside nothing is drawn."""
        across, down = self.scale
        column, row = round(x * (self.width * across - 1)), round((1 - y) * (self.height * down - 1))
        cell = column // across, row // down
        if not (0 <= x <= 1 and 0 <= y <= 1):
            return
        if self.is_braille:
            self.dots[cell] = self.dots.get(cell, 0) | _BRAILLE[column % 2][row % 4]
        else:
            self.letters.setdefault(cell, character)
        self.styles.setdefault(cell, style)

    def write(self, column: int, row: int, text: str, style: str) -> bool:
        """Write a word if it fits and hides no other; says whether it did."""
        cells = [(column + i, row) for i in range(len(text))]
        if (
            not 0 <= row < self.height
            or column < 0
            or column + len(text) > self.width
            or any(c in self.letters for c in cells if self.is_braille)
        ):
            return False
        for cell, letter in zip(cells, text, strict=True):
            self.letters[cell], self.styles[cell] = letter, style
        return True

    def line(self, row: int) -> Text:
        text = Text()
        for column in range(self.width):
            cell = column, row
            dots = chr(_BRAILLE_BLANK + self.dots[cell]) if cell in self.dots else " "
            text.append(self.letters.get(cell, dots), self.styles.get(cell, ""))
        return text


def terminal_roofline(ceilings: Ceilings, width: int, height: int = 24, *, is_unicode: bool = True) -> Text:
    """The roofline in ``width`` columns and ``height`` lines, with axes and names.

    Too small a terminal gets the least size that can be read. Raises AnalysisError if there are no ceilings to draw.
    """
    chart = chart_of(ceilings)
    names = _names(chart, width)
    canvas = _Canvas(_room(names, width), max(LEAST_HEIGHT, height - 4), is_unicode)
    styles = {f.precision: _COLOURS[i % len(_COLOURS)] for i, f in enumerate(_first_of_each(chart.flats))}
    _draw(canvas, chart, styles)
    _name_slopes(canvas, chart)
    right = _beside(canvas, chart, names, styles)
    return _framed(canvas, chart, right)


def _first_of_each(flats: tuple[Flat, ...]) -> list[Flat]:
    return list({f.precision: f for f in flats}.values())


def _names(chart: Chart, width: int) -> list[str]:
    """With their rates where there is room for them; the table has them anyway."""
    short = [precision_name(f.precision, f.path) + ("" if f.is_roof else f" {f.op}") for f in chart.flats]
    rates = [with_prefix(f.rate_flop_per_s, rate_unit(f.precision)) for f in chart.flats]
    long = [f"{name} {rate}" for name, rate in zip(short, rates, strict=True)]
    return long if _room(long, width) > LEAST_WIDTH else short


def _room(names: list[str], width: int) -> int:
    """Columns between the axis and the names."""
    return max(LEAST_WIDTH, width - _AXIS - 2 - max((len(name) for name in names), default=0))


def _place(value: float, ends: tuple[float, float]) -> float:
    """0 to 1 on a logarithmic axis."""
    return math.log(value / ends[0]) / math.log(ends[1] / ends[0])


def _draw(canvas: _Canvas, chart: Chart, styles: dict[str, str]) -> None:
    """Measured points first, so that they keep their colour where a line meets them."""
    for series in chart.series:
        for ai, rate in zip(series.ai_flop_per_byte, series.rate_flop_per_s, strict=True):
            canvas.dot(_place(ai, chart.x), _place(rate, chart.y), "o", styles.get(series.precision, ""))
    for flat in chart.flats:
        y = _place(flat.rate_flop_per_s, chart.y)
        for x in _samples(canvas, _place(flat.x_start, chart.x), 1.0):
            canvas.dot(x, y, "-", styles[flat.precision])
    for slope in chart.slopes:
        for x in _samples(canvas, 0.0, _place(slope.x_end, chart.x)):
            canvas.dot(x, _height(slope, chart, x), "/", "")


def _samples(canvas: _Canvas, start: float, end: float) -> list[float]:
    """Close enough to leave no dot out."""
    steps = canvas.width * canvas.scale[0] * 2
    return [start + (end - start) * step / steps for step in range(steps + 1)]


def _height(slope: Slope, chart: Chart, x: float) -> float:
    """Where a slope is at ``x``, both from 0 to 1."""
    ai = chart.x[0] * (chart.x[1] / chart.x[0]) ** x
    return _place(ai * slope.bandwidth_bytes_per_s, chart.y)


def _name_slopes(canvas: _Canvas, chart: Chart) -> None:
    """Left above the line, of the lowest one right below it; further right where another name stands already."""
    for slope in chart.slopes:
        name = f"{slope.level} {with_prefix(slope.bandwidth_bytes_per_s, 'B/s')}"
        is_lowest = slope is chart.slopes[-1]
        for column in range(1, canvas.width - len(name)):
            end = column if is_lowest else column + len(name)
            row = round((1 - _height(slope, chart, end / canvas.width)) * (canvas.height - 1)) + (1 if is_lowest else -1)
            if canvas.write(column + (2 if is_lowest else 0), row, name, "bold"):
                break


def _beside(canvas: _Canvas, chart: Chart, names: list[str], styles: dict[str, str]) -> dict[int, Text]:
    """Row -> the names of flat roofs right of it; one that has no room of its own moves to the next free row."""
    found: dict[int, Text] = {}
    for flat, name in sorted(zip(chart.flats, names, strict=True), key=lambda pair: -pair[0].rate_flop_per_s):
        row = round((1 - _place(flat.rate_flop_per_s, chart.y)) * (canvas.height - 1))
        free = next((r for r in range(row, canvas.height) if r not in found), None)
        if free is not None:
            found[free] = Text(f" {name}", styles[flat.precision])
    return found


def _framed(canvas: _Canvas, chart: Chart, right: dict[int, Text]) -> Text:
    """Axes with a tick at every decade."""
    bar, corner, dash, tick = ("│", "└", "─", "┴") if canvas.is_braille else ("|", "+", "-", "+")
    rates = {round((1 - _place(10.0**d, chart.y)) * (canvas.height - 1)): _tick(10.0**d) for d in _decades(chart.y)}
    lines = [Text("rate, FLOP/s")]
    for row in range(canvas.height):
        lines.append(Text(f"{rates.get(row, ''):>{_AXIS - 1}}{bar}") + canvas.line(row) + right.get(row, Text()))
    marks = {round(_place(10.0**d, chart.x) * (canvas.width - 1)): f"{10.0**d:g}" for d in _decades(chart.x)}
    lines.append(Text(" " * (_AXIS - 1) + corner + "".join(tick if c in marks else dash for c in range(canvas.width))))
    labels = [" "] * (canvas.width + 8)
    for column, text in marks.items():
        start = max(0, column - len(text) // 2)
        labels[start : start + len(text)] = text
    lines.append(Text(" " * _AXIS + "".join(labels).rstrip()))
    lines.append(Text(" " * _AXIS + "arithmetic intensity, FLOP/byte"))
    return Text("\n").join(lines)


def _decades(ends: tuple[float, float]) -> range:
    return range(math.ceil(math.log10(ends[0])), math.floor(math.log10(ends[1])) + 1)


def _tick(rate: float) -> str:
    """``100G``: the unit stands above the axis."""
    return with_prefix(rate, "", 3).replace(" ", "")
