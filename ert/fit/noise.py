"""Local noise and outliers of a curve, before anything is known about its levels."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ert.fit.model import Bools, Floats
from ert.fit.rows import Sizes
from ert.stats import MAD_TO_SIGMA

# Noise is judged over this many neighbouring sizes: real curves are calm in one level and noisy in the next.
_WINDOW = 21
# Nothing below 8 % is a level of its own, so steps far below that need not be resolved; real plateaus wiggle by about this much.
_SIGMA_FLOOR = 0.007
_SIDE = 5
_OUTLIER_SIGMAS = 4.0


def local_sigma(sizes: Sizes) -> Floats:
    """(n,) noise of each size's log bandwidth: the median residual from the line through its two neighbours.

    A straight ramp leaves no residual, and a step only two in the window.
    Source: difference-based variance, Gasser, Sroka & Jennen-Steinmetz, Biometrika 73 (1986), with a median for robustness.
    """
    x, y, n = sizes.octave, sizes.log_rate, len(sizes)
    if n < 3:
        return np.full(n, _SIGMA_FLOOR)
    right = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    residual = (y[1:-1] - (1 - right) * y[:-2] - right * y[2:]) / np.sqrt(1 + right**2 + (1 - right) ** 2)
    residual = np.abs(np.concatenate([residual[:1], residual, residual[-1:]]))
    half = min(_WINDOW // 2, n - 1)
    windows = sliding_window_view(np.pad(residual, half, mode="reflect"), 2 * half + 1)
    near, everywhere = np.median(windows, axis=1), np.median(residual)
    sigma: Floats = np.maximum(_SIGMA_FLOOR, MAD_TO_SIGMA * np.maximum(near, everywhere / 2))
    return sigma


def outliers(sizes: Sizes, sigma: Floats) -> Bools:
    """(n,) sizes far outside the medians of their left and right neighbours: lone stalls, never a step or a ramp."""
    left, right = side_medians(sizes.log_rate)
    low, high = np.fmin(left, right), np.fmax(left, right)
    return (sizes.log_rate < low - _OUTLIER_SIGMAS * sigma) | (sizes.log_rate > high + _OUTLIER_SIGMAS * sigma)


def side_medians(values: Floats, side: int = _SIDE) -> tuple[Floats, Floats]:
    """Median of up to ``side`` neighbours before and after each value; at an end both are those of the one side there is."""
    n = values.size
    if n < 2:
        return values, values
    padded = np.concatenate([np.full(side, np.nan), values, np.full(side, np.nan)])
    windows = sliding_window_view(padded, side)
    before, after = windows[:n].copy(), windows[side + 1 :].copy()
    before[0], after[-1] = after[0], before[-1]
    return np.nanmedian(before, axis=1), np.nanmedian(after, axis=1)
