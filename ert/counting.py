"""Which times count for a ceiling: of the undisturbed ones those of a point's fastest visits, and where each core can be judged
on its own, core by core."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ert.devices.base import Sample

# Visits this close to the fastest one are in the same state, and all of their times count.
_SAME_STATE = 0.01
# The faster half of the visits counts in any case, and so many times: what came up once in a sweep may not come up in the next.
_LEAST_SHARE, _LEAST_COUNTED = 0.5, 12

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def in_fastest_visits(time_s: Sequence[float], visits: Sequence[int], usable: Sequence[bool]) -> Bools:
    """Which times, (n,) s, count: those of the usable ones whose visit is as fast as the fastest, or in the faster half.

    visits  number of the visit that each time belongs to

    A visit is one moment of the machine: its neighbours, the place of its cores, its pages. Caches and memory keep to one of
    several rates for as long as it lasts, and the median over all visits would be that of whichever state came up most often.
    What the machine reaches is its fastest state. Taking the fastest of many visits would reward luck, so each half of the times
    (even and odd ones of a visit) counts where the other half says that the visit is fast.
    Source: "Best Rate" of McCalpin, STREAM (1995); cross-fitting as in ``ert.fit.compute``.
    """
    own: dict[int, list[int]] = {}
    for i, (visit, is_usable) in enumerate(zip(visits, usable, strict=True)):
        if is_usable:
            own.setdefault(visit, []).append(i)
    # A visit with a single usable time has no half to choose it by: it counts, chosen by nothing.
    counted = np.zeros(len(time_s), dtype=np.bool_)
    counted[[i for several in own.values() if len(several) == 1 for i in several]] = True
    pairs = [(several[::2], several[1::2]) for several in own.values() if len(several) > 1]
    wanted = max(_LEAST_COUNTED, _LEAST_SHARE * sum(len(even) + len(odd) for even, odd in pairs)) / 2
    for choosing in (0, 1):
        count = 0
        by_speed = sorted((median(time_s[i] for i in pair[choosing]), pair[1 - choosing]) for pair in pairs)
        for median_s, counting in by_speed:
            if median_s > (1 + _SAME_STATE) * by_speed[0][0] and count >= wanted:
                break
            counted[counting] = True
            count += len(counting)
    return counted


def counted_by_core(samples: Sequence[Sample], visits: Sequence[int], threshold: float) -> list[Bools]:
    """For each core which samples, (n,), count: it was undisturbed then, and in one of its fastest visits. Empty without times by core.

    threshold  issue width, instructions per cycle, from which a core counts as quiet
    """
    masks = []
    for core in range(max((len(sample.core_times_s) for sample in samples), default=0)):
        known = [bool(sample.core_times_s) and not sample.throttled for sample in samples]
        time_s = [s.core_times_s[core] if is_known else s.time_s for s, is_known in zip(samples, known, strict=True)]
        quiet = [is_known and s.core_widths[core] >= threshold for s, is_known in zip(samples, known, strict=True)]
        masks.append(in_fastest_visits(time_s, visits, quiet))
    return masks


def times_by_core(samples: Sequence[Sample], counted: Sequence[Bools]) -> Floats:
    """Times of whole-device samples, (m,) s, joined from moments at which each single core was quiet.

    For work that stays inside the cores (registers, private caches) all cores run at once but none waits for another, so a core's
    own time counts whenever that core was undisturbed. The k-th counted times of all cores make the k-th joined time: the time in
    which they do the whole work at the sum of their rates. m is the count of the core that was quiet least often.
    """
    columns = [
        np.array([sample.core_times_s[core] for sample, is_counted in zip(samples, mask, strict=True) if is_counted])
        for core, mask in enumerate(counted)
    ]
    count = min((column.size for column in columns), default=0)
    if not count:
        return np.empty(0)
    rates = sum(1 / column[:count] for column in columns)
    return len(columns) / np.asarray(rates)


def clock_by_core(samples: Sequence[Sample], counted: Sequence[Bools]) -> float | None:
    """Median clock, Hz, of the cores in the moments that ``times_by_core`` counts; None if there is none."""
    clocks = [
        sample.core_clocks_hz[core]
        for core, mask in enumerate(counted)
        for sample, is_counted in zip(samples, mask, strict=True)
        if is_counted
    ]
    return float(np.median(clocks)) if clocks else None
