"""Slips that make a sheet or a measurement wrong by a tell-tale factor: what a person should check first.

Each is a guess with its arithmetic, never a correction: only the vendor's document can settle it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ert.spec_sheet import SheetNumber
from ert.tolerances import Tolerance

# GiB read as GB; the band is what sheets round away.
_GIB = 2**30 / 1e9


@dataclass(frozen=True, slots=True)
class Slip:
    """``factor``: measured over promised becomes sensible when divided by it."""

    factor: float
    question: str


def recognise(number: SheetNumber, ratio: float, tolerance: Tolerance) -> Slip | None:
    """The first slip that would bring ``ratio`` (measured over promised) into the tolerance, or None."""
    for slip in _candidates(number):
        if tolerance.holds(ratio / slip.factor):
            return slip
    return None


def _candidates(number: SheetNumber) -> list[Slip]:
    """The usual ones for this kind of number, the commonest first."""
    unit = number.amount.printed.partition(" ")[2]
    found = [
        Slip(1e-3, f"unit mistake? {_thousandth(unit)} instead of {unit} would fit"),
        Slip(1e3, f"unit mistake? {_thousandfold(unit)} instead of {unit} would fit"),
    ]
    if number.amount.quantity == "bandwidth":
        found += [
            Slip(_GIB, "GiB/s against GB/s?"),
            Slip(1 / 8, "factor 8: is the sheet in bits?"),
            Slip(8, "factor 8: was the sheet's number divided from bits once too often?"),
            Slip(2, "factor 2: does the sheet count one direction, or the clock of a double data rate once?"),
        ]
    if number.amount.quantity == "rate":
        found.append(Slip(2, "factor 2: FMA counted once?" if not number.is_sparse else "factor 2: is the sheet's number dense already?"))
    if number.path == "tensor" and not number.is_sparse:
        found.append(Slip(0.5, "factor 2: is the sheet's number with sparsity?"))
    return found


def _thousandth(unit: str) -> str:
    return _shifted(unit, -1)


def _thousandfold(unit: str) -> str:
    return _shifted(unit, +1)


def _shifted(unit: str, steps: int) -> str:
    """``TB/s`` by -1 -> ``GB/s``."""
    prefixes = "kMGTPE"
    at = prefixes.find(unit[:1])
    if at < 0 or not 0 <= at + steps < len(prefixes):
        return "a prefix of 1000 away"
    return prefixes[at + steps] + unit[1:]
