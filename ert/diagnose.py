"""The diagnostics of a finished sweep, from the points that make no ceiling and from those that almost did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ert.candidates import Candidate
from ert.ceilings.kinds import BandwidthCeiling, Ceiling
from ert.diagnostics import Diagnostic, Unit, What
from ert.precisions import PRECISIONS, si_rate_unit
from ert.stats import median_ci95


def latencies(measured: Iterable[Candidate]) -> Iterator[Diagnostic]:
    """Seconds of one load that waits for the one before, for each level that was chased through."""
    for c in measured:
        if c.point.measures == "latency":
            hops = c.point.bytes / PRECISIONS[c.point.precision].bytes
            yield _diagnostic("latency", "s", c, c.times_s / hops)


def on_zeros(measured: Iterable[Candidate]) -> Iterator[Diagnostic]:
    """What the tensor ceilings would be on operands that are all zero."""
    for c in measured:
        if c.point.operands == "zeros":
            yield _diagnostic("zero_operands", si_rate_unit(c.point.precision), c, c.rates)


def by_kernel(candidates: Sequence[Candidate], ceilings: Iterable[Ceiling]) -> Iterator[Diagnostic]:
    """Of a level's operation that several kernels measure, the best of each: the ceiling is that of the fastest."""
    for ceiling in ceilings:
        if isinstance(ceiling, BandwidthCeiling):
            best: dict[str, Candidate] = {}
            for c in candidates:
                if (c.point.measures, c.point.level, c.point.op) == ("bandwidth", ceiling.level, ceiling.op):
                    rival = best.get(c.point.kernel)
                    best[c.point.kernel] = c if rival is None or c.median > rival.median else rival
            if len(best) > 1:
                yield from (_diagnostic("by_kernel", "byte/s", c, c.rates) for c in best.values())


def _diagnostic(what: What, unit: Unit, candidate: Candidate, values: NDArray[np.float64]) -> Diagnostic:
    point = candidate.point
    value, low, high = median_ci95(values)
    return Diagnostic(
        what=what,
        value=value,
        unit=unit,
        ci95=None if low is None or high is None else (low, high),
        kernel=point.kernel,
        op=point.op,
        level=point.level,
        precision=None if point.level else point.precision,
        path=None if point.level else point.path,
        point_ids=(point.id,),
    )
