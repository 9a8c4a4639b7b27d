"""How far a measurement may be from a promise: configs/validate.toml, every pair with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from ert.strict_table import StrictTable, parse_toml_table

Against = Literal["sheet", "peak"]
KINDS = ("cuda", "cpu")
WHATS = ("dram", "cache", "vector", "integer", "tensor", "capacity")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Measured over promised: below ``least`` is below, beyond ``most`` is above."""

    least: float
    most: float
    reason: str

    def holds(self, ratio: float) -> bool:
        return self.least <= ratio <= self.most


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Every tolerance by (against, device kind, what)."""

    by_key: Mapping[tuple[str, str, str], Tolerance]

    def of(self, against: Against, kind: str, what: str) -> Tolerance:
        """Devices of a kind without tolerances of their own get those of a GPU."""
        return self.by_key[against, kind if kind in KINDS else "cuda", what]


@cache
def shipped_tolerances() -> Tolerances:
    """The tolerances of the package."""
    text = resources.files("ert.configs").joinpath("validate.toml").read_text(encoding="utf-8")
    return parse_tolerances(text, "configs/validate.toml")


def parse_tolerances(text: str, file: str) -> Tolerances:
    """Raises ConfigError naming file, line and field of what is missing, unknown or no sensible range."""
    top = parse_toml_table(text, file)
    top.check_keys({"sheet", "peak"}, {"sheet", "peak"})
    found = {}
    for against in ("sheet", "peak"):
        kinds = top.table(against)
        kinds.check_keys(set(KINDS), set(KINDS))
        for kind in KINDS:
            whats = kinds.table(kind)
            # A device has no theoretical capacity.
            required = set(WHATS) - ({"capacity"} if against == "peak" else set())
            whats.check_keys(required, required)
            found.update({(against, kind, what): _tolerance(whats.table(what)) for what in sorted(required)})
    return Tolerances(found)


def _tolerance(table: StrictTable) -> Tolerance:
    keys = {"least", "most", "reason"}
    table.check_keys(keys, keys)
    least, most = table.positive("least"), table.positive("most")
    if not least < most:
        raise table.refuse("least", f"{least} must be below most = {most}.")
    return Tolerance(least, most, table.string("reason"))
