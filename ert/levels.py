"""The memory levels, fast to slow: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sharing = Literal["core", "device"]


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """name     as written in files and on axes
    sharing  ``core``: every core or SM has its own; ``device``: one for all
    """

    name: str
    sharing: Sharing


LEVELS: dict[str, MemoryLevel] = {
    level.name: level
    for level in (
        MemoryLevel("shared", "core"),
        MemoryLevel("L1", "core"),
        MemoryLevel("L2", "core"),
        MemoryLevel("L3", "device"),
        MemoryLevel("DRAM", "device"),
    )
}
FAST_TO_SLOW: tuple[str, ...] = tuple(LEVELS)
# A working set below this many times the last cache is no measure of DRAM: part of every pass still hits.
DRAM_REACH = 4
