"""The memory levels of a working-set curve: one call from rows to named levels with intervals."""

from __future__ import annotations

from collections.abc import Sequence

from ert.findings import Finding
from ert.fit.model import CapacityFact, Curve, Level, LevelFit
from ert.fit.plateaus import split_levels
from ert.fit.rows import check_curve, gather_sizes, throttled_rows
from ert.fit.value import leaving, sustained

__all__ = ["CapacityFact", "Curve", "Level", "LevelFit", "fit_levels"]


def fit_levels(curve: Curve, facts: Sequence[CapacityFact] = ()) -> LevelFit:
    """Levels of one curve, fast to slow."""
    check_curve(curve)
    slow = throttled_rows(curve)
    keep = ~slow if not slow.all() else slow
    sizes = gather_sizes(curve, keep)
    split = split_levels(sizes)
    warnings: list[Finding] = []
    levels = []
    for k, p in enumerate(split.plateaus):
        value, ci = sustained(sizes, p)
        cap = None
        if k + 1 < len(split.plateaus):
            cap = leaving(sizes, p, split.plateaus[k + 1], ~split.is_outlier)
        x = 2.0 ** sizes.octave[p.members]
        levels.append(Level(None, value, ci, (float(x[0]), float(x[-1])), int(x.size), cap and cap[0], cap and cap[1]))
    return LevelFit(tuple(levels), tuple(warnings))
