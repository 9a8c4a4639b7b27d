"""Units as vendors print them: bits and bytes, decimal and binary prefixes, FLOPS and OPS."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ert.errors import ConfigError
from ert.units import BINARY_PREFIXES, PREFIXES

Quantity = Literal["bandwidth", "rate", "capacity", "frequency"]

# b and B are a factor of 8 apart, so the letters of bits and bytes keep their case; FLOPS and OPS do not need it.
_BASES: tuple[tuple[str, Quantity, float], ...] = (
    (r"B/s|Bps", "bandwidth", 1.0),
    (r"bits?/s|bps|b/s", "bandwidth", 1 / 8),
    (r"(?i:flops?/s|flopps|flops|ops?/s|opps|ops)", "rate", 1.0),
    (r"B", "capacity", 1.0),
    (r"Hz", "frequency", 1.0),
)
_UNIT = re.compile(r"(?P<prefix>[KMGT]i|[kKMGTPE]|)(?P<base>.+)")
# A comma counts as a thousands separator only where it stands as one; "1,5" is refused, not guessed.
_VALUE = re.compile(r"\s*(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>.*?)\s*")

EXAMPLES = "3.35 TB/s, 936 GB/s, 16000 Gbit/s, 1862.6 GiB/s, 989.4 TFLOP/s, 624 TOP/s, 50 MB, 40960 KiB, 1830 MHz"


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of a sheet.

    value    SI base: byte/s, flop/s, byte or Hz
    printed  number and unit as the sheet has them
    """

    value: float
    quantity: Quantity
    printed: str


def parse_unit(unit: str) -> tuple[float, Quantity]:
    """``GiB/s`` -> (2**30, "bandwidth"). Raises ConfigError for a unit it does not know."""
    if found := _UNIT.fullmatch(unit):
        factor = BINARY_PREFIXES.get(found["prefix"], PREFIXES.get(found["prefix"], 0.0))
        for pattern, quantity, scale in _BASES:
            if re.fullmatch(pattern, found["base"]):
                return factor * scale, quantity
    raise ConfigError(f"unit {unit!r} is unknown. Examples: {EXAMPLES}.")


def parse_amount(text: str) -> Amount:
    """``2,000 GB/s`` -> 2e12 byte/s. Raises ConfigError for no number, no unit, an unknown unit, or not above 0."""
    found = _VALUE.fullmatch(text)
    if not found:
        raise ConfigError(f"{text!r} is not a number with a unit. Examples: {EXAMPLES}.")
    if found["unit"].startswith(","):
        raise ConfigError(f"{text!r}: a comma separates thousands only, as in 2,000 GB/s; a fraction takes a point.")
    if not found["unit"]:
        raise ConfigError(f"{text!r} has no unit. Examples: {EXAMPLES}.")
    return amount(float(found["number"].replace(",", "")), found["unit"])


def amount(number: float, unit: str) -> Amount:
    """A number and its unit, checked. Raises ConfigError as ``parse_amount`` does."""
    factor, quantity = parse_unit(unit)
    if not 0 < number * factor < float("inf"):
        raise ConfigError(f"{number:g} {unit} must be above 0.")
    return Amount(number * factor, quantity, f"{number:.10g} {unit}")


def binary_reading(found: Amount) -> float:
    """What a decimal capacity grows by when its prefix is read as binary: 40 MB of cache are 40 MiB. 1 if it is binary."""
    prefix = found.printed.partition(" ")[2].removesuffix("B")
    return BINARY_PREFIXES[f"{prefix.upper()}i"] / PREFIXES[prefix] if f"{prefix.upper()}i" in BINARY_PREFIXES else 1.0
