"""From rows to one point per size: what a row must be, which rows are stalls, and the median of the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.errors import AnalysisError
from ert.fit.model import Bools, Curve, Floats
from ert.stats import MAD_TO_SIGMA

# More sizes than this are put into bins of equal width in log size: five levels need no finer grid, and cutting the
# curve takes time and memory with the square of their number.
MAX_SIZES = 240
# With three rows of one size the median tells which one stalled; with two nobody knows.
_ROWS_TO_JUDGE = 3
_STALL_SIGMAS = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """One point per size (or per bin of sizes), ascending.

    octave    (n,) log2 of bytes
    log_rate  (n,) natural logarithm of the median bytes/s
    """

    octave: Floats
    log_rate: Floats

    def __len__(self) -> int:
        return int(self.octave.size)

    def keep(self, mask: Bools) -> Sizes:
        return Sizes(self.octave[mask], self.log_rate[mask])


def check_curve(curve: Curve) -> None:
    """Raise AnalysisError unless the arrays are of one length, positive, finite, and of more than one size."""
    size, rate = curve.working_set_bytes, curve.bandwidth_bytes_per_s
    beside = [a for a in (curve.order, curve.clock_hz, curve.throttled) if a is not None]
    if size.ndim != 1 or any(a.shape != size.shape for a in [rate, *beside]):
        raise AnalysisError("a curve's columns differ in length. Give one value of each for every row.")
    for name, values in (("working_set_bytes", size), ("bandwidth_bytes_per_s", rate)):
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if bad.size:
            raise AnalysisError(f"{name}[{bad[0]}] is {values[bad[0]]}: it must be positive and finite. Leave out such rows ({bad.size}).")
    if np.unique(size).size < 2:
        raise AnalysisError(f"a curve of {size.size} rows has fewer than two sizes. Sweep the working set.")


def gather_sizes(curve: Curve, keep: Bools) -> Sizes:
    """One point per size from the rows in ``keep``: the median of those that did not stall."""
    octave, log_rate = np.log2(curve.working_set_bytes[keep]), np.log(curve.bandwidth_bytes_per_s[keep])
    group = _groups(octave)
    calm = ~_stalled(log_rate, group)
    octave, log_rate = octave[calm], log_rate[calm]
    _, group = np.unique(group[calm], return_inverse=True)
    return Sizes(np.bincount(group, octave) / np.bincount(group), group_medians(log_rate, group))


def _groups(octave: Floats) -> NDArray[np.int64]:
    """(n,) number of each row's size, or of its bin if there are too many sizes."""
    sizes, group = np.unique(octave, return_inverse=True)
    if sizes.size > MAX_SIZES:
        inner_edges = np.linspace(sizes[0], sizes[-1], MAX_SIZES + 1)[1:-1]
        _, group = np.unique(np.searchsorted(inner_edges, octave, side="right"), return_inverse=True)
    return group


def group_medians(values: Floats, group: NDArray[np.int64]) -> Floats:
    """Median of ``values`` in each of the groups 0, 1, ..."""
    rows = np.bincount(group)
    ordered = values[np.lexsort((values, group))]
    first = np.cumsum(rows) - rows
    middle: Floats = (ordered[first + (rows - 1) // 2] + ordered[first + rows // 2]) / 2
    return middle


def _stalled(log_rate: Floats, group: NDArray[np.int64]) -> Bools:
    """(n,) rows far from the median of their own size.

    A median of five is not moved much by one stall, but always the same way: over a whole level that is a bias
    larger than its interval. The scale is common to all rows, since a few rows of one size do not have one.
    """
    rows = np.bincount(group)
    judged = rows[group] >= _ROWS_TO_JUDGE
    if np.count_nonzero(rows >= _ROWS_TO_JUDGE) * 2 < rows.size:
        return np.zeros(log_rate.size, dtype=bool)
    away = np.abs(log_rate - group_medians(log_rate, group)[group])
    typical = float(np.median(rows[rows >= _ROWS_TO_JUDGE]))
    # Residuals from the median of m rows are smaller than the noise by about sqrt(1 - 1.2/m).
    sigma = MAD_TO_SIGMA * float(np.median(away[judged])) / np.sqrt(1 - 1.2 / typical)
    stalled: Bools = judged & (away > _STALL_SIGMAS * max(sigma, 1e-4))
    return stalled
