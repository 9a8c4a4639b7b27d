"""Ceilings of other tools that no machine has: a torn number, a wrong unit, a counter that wrapped around."""

from __future__ import annotations

from dataclasses import replace

from ert.ceilings.check import IMPOSSIBLY_FAST
from ert.points.model import Reading, Witness


def without_impossible(reading: Reading) -> Reading:
    """The same reading; a witness with an impossible rate keeps its row, without the number and with the reason."""
    return replace(reading, witnesses=tuple(map(_checked, reading.witnesses)))


def _checked(witness: Witness) -> Witness:
    rates = [rate for rate in (witness.value, witness.low, witness.high, witness.spec) if rate is not None]
    if all(0 <= rate < IMPOSSIBLY_FAST for rate in rates):
        return witness
    reason = f"implausible: {max(rates, key=abs):g} per second. Is the file whole, and its unit right?"
    return replace(witness, value=None, low=None, high=None, spec=None, not_comparable=reason)
