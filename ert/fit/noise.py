"""Local noise and lone outliers of a curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ert.fit.model import Bools, Floats
from ert.fit.rows import Sizes
from ert.fit.segments import Segment
from ert.stats import MAD_TO_SIGMA

# Noise is judged over this many neighbouring sizes: real curves are calm in one level and noisy in the next.
_WINDOW = 21
# Nothing below 8 % is a level of its own, so steps far below that need not be resolved; real plateaus wiggle by about this much.
_SIGMA_FLOOR = 0.007
# Before anything is known, steps and outliers spoil up to half of the residuals: their 35th percentile is still clean. For a
# normal distribution it lies at 0.4538 sigma.
_EARLY_SHARE, _EARLY_TO_SIGMA = 0.35, 1 / 0.4538
_SIDE = 5
# What is nearer than a level's least step cannot split one, and a few noisy sizes between calm ones are no outliers.
_OUTLIER_SIGMAS, _LEAST_OUTLIER = 4.0, 0.1
_AGREEING = 3
_LEAST_PIECE = 4


def first_sigma(sizes: Sizes) -> Floats:
    """(n,) noise of each size's log bandwidth, from its residual to the line through its two neighbours.

    A straight ramp leaves no residual, and a step only two in the window. An outlier spoils three, so the worst are left
    out by the noise of the whole curve before each place gets its own.
    Source: difference-based variance, Gasser, Sroka & Jennen-Steinmetz, Biometrika 73 (1986), with a quantile for robustness.
    """
    overall = _quantile_sigma(_neighbour_residuals(sizes))
    calm = sizes.keep(~outliers(sizes, np.full(len(sizes), overall)))
    if len(calm) < _LEAST_PIECE:  # of a handful of sizes all may stand alone
        calm = sizes
    return np.interp(sizes.octave, calm.octave, _rolling(_neighbour_residuals(calm), _EARLY_SHARE, _EARLY_TO_SIGMA))


def _neighbour_residuals(sizes: Sizes) -> Floats:
    """(n,) distance of each size from the line through its neighbours, scaled to the noise of one size; the ends repeat the next."""
    x, y = sizes.octave, sizes.log_rate
    if x.size < 3:
        return np.zeros(x.size)
    right = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    residual = (y[1:-1] - (1 - right) * y[:-2] - right * y[2:]) / np.sqrt(1 + right**2 + (1 - right) ** 2)
    return np.concatenate([residual[:1], residual, residual[-1:]])


def _quantile_sigma(residual: Floats) -> float:
    return max(_SIGMA_FLOOR, _EARLY_TO_SIGMA * float(np.quantile(np.abs(residual), _EARLY_SHARE)))


def refined_sigma(sizes: Sizes, pieces: Sequence[Segment], lone: Bools, first: Floats) -> Floats:
    """(n,) the same noise, from the residuals of a first cut; ``first`` where the cut is too fine to tell."""
    residual, solid = np.empty(len(sizes)), np.zeros(len(sizes), dtype=bool)
    for piece in pieces:
        part, count = slice(piece.start, piece.stop), piece.stop - piece.start
        line = piece.log_rate + piece.slope * (sizes.octave[part] - piece.octave)
        # The two parameters of the line make residuals small by this factor.
        residual[part] = (sizes.log_rate[part] - line) * np.sqrt(count / max(count - 2, 1))
        solid[part] = count >= _LEAST_PIECE
    solid &= ~lone
    if np.count_nonzero(solid) < 2 * _LEAST_PIECE:
        return first
    return np.interp(sizes.octave, sizes.octave[solid], _rolling(residual[solid], 0.5, MAD_TO_SIGMA))


def _rolling(residual: Floats, share: float, to_sigma: float) -> Floats:
    """(n,) sigma from the quantile ``share`` of |residual| in a window around each; at least half of the overall one."""
    size = np.abs(residual)
    half = min(_WINDOW // 2, size.size - 1)
    windows = sliding_window_view(np.pad(size, half, mode="reflect"), 2 * half + 1)
    rank = int(share * (2 * half + 1))
    near = np.partition(windows, rank, axis=1)[:, rank]
    sigma: Floats = np.maximum(_SIGMA_FLOOR, to_sigma * np.maximum(near, np.quantile(size, share) / 2))
    return sigma


def outliers(sizes: Sizes, sigma: Floats) -> Bools:
    """(n,) sizes far outside the medians of their left and right neighbours: lone stalls, never a step or a ramp."""
    left, right = side_medians(sizes.log_rate)
    margin = np.maximum(_OUTLIER_SIGMAS * sigma, _LEAST_OUTLIER)
    far = (sizes.log_rate < np.minimum(left, right) - margin) | (sizes.log_rate > np.maximum(left, right) + margin)
    return far & ~_agreeing(sizes.log_rate, far, margin)


def _agreeing(log_rate: Floats, far: Bools, margin: Floats) -> Bools:
    """(n,) members of runs of outliers that agree with each other: something was measured there."""
    found = np.zeros_like(far)
    for run in runs(far):
        if run.size >= _AGREEING and np.ptp(log_rate[run]) < margin[run].min():
            found[run] = True
    return found


def runs(mask: Bools) -> list[NDArray[np.int64]]:
    """The indices of each run of True."""
    true = np.flatnonzero(mask)
    return [run for run in np.split(true, np.flatnonzero(np.diff(true) > 1) + 1) if run.size]


def side_medians(values: Floats) -> tuple[Floats, Floats]:
    """(n,) medians of up to five neighbours before and after each value; an end has one side only and gives it twice."""
    n = values.size
    padded = np.concatenate([np.full(_SIDE, np.nan), values, np.full(_SIDE, np.nan)])
    windows = np.sort(sliding_window_view(padded, _SIDE), axis=1)  # NaN, the missing neighbours, sort to the end
    there = np.arange(n)
    left = _sorted_median(windows[:n], np.minimum(there, _SIDE))
    right = _sorted_median(windows[_SIDE + 1 :], np.minimum(there[::-1], _SIDE))
    left[0], right[-1] = right[0], left[-1]
    return left, right


def _sorted_median(rows: Floats, counts: NDArray[np.int64]) -> Floats:
    """(n,) median of the first ``counts`` values of each sorted row; NaN where there are none."""
    line = np.arange(rows.shape[0])
    middle: Floats = (rows[line, np.maximum(counts - 1, 0) // 2] + rows[line, counts // 2]) / 2
    return middle
