"""Times that are too short for the timer that took them."""

from __future__ import annotations

import numpy as np

from ert.fit.model import Bools, Floats
from ert.fit.rows import group_medians

# One tick up or down is 5 % of a sample of this many ticks: what is shorter is the timer's opinion.
LEAST_TICKS = 20
# Grids are looked for among times up to this many ticks; beyond, everything lies on some grid.
_MOST_TICKS = 1000
_SHARE_ON_GRID, _OFF_GRID = 0.95, 1e-3
# Two neighbouring multiples of the tick, this many times over: a few round times are no grid yet.
_LEAST_NEIGHBOURS = 5


def timer_tick_s(time_s: Floats) -> float | None:
    """The step that short times (n,), seconds, are multiples of; None if they are on no grid, or none is short."""
    distinct = np.unique(time_s[time_s > 0])
    if distinct.size < 2:
        return None
    tick = float(np.diff(distinct, prepend=0.0).min())
    ticks = distinct[distinct <= _MOST_TICKS * tick] / tick
    whole = np.round(ticks)
    if ticks.size == 0 or np.mean(np.abs(ticks - whole) < _OFF_GRID * np.maximum(ticks, 1)) < _SHARE_ON_GRID:
        return None
    return tick if np.count_nonzero(np.diff(np.unique(whole)) == 1) >= _LEAST_NEIGHBOURS else None


def too_short(working_set_bytes: Floats, time_s: Floats, tick_s: float) -> Bools:
    """(n,) rows of sizes whose median time is under 20 ticks; times of zero and below count as the timer gave them."""
    _, group = np.unique(working_set_bytes, return_inverse=True)
    short: Bools = group_medians(time_s, group)[group] < LEAST_TICKS * tick_s
    return short
