"""Which spec sheet a device belongs to: its exact name first, then facts, never a part of a name.

An H200 is not an H100 and a GB200 is not a B200, though the one name holds the other. Where the name
fits no sheet there is no sheet; the sheets that its facts fit are listed, for a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ert.jsontypes import Json
from ert.spec_sheet import Sheet

# A MIG device carries its slice behind the card's name: compute slices, then memory ("2c.3g.40gb" is a part of one).
_MIG = re.compile(r"(?P<card>.+?) MIG (?:(?P<part>\d+)c\.)?(?P<compute>\d+)g\.(?P<memory>\d+)gb(?:\+\w+)*", re.IGNORECASE)
# Names that say nothing about the product, so that facts alone may decide.
_NAMELESS = {"", "graphics device", "gpu"}
# MIG cuts memory into eighths whatever the card.
_MEMORY_SLICES = 8
# A driver reports a little less than the binary size (it keeps some), and a vendor's GB is 2**30 or 10**9.
_LEAST_MEMORY, _MOST_MEMORY = 0.93, 2**30 / 1e9 * 1.005


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a device that MIG hands out, as shares of the whole."""

    name: str
    compute: float
    memory: float


@dataclass(frozen=True, slots=True)
class Match:
    """A sheet, or why there is none.

    name        the sheet's name, with ``/MIG 3g.40gb`` behind it for a slice
    candidates  sheets that could be meant where there is none
    """

    sheet: Sheet | None
    reason: str
    mig: Slice | None = None
    candidates: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        if self.sheet is None:
            return None
        return f"{self.sheet.name}/{self.mig.name}" if self.mig else self.sheet.name


@dataclass(frozen=True, slots=True)
class Facts:
    """What a device says of itself, None where it does not: name, capability, SMs, memory in bytes, bus in bits."""

    name: str
    compute_capability: str | None = None
    sm_count: int | None = None
    memory_bytes: int | None = None
    memory_bus_bits: int | None = None


def device_facts(device: Mapping[str, Json]) -> Facts:
    """The facts of the ``device`` object of a ceilings file."""

    def whole(key: str) -> int | None:
        value = device.get(key)
        return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None

    capability = device.get("compute_capability")
    return Facts(
        name=str(device.get("name") or ""),
        compute_capability=capability if isinstance(capability, str) else None,
        sm_count=whole("sm_count"),
        memory_bytes=whole("memory_bytes"),
        memory_bus_bits=whole("memory_bus_bits"),
    )


def match_sheet(facts: Facts, sheets: Iterable[Sheet]) -> Match:
    """The sheet of a device. A MIG slice gets the sheet of its card, with the shares it holds."""
    sheets = list(sheets)
    if mig := _MIG.fullmatch(facts.name):
        # The card's own SMs and memory are not seen from inside a slice.
        card = match_sheet(Facts(mig["card"], facts.compute_capability), sheets)
        return Match(card.sheet, card.reason, _slice(mig, facts, card.sheet), card.candidates)
    named = [sheet for sheet in sheets if _has_name(sheet, facts.name)]
    if not named:
        return _by_facts(facts, sheets)
    fitting = [sheet for sheet in named if not _contradictions(sheet, facts)]
    if len(fitting) == 1:
        return Match(fitting[0], f"the name '{facts.name}' is on it")
    names = tuple(sheet.name for sheet in fitting or named)
    if fitting:
        return Match(
            None, f"'{facts.name}' is the name of {' and '.join(names)}; the size of its memory would tell them apart", None, names
        )
    return Match(None, f"'{facts.name}' is the name of {names[0]}, but {'; '.join(_contradictions(named[0], facts))}", None, names)


def given_sheet(sheet: Sheet, facts: Facts) -> Match:
    """A sheet that a person named; it is taken even where it does not fit, and says so."""
    mig = _MIG.fullmatch(facts.name)
    name = mig["card"] if mig else facts.name
    reason = "given by name" if _has_name(sheet, name) else f"given by name; the device calls itself '{facts.name}'"
    return Match(sheet, reason, _slice(mig, facts, sheet) if mig else None)


def _has_name(sheet: Sheet, name: str) -> bool:
    if sheet.identity.pattern is not None and re.fullmatch(sheet.identity.pattern, _plain(name), re.IGNORECASE):
        return True
    return _bare(name) in {_bare(known) for known in sheet.identity.names}


def _plain(name: str) -> str:
    return " ".join(name.split())


def _bare(name: str) -> str:
    """Older drivers leave ``NVIDIA`` away; nothing else of a name is optional."""
    return _plain(name).casefold().removeprefix("nvidia ")


def _by_facts(facts: Facts, sheets: list[Sheet]) -> Match:
    known = [f for f in (facts.compute_capability, facts.sm_count, facts.memory_bytes, facts.memory_bus_bits) if f is not None]
    alike = [sheet for sheet in sheets if len(known) > 1 and _may_be(sheet, facts)]
    names = tuple(sheet.name for sheet in alike)
    if _bare(facts.name) in _NAMELESS and len(known) == 4 and len(alike) == 1 and _states_all(alike[0]):
        return Match(alike[0], "compute capability, SM count, memory size and bus width are those of this sheet alone")
    reason = f"no sheet carries the name '{facts.name}'"
    return Match(None, f"{reason}; its facts fit {', '.join(names)}" if names else reason, None, names)


def _may_be(sheet: Sheet, facts: Facts) -> bool:
    """A sheet that leaves a fact out may still be meant, so it stands in the way of a match by facts."""
    return sheet.identity.compute_capability is not None and not _contradictions(sheet, facts)


def _states_all(sheet: Sheet) -> bool:
    identity = sheet.identity
    return None not in (identity.compute_capability, identity.sm_count, identity.memory_bus_bits)


def _contradictions(sheet: Sheet, facts: Facts) -> list[str]:
    """What the device says that the sheet does not."""
    found = [
        f"its {what} is {has}, not {says}"
        for what, has, says in (
            ("compute capability", facts.compute_capability, sheet.identity.compute_capability),
            ("SM count", facts.sm_count, sheet.identity.sm_count),
            ("memory bus", facts.memory_bus_bits, sheet.identity.memory_bus_bits),
        )
        if has is not None and says is not None and has != says
    ]
    memory = sheet.number("DRAM capacity")
    if memory and facts.memory_bytes and not _LEAST_MEMORY <= facts.memory_bytes / memory.dense_value <= _MOST_MEMORY:
        found.append(f"its memory is {facts.memory_bytes / 2**30:.1f} GiB, not {memory.amount.printed}")
    return found


def _slice(mig: re.Match[str], facts: Facts, card: Sheet | None) -> Slice:
    """Shares of the card: SMs where both counts are known, else compute slices; memory in eighths."""
    slices = (card.mig_slices if card else None) or 7
    compute = int(mig["part"] or mig["compute"]) / slices
    if card and card.identity.sm_count and facts.sm_count and facts.sm_count < card.identity.sm_count:
        compute = facts.sm_count / card.identity.sm_count
    whole = card.number("DRAM capacity") if card else None
    memory = round(_MEMORY_SLICES * int(mig["memory"]) * 1e9 / whole.dense_value) / _MEMORY_SLICES if whole else compute
    return Slice(mig.string[mig.end("card") + 1 :], compute, memory)
