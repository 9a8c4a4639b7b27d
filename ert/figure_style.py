"""How a roofline looks: colour says precision, line and marker say level, and every difference survives black and white.

Looks follow from a name's position in the tables of levels and precisions, so that a new row there needs none here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ert.levels import FAST_TO_SLOW
from ert.precisions import PRECISIONS

FillStyle = Literal["full", "none", "left", "bottom", "right", "top"]
Dashes = tuple[float, tuple[float, ...]] | Literal["solid"]

INK, FAINT = "#222222", "#666666"
LABEL_SIZE, SMALL_SIZE, TITLE_SIZE = 8.0, 6.8, 11.0

# Filled markers are smaller than open ones, so that two precisions at one place read as a dot in a ring.
MARKER_SIZES: dict[FillStyle, float] = {"full": 3.8, "none": 6.0}
MARKER_SIZE = 4.8

# Dark enough for thin lines on white, apart in hue for the common colour blindnesses, apart in lightness for print.
_COLOURS = ("#1f4e9c", "#c8401a", "#8a6d3b", "#0a7d5a", "#8e3a9d", "#b8860b", "#5f6b73", "#1797ad", "#000000")
_DASHES: tuple[Dashes, ...] = (
    (0, (1, 1)),
    (0, (5, 1.5, 1, 1.5, 1, 1.5)),
    (0, (8, 2, 1.2, 2)),
    (0, (6, 2.5)),
    "solid",
)
_MARKERS = ("v", "D", "^", "s", "o")
_FILLS: tuple[FillStyle, ...] = ("full", "none", "left", "bottom", "right", "top")

# What the rates of one path and operation look like: the roof of a vector path, of a matrix path, and lines below or above it.
PATH_DASHES: dict[str, Dashes] = {"vector": "solid", "tensor": (0, (9, 2))}
OTHER_OP_DASHES: Dashes = (0, (1.5, 1.8))


@dataclass(frozen=True, slots=True)
class LevelLook:
    """Line of a level's slope and marker of its points."""

    dashes: Dashes
    marker: str


def level_look(level: str) -> LevelLook:
    """The look of a memory level, by its place in the table of levels."""
    index = _place(level, FAST_TO_SLOW)
    return LevelLook(_DASHES[index % len(_DASHES)], _MARKERS[index % len(_MARKERS)])


def precision_colour(precision: str) -> str:
    """The colour of a precision, by its place in the table of precisions."""
    return _COLOURS[_place(precision, tuple(PRECISIONS)) % len(_COLOURS)]


def fill_styles(precisions: list[str]) -> dict[str, FillStyle]:
    """How the markers of each of these precisions are filled: the difference that needs no colour."""
    return {precision: _FILLS[index % len(_FILLS)] for index, precision in enumerate(precisions)}


def _place(name: str, order: tuple[str, ...]) -> int:
    """Place in a table; a name that is not there yet gets the place its letters give it, the same in every run."""
    return order.index(name) if name in order else sum(name.encode())
