"""The switches beside a chart: one per level, precision, operation or layer, each with the line or marker it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ert.figure_style import Dashes, level_look
from ert.report.looks import Colour, precision_colours, series_colours
from ert.report.markup import EMPTY, Html, tag

# A marker in a box of 12 by 12, by its name in matplotlib.
_SHAPES = {
    "v": "M2 3h8l-4 7z",
    "^": "M2 10h8l-4-7z",
    "D": "M6 1l5 5-5 5-5-5z",
    "s": "M2 2h8v8h-8z",
    "o": "M6 2a4 4 0 1 0 .01 0z",
}


@dataclass(frozen=True, slots=True)
class Switch:
    """``value`` is what the traces carry in the switch's field."""

    value: str
    text: str
    swatch: Html = EMPTY
    is_on: bool = True


def switches(figure_id: str, field: str, legend: str, found: Iterable[Switch], *, one_of: bool = False) -> Html:
    """A group of checkboxes, or with ``one_of`` of radio buttons."""
    kind = "radio" if one_of else "checkbox"
    labels = [tag("label", _input(figure_id, field, s, kind), s.swatch, s.text) for s in found]
    return tag("fieldset", tag("legend", legend), *labels) if labels else EMPTY


def _input(figure_id: str, field: str, switch: Switch, kind: str) -> Html:
    name = f"{figure_id}-{field}" if kind == "radio" else None
    return tag("input", type=kind, name=name, value=switch.value, checked=switch.is_on, data_figure=figure_id, data_field=field)


def level_swatch(level: str) -> Html:
    """Line and marker of a level."""
    look = level_look(level)
    marker = tag("path", d=_SHAPES[look.marker], transform="translate(9 0)", fill="currentColor")
    return _svg(_line("currentColor", look.dashes), marker)


def precision_swatch(precision: str, dashes: Dashes = "solid") -> Html:
    """Colour of a precision, line of a path."""
    return _of_both(precision_colours(precision), dashes)


def series_swatch(index: int) -> Html:
    """Colour of an operation or device."""
    return _of_both(series_colours(index), "solid")


def _of_both(colour: Colour, dashes: Dashes) -> Html:
    """One line for each background; the style sheet shows one of them."""
    return _svg(*(_line(shade, dashes, cls) for shade, cls in zip(colour, ("swatch-light", "swatch-dark"), strict=True)))


def _line(colour: str, dashes: Dashes, cls: str | None = None) -> Html:
    pattern = None if isinstance(dashes, str) else " ".join(f"{length:g}" for length in dashes[1])
    return tag("line", x1=0, y1=6, x2=30, y2=6, stroke=colour, stroke_width=2.5, stroke_dasharray=pattern, cls=cls)


def _svg(*shapes: Html) -> Html:
    return tag("svg", *shapes, cls="swatch", viewBox="0 0 30 12", aria_hidden="true")
