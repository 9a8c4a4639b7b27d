"""Names for levels: from what the device says about its caches, else from their position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ert.findings import Finding
from ert.fit.model import CapacityFact, Interval, Level
from ert.levels import DRAM_REACH
from ert.units import capacity

MEMORY = "DRAM"


def name_levels(levels: Sequence[Level], facts: Sequence[CapacityFact], largest_bytes: float) -> tuple[list[Level], list[Finding]]:
    """The same levels with names, and what the names rest on.

    largest_bytes  the largest working set of the curve
    """
    if not facts:
        names = names_by_position(len(levels))
        return [replace(level, name=name) for level, name in zip(levels, names, strict=True)], _by_position_only(names)
    names = names_from_facts([level.working_set_bytes for level in levels], facts)
    named = [replace(level, name=name) for level, name in zip(levels, names, strict=True)]
    last_cache = max((f.capacity_bytes for f in facts if f.name != MEMORY and f.capacity_bytes), default=None)
    if last_cache is not None and largest_bytes < DRAM_REACH * last_cache:
        return [_not_memory(level) for level in named], [_not_reached(largest_bytes, last_cache)]
    return named, [] if MEMORY in names else [_no_plateau(largest_bytes)]


def names_by_position(count: int) -> list[str | None]:
    """The usual names of ``count`` levels: the slowest is memory, the others caches from L1 on; a fourth cache has no usual name."""
    caches = ["L1", "L2", "L3"][: max(count - 1, 0)]
    return [*caches, *[None] * (count - 1 - len(caches)), MEMORY] if count else []


def names_from_facts(spans: Sequence[Interval], facts: Sequence[CapacityFact]) -> list[str | None]:
    """Give each level the cache whose sizes it covers most, fast to slow, no cache twice; None for one that covers none.

    spans  smallest and largest working set of each level, bytes

    A cache serves the sizes from the capacity of the one before it up to its own, and memory the rest. Real plateaus end
    well before the nominal size (partitions, neighbours), hence the overlap in octaves and not the edge.
    """
    shares = _fact_spans(facts)
    gain = np.array([[_overlap(span, share) for share in shares] for span in spans]).reshape(len(spans), len(facts))
    return [facts[f].name if f is not None else None for f in _ordered_assignment(gain)]


def _fact_spans(facts: Sequence[CapacityFact]) -> list[Interval]:
    """Sizes that belong to each fact; a cache of unknown capacity shares the span of the next known one."""
    spans: list[Interval] = []
    low = 1.0
    for k, fact in enumerate(facts):
        known = [f.capacity_bytes for f in facts[k:] if f.name != MEMORY and f.capacity_bytes]
        is_open = fact.name == MEMORY or not known
        spans.append((low, np.inf if is_open else float(known[0])))
        if fact.capacity_bytes and not is_open:
            low = max(low, float(fact.capacity_bytes))
    return spans


def _overlap(span: Interval, share: Interval) -> float:
    """Octaves of ``span`` inside ``share``."""
    low, high = max(span[0], share[0]), min(span[1], share[1])
    return float(np.log2(high / low)) if high > low else 0.0


def _ordered_assignment(gain: NDArray[np.float64]) -> list[int | None]:
    """For each row a column, ascending, with the largest sum of gains; None where nothing is gained.

    Source: alignment by dynamic programming, Needleman & Wunsch, J. Mol. Biol. 48 (1970).
    """
    rows, columns = gain.shape
    best = np.zeros((rows + 1, columns + 1))
    for r in range(rows):
        for c in range(columns):
            best[r + 1, c + 1] = max(best[r, c + 1], best[r + 1, c], best[r, c] + gain[r, c])
    chosen: list[int | None] = [None] * rows
    r, c = rows, columns
    while r and c:
        if best[r, c] == best[r, c - 1]:
            c -= 1
        elif best[r, c] == best[r - 1, c]:
            r -= 1
        else:
            r, c = r - 1, c - 1
            chosen[r] = c
    return chosen


def _not_memory(level: Level) -> Level:
    """A plateau beyond the last cache, in a curve too short to prove that it is memory: it keeps its number and gets no name."""
    return replace(level, name=None, flags=(*level.flags, "not_proven")) if level.name == MEMORY else level


def _not_reached(largest_bytes: float, last_cache_bytes: int) -> Finding:
    return Finding(
        "dram_not_reached",
        f"DRAM not reached: the largest working set, {capacity(largest_bytes)}, is {largest_bytes / last_cache_bytes:.2g} times "
        f"the last cache ({capacity(last_cache_bytes)}).",
        largest_bytes,
        f"Sweep to {capacity(DRAM_REACH * last_cache_bytes)} or more (>= {DRAM_REACH}x the last cache).",
    )


def _no_plateau(largest_bytes: float) -> Finding:
    return Finding(
        "dram_no_plateau",
        f"no plateau beyond the last cache, though working sets reach {capacity(largest_bytes)}: there is no DRAM level.",
        largest_bytes,
        "Sweep to larger working sets, or with more sizes.",
    )


def _by_position_only(names: Sequence[str | None]) -> list[Finding]:
    if not names:
        return []
    return [
        Finding(
            "names_by_position",
            f"{len(names)} level{'s' * (len(names) > 1)} named by position only: no device facts say which caches there are, "
            "or whether the last one is memory.",
            float(len(names)),
            "Give the sizes of the caches with --device-facts.",
        )
    ]
