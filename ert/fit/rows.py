"""From rows to one point per size: which rows count, and how noisy they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.errors import AnalysisError
from ert.fit.model import Bools, Curve, Floats

# More sizes than this are put into bins of equal width in log size: 5 levels need no finer grid, and the segmentation
# takes time and memory with the square of their number.
MAX_SIZES = 320
# A core clock below this share of the curve's usual one is throttling; boost clocks of a healthy device wander by a few percent.
THROTTLED_CLOCK = 0.93


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """One point per size (or per bin of sizes), ascending.

    octave    (n,) log2 of bytes
    log_rate  (n,) natural logarithm of the median bytes/s
    rows      (n,) how many rows stand behind it
    """

    octave: Floats
    log_rate: Floats
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.octave.size)

    def keep(self, mask: Bools) -> Sizes:
        return Sizes(self.octave[mask], self.log_rate[mask], self.rows[mask])


def check_curve(curve: Curve) -> None:
    """Raise AnalysisError unless the arrays are of one length, positive, finite, and of more than one size."""
    size, rate = curve.working_set_bytes, curve.bandwidth_bytes_per_s
    beside = [a for a in (curve.order, curve.clock_hz, curve.throttled) if a is not None]
    if size.ndim != 1 or any(a.shape != size.shape for a in [rate, *beside]):
        raise AnalysisError("a curve's columns differ in length. Give one value of each for every row.")
    for name, values in (("working_set_bytes", size), ("bandwidth_bytes_per_s", rate)):
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if bad.size:
            raise AnalysisError(
                f"{name}[{bad[0]}] is {values[bad[0]]}: sizes and bandwidths are positive and finite. Drop {bad.size} rows."
            )
    if np.unique(size).size < 2:
        raise AnalysisError(f"a curve of {size.size} rows has fewer than two sizes. Sweep the working set.")


def throttled_rows(curve: Curve) -> Bools:
    """(n,) rows taken while the device said it throttled, or while its clock was below the usual."""
    found = np.zeros(curve.working_set_bytes.size, dtype=bool) if curve.throttled is None else curve.throttled.copy()
    if curve.clock_hz is not None:
        known = np.isfinite(curve.clock_hz) & (curve.clock_hz > 0)
        if known.any():
            found |= known & (curve.clock_hz < THROTTLED_CLOCK * np.quantile(curve.clock_hz[known], 0.9))
    return found


def gather_sizes(curve: Curve, keep: Bools) -> Sizes:
    """One point per size of the rows in ``keep``: the median, because a stall is not noise."""
    octave = np.log2(curve.working_set_bytes[keep])
    log_rate = np.log(curve.bandwidth_bytes_per_s[keep])
    _, group = np.unique(octave, return_inverse=True)
    if group.size and group.max() >= MAX_SIZES:
        edges = np.linspace(octave.min(), octave.max(), MAX_SIZES + 1)
        _, group = np.unique(np.searchsorted(edges[1:-1], octave, side="right"), return_inverse=True)
    rows = np.bincount(group)
    ordered = log_rate[np.lexsort((log_rate, group))]
    first = np.cumsum(rows) - rows
    median = (ordered[first + (rows - 1) // 2] + ordered[first + rows // 2]) / 2
    return Sizes(np.bincount(group, octave) / rows, median, rows)
