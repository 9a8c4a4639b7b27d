"""The looks of the report's charts: those of the pictures (ert.figure_style), in plotly's words and for two backgrounds."""

from __future__ import annotations

import colorsys

from ert.figure_style import OTHER_OP_DASHES, PATH_DASHES, Dashes, level_look, precision_colour

# The two backgrounds, and below what is written on them; style.css has the same.
LIGHT, DARK = "#ffffff", "#14181d"
# Text must stand out this much from its background (WCAG 2.1, level AA).
CONTRAST = 4.5
_SYMBOLS = {"v": "triangle-down", "D": "diamond", "^": "triangle-up", "s": "square", "o": "circle"}
_PIXELS_PER_DASH = 2.0
# Apart in hue for the common colour blindnesses, and in lightness (Okabe and Ito 2008).
_SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#5f6b73")

# A colour on the light background and the same on the dark one.
Colour = list[str]

INK: Colour = ["#222222", "#e6e6e6"]


def precision_colours(precision: str) -> Colour:
    """The colour of a precision, readable on both backgrounds."""
    return _both(precision_colour(precision))


def series_colours(index: int) -> Colour:
    """The colour of the n-th operation or device."""
    return _both(_SERIES[index % len(_SERIES)])


def level_symbol(level: str) -> str:
    """The marker of a memory level."""
    return _SYMBOLS[level_look(level).marker]


def level_dash(level: str) -> str:
    """The line of a memory level."""
    return _dash(level_look(level).dashes)


def rate_dash(path: str, *, is_roof: bool) -> str:
    """The line of a flat roof, or of a rate that is none."""
    return _dash(PATH_DASHES.get(path, "solid") if is_roof else OTHER_OP_DASHES)


def _dash(dashes: Dashes) -> str:
    return "solid" if isinstance(dashes, str) else ",".join(f"{length * _PIXELS_PER_DASH:g}px" for length in dashes[1])


def _both(colour: str) -> Colour:
    """The colour made darker, and made lighter, until it stands out from the light and from the dark background."""
    return [readable(colour, LIGHT), readable(colour, DARK)]


def readable(colour: str, background: str) -> str:
    """The nearest lightness of the same hue with enough contrast."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour))
    step = -0.02 if luminance(background) > 0.5 else 0.02
    while contrast(colour, background) < CONTRAST and 0 <= lightness + step <= 1:
        lightness += step
        colour = "#" + "".join(f"{round(255 * channel):02x}" for channel in colorsys.hls_to_rgb(hue, lightness, saturation))
    return colour


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21. Source: WCAG 2.1, definition of contrast ratio."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, 0 to 1. Source: WCAG 2.1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
