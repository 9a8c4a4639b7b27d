"""Numbers as consoles of several locales print them. Which separator means what is decided once per file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ert.points.document import Document
from ert.points.model import Decimal
from ert.units import GIGA

# Words that profilers print where a counter could not be read; none of them is ever zero.
_MISSING = {"", "n/a", "(!) n/a", "na", "nil", "none", "null", "-", "not available", "[n/a]", "<na>"}
_MISSING_SIGNED = {"nan", "inf", "infinity"}
# Blank, no-break, thin and narrow no-break spaces and apostrophes group digits; nobody uses them as a decimal sign.
_GROUPING = str.maketrans("", "", " \u00a0\u2009\u202f'\u2019")
# Groups of two are Indian (12,34,567). Nobody groups digits and writes an exponent as well.
_FORMS: dict[Decimal, re.Pattern[str]] = {
    "point": re.compile(
        r"^[+-]?(?:[1-9][0-9]{0,2}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]*)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$"
    ),
    "comma": re.compile(
        r"^[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{2,3})*\.[0-9]{3}(?:,[0-9]*)?|(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?)$"
    ),
}
_ONE_GROUP = re.compile(r"^[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}$")


def is_missing(text: str) -> bool:
    """True for the words profilers print instead of a number (also NaN and infinity)."""
    if text[:1].isdigit():
        return False
    plain = text.strip().lower()
    return plain in _MISSING or plain.lstrip("+-") in _MISSING_SIGNED


def decimal_evidence(text: str) -> Decimal | None:
    """What one printed number proves about the decimal sign of its file; None if it proves nothing.

    ``27.595.520`` and ``65,77`` prove the comma, ``1,250,000`` and ``80.00`` the point; ``117.344`` could be either.
    """
    plain = text.strip().translate(_GROUPING)
    if ("." not in plain and "," not in plain) or _ONE_GROUP.match(plain):
        return None
    fits: list[Decimal] = [decimal for decimal, form in _FORMS.items() if form.match(plain)]
    return fits[0] if len(fits) == 1 else None


def is_ambiguous(text: str) -> bool:
    """One separator before exactly three digits: a thousand or a thousandth."""
    return bool(_ONE_GROUP.match(text.strip().translate(_GROUPING)))


def whole_number_evidence(text: str) -> Decimal | None:
    """The same for a count that cannot have a fraction: there the one separator groups thousands."""
    if not is_ambiguous(text):
        return decimal_evidence(text)
    return "comma" if "." in text else "point"


def first_evidence(texts: Iterable[str]) -> Decimal | None:
    """The first proof among printed numbers."""
    return next((found for text in texts if (found := decimal_evidence(text))), None)


def number_at(document: Document, text: str, line: int, column: int | str, decimal: Decimal = "point") -> float | None:
    """One cell of a file, None for a profiler's word for missing. Raises AnalysisError naming file, line and column for other text."""
    if is_missing(text):
        return None
    try:
        return parse_number(text, decimal)
    except ValueError as error:
        raise document.error(f"{error}.", line, column) from error


def giga_at(document: Document, text: str, line: int, column: int | str) -> float | None:
    """One cell in GB/s or GFLOP/s, per second in SI; None also for 0, with which many tools say "not measured"."""
    giga = number_at(document, text, line, column)
    return giga * GIGA if giga else None


def parse_number(text: str, decimal: Decimal) -> float:
    """One printed number. Raises ValueError if it is not written with this decimal sign, or not finite."""
    if text.isdigit() and text.isascii():
        return float(text)
    plain = text.strip().translate(_GROUPING)
    if not _FORMS[decimal].match(plain):
        raise ValueError(f"'{text}' is not a number with a decimal {decimal}")
    if decimal == "comma":
        plain = plain.replace(".", "").replace(",", ".")
    number = float(plain.replace(",", ""))
    if not math.isfinite(number):
        raise ValueError(f"'{text}' is beyond what a float can hold")
    return number
