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
LEAST_WIDTH, LEAST_HEIGHT = 36, 12
_AXIS = 6
_PREFERRED = 0.35
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

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Column and row of a place; ``x``, ``y`` from 0 to 1, left to right and bottom to top."""
        (across, down), (column, row) = self.scale, self._dot(x, y)
        return column // across, row // down

    def _dot(self, x: float, y: float) -> tuple[int, int]:
        across, down = self.scale
        return round(x * (self.width * across - 1)), round((1 - y) * (self.height * down - 1))

    def dot(self, x: float, y: float, character: str, style: str) -> None:
        """Outside of 0 to 1 nothing is drawn."""
        if not (0 <= x <= 1 and 0 <= y <= 1):
            return
        cell, (column, row) = self.cell(x, y), self._dot(x, y)
        if self.is_braille:
            self.dots[cell] = self.dots.get(cell, 0) | _BRAILLE[column % 2][row % 4]
        else:
            self.letters.setdefault(cell, character)
        self.styles.setdefault(cell, style)

    def write(self, cells: list[tuple[int, int]], text: str, style: str) -> None:
        """One letter a cell, over whatever is drawn there."""
        for cell, letter in zip(cells, text, strict=True):
            self.letters[cell], self.styles[cell] = letter, style

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
    canvas = _Canvas(_room([*names, *_level_names(chart)], width), max(LEAST_HEIGHT, height - 4), is_unicode)
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
    """The level on its line, where that hides least of the others, a third of the way up by preference."""
    taken: set[tuple[int, int]] = set()
    for slope in chart.slopes:
        end = _place(slope.x_end, chart.x)
        own = list(dict.fromkeys(canvas.cell(x, _height(slope, chart, x)) for x in _samples(canvas, 0.0, end)))
        places = [_centred(cell, slope.level, canvas) for cell in own]
        hidden = [sum(c in taken or ((c in canvas.dots or c in canvas.letters) and c not in own) for c in cells) for cells in places]
        best = min(range(len(own)), key=lambda i: (hidden[i], abs(i / len(own) - _PREFERRED)))
        canvas.write(places[best], slope.level, "bold")
        # A blank around a name keeps two of them apart.
        taken.update((column + step, row) for column, row in places[best] for step in (-1, 0, 1))


def _centred(cell: tuple[int, int], text: str, canvas: _Canvas) -> list[tuple[int, int]]:
    """The cells of a word around this one, inside the picture."""
    start = min(max(cell[0] - len(text) // 2, 0), canvas.width - len(text))
    return [(start + step, cell[1]) for step in range(len(text))]


def _beside(canvas: _Canvas, chart: Chart, names: list[str], styles: dict[str, str]) -> dict[int, Text]:
    """Row -> what stands right of it: the names of flat roofs, moved down where one has no row of its own, and below the levels."""
    found: dict[int, Text] = {}
    for flat, name in sorted(zip(chart.flats, names, strict=True), key=lambda pair: -pair[0].rate_flop_per_s):
        row = round((1 - _place(flat.rate_flop_per_s, chart.y)) * (canvas.height - 1))
        free = next((r for r in range(row, canvas.height) if r not in found), None)
        if free is not None:
            found[free] = Text(f" {name}", styles[flat.precision])
    below = range(max(found, default=-1) + 1, canvas.height)
    for row, name in zip(below[-len(chart.slopes) :], _level_names(chart), strict=False):
        found[row] = Text(f" {name}", "bold")
    return found


def _level_names(chart: Chart) -> list[str]:
    return [f"{s.level} {with_prefix(s.bandwidth_bytes_per_s, 'B/s')}" for s in chart.slopes]


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
