"""Slow spells: rows and stretches of a curve that tell about the device's mood and not about its memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ert.fit.model import Bools, Curve, Floats
from ert.fit.plateaus import LEAST_STEP, Plateau, step_between
from ert.stats import MAD_TO_SIGMA

# A core clock below this share of the curve's usual one is throttling; boost clocks of a healthy device wander by a few percent.
_THROTTLED_CLOCK = 0.93
# A spell lasts at least this many rows, or it is an outlier.
_SPELL_ROWS = 9
_SPELL_SHARE = 0.4
_SPELL_SIGMAS = 6.0
_NEIGHBOUR_ROWS = 15
# Several passes over the sizes correlate at most as 1/2 with time.
_ONE_ORDER = 0.9
# Two drops within this much of each other (in log) are the same one.
_SAME_DROP = 0.06


def throttled_rows(curve: Curve) -> Bools:
    """(n,) rows taken while the device said it throttled, or while its clock was below the usual."""
    found = np.zeros(curve.working_set_bytes.size, dtype=bool) if curve.throttled is None else curve.throttled.astype(bool)
    if curve.clock_hz is None:
        return found
    known = np.isfinite(curve.clock_hz) & (curve.clock_hz > 0)
    if known.any():
        found |= known & (curve.clock_hz < _THROTTLED_CLOCK * usual_clock(curve.clock_hz[known]))
    return found


def usual_clock(clock_hz: Floats) -> float:
    """The clock a device runs at when nothing holds it back: nearly the highest seen."""
    return float(np.quantile(clock_hz, 0.9))


def follows_size(curve: Curve) -> bool:
    """True if sizes were taken in ascending or descending order, so that time and size cannot be told apart (Spearman's rho)."""
    n = curve.working_set_bytes.size
    time = np.arange(n) if curve.order is None else np.argsort(np.argsort(curve.order, kind="stable"))
    size = np.argsort(np.argsort(curve.working_set_bytes, kind="stable"))
    return bool(abs(np.corrcoef(time, size)[0, 1]) > _ONE_ORDER)


def slow_rows(curve: Curve) -> Bools:
    """(n,) rows of spells in which whatever was measured came out too slow.

    Needs sizes in another order than time. Each row is held against rows of neighbouring sizes, which were taken at other
    times; a run of low residuals in time is a spell.
    """
    n = curve.working_set_bytes.size
    none = np.zeros(n, dtype=bool)
    if n < 4 * _SPELL_ROWS or follows_size(curve):
        return none
    residual = _against_neighbours(curve)
    time = np.arange(n) if curve.order is None else np.argsort(curve.order, kind="stable")
    half = _SPELL_ROWS // 2
    running = np.median(sliding_window_view(np.pad(residual[time], half, mode="reflect"), _SPELL_ROWS), axis=1)
    noise = MAD_TO_SIGMA * float(np.median(np.abs(residual)))
    low = running < -max(LEAST_STEP / 2, _SPELL_SIGMAS * noise / np.sqrt(_SPELL_ROWS))
    if low.sum() < half or low.mean() > _SPELL_SHARE:
        return none
    found = none.copy()
    found[time] = low
    return found


def _against_neighbours(curve: Curve) -> Floats:
    """(n,) log bandwidth of each row minus the median of the rows nearest to it in size."""
    time = np.arange(curve.working_set_bytes.size) if curve.order is None else curve.order
    # Samples of one size in the order of time, in whatever order the rows stand: which of them are nearest must not depend on that.
    by_size = np.lexsort((time, curve.working_set_bytes))
    log_rate = np.log(curve.bandwidth_bytes_per_s[by_size])
    half = _NEIGHBOUR_ROWS // 2
    near = np.median(sliding_window_view(np.pad(log_rate, half, mode="reflect"), _NEIGHBOUR_ROWS), axis=1)
    residual = np.empty_like(log_rate)
    residual[by_size] = log_rate - near
    return residual


def without_dents(plateaus: Sequence[Plateau]) -> list[Plateau]:
    """Leave out both halves of a spell that lies across the end of a level, in a curve taken in the order of sizes.

    Speeds A, A', B', B, where A' is below A by the same factor as B' is below B: the device slowed down in A and
    recovered in B. Memory levels have no reason to repeat a ratio and then rise by it.
    """
    for k in range(len(plateaus) - 3):
        fall = step_between(plateaus[k], plateaus[k + 1])
        rise = -step_between(plateaus[k + 2], plateaus[k + 3])
        if min(fall, rise) > LEAST_STEP and abs(fall - rise) < _SAME_DROP:
            return without_dents([*plateaus[: k + 1], *plateaus[k + 3 :]])
    return list(plateaus)
