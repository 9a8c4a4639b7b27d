"""Numbers for people: decimal prefixes for rates and times, binary ones for capacities only; and back again."""

from __future__ import annotations

import math
import re

from ert.errors import ConfigError

PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}
MEGA, GIGA = PREFIXES["M"], PREFIXES["G"]
BINARY_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
# The units of values in files -> how people write them.
SYMBOLS = {"s": "s", "byte": "B", "byte/s": "B/s", "flop/s": "FLOP/s", "op/s": "OP/s"}
# Beyond the largest prefix: up to here the digits are written out, above only four of them and an exponent.
_MOST_PLAIN = 1e6
_NUMBER = re.compile(r"^\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$")


def with_prefix(value: float, unit: str, digits: int = 4) -> str:
    """``with_prefix(4.31e12, "B/s")`` -> ``"4.31 TB/s"``; four significant digits at most."""
    if value == 0:
        return f"0 {unit}"
    for prefix in ("E", "P", "T", "G", "M", "k", "", "m", "u", "n"):
        scaled = value / PREFIXES[prefix]
        # 0.9995 rounds to 1.000 at four digits, so the next prefix up starts there.
        if abs(scaled) >= 0.9995 or prefix == "n":
            plain = f"{scaled:.0f}" if 1000 <= abs(scaled) < _MOST_PLAIN else f"{scaled:.{digits}g}"
            return f"{plain} {prefix}{unit}"
    raise AssertionError("unreachable: the last prefix always returns")


def capacity(value_bytes: float) -> str:
    """``capacity(49152)`` -> ``"48 KiB"``."""
    for suffix, factor in reversed(BINARY_PREFIXES.items()):
        if value_bytes >= factor:
            return f"{value_bytes / factor:.4g} {suffix}B"
    return f"{value_bytes:.0f} B"


def parse_quantity(text: str, unit: str) -> float:
    """``parse_quantity("2ms", "s")`` -> 0.002. Plain numbers are SI base; ``unit`` is B, s, FLOP, B/s, FLOP/s or Hz.

    Raises ConfigError for anything that is not a finite number with a known prefix and this unit.
    """
    found = _NUMBER.match(text)
    if found:
        number, suffix = float(found[1]), found[2]
        rest = suffix[: -len(unit)] if suffix.lower().endswith(unit.lower()) and suffix else suffix
        factor = PREFIXES.get(rest.strip(), BINARY_PREFIXES.get(rest.strip()) if unit == "B" else None)
        if factor is not None and math.isfinite(number * factor):
            return number * factor
    raise ConfigError(f"'{text}' is not a quantity in {unit}. Examples: 1e10, 10G, 2.5{'m' if unit == 's' else 'G'}{unit}.")
