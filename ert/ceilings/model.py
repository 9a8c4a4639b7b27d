"""One measured roofline as an object: what a ceilings file holds, and what it can be asked.

All numbers are SI base (byte/s, flop/s, byte, s, Hz); a value that was not measured is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from ert.ceilings.kinds import BandwidthCeiling, Ceiling, ComputeCeiling, Corner, Roof
from ert.ceilings.point import Point
from ert.diagnostics import Diagnostic
from ert.errors import AnalysisError
from ert.findings import Finding
from ert.jsontypes import Json
from ert.suggest import nearest

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

SCHEMA = "ert.ceilings"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Tool:
    """The program that wrote the file. ``git`` is the commit, None outside a checkout."""

    name: str
    version: str
    git: str | None = None
    dirty: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """One measured roofline: ceilings, the points behind them, and where they come from.

    In the file the two tuples of ceilings are ``ceilings.bandwidth`` and ``ceilings.compute``.
    ``device``, ``environment`` and ``config`` hold free facts; device has at least id, kind and name.
    """

    schema_version: int = SCHEMA_VERSION
    created: str
    tool: Tool
    argv: tuple[str, ...]
    device: dict[str, Json]
    environment: dict[str, Json]
    config: dict[str, Json]
    bandwidth_ceilings: tuple[BandwidthCeiling, ...] = ()
    compute_ceilings: tuple[ComputeCeiling, ...] = ()
    roofs: tuple[Roof, ...] = ()
    launch_overhead_s: float | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    points: tuple[Point, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def all_ceilings(self) -> tuple[Ceiling, ...]:
        return (*self.bandwidth_ceilings, *self.compute_ceilings)

    @property
    def bandwidth_roofs(self) -> dict[str, BandwidthCeiling]:
        """Level -> the ceiling that is its roof, in the order of the file."""
        return {c.level: c for c in self.bandwidth_ceilings if c.roof}

    @property
    def compute_roofs(self) -> dict[tuple[str, str], ComputeCeiling]:
        """(precision, path) -> the ceiling that is its roof, in the order of the file."""
        return {(c.precision, c.path): c for c in self.compute_ceilings if c.roof}

    def bandwidth(self, level: str = "DRAM") -> float:
        """The roof of a memory level, byte/s. Raises AnalysisError for a level this file does not have."""
        if level not in self.bandwidth_roofs:
            raise _not_in_file("level", level, list(self.bandwidth_roofs))
        return self.bandwidth_roofs[level].value

    def compute_peak(self, precision: str = "fp32", path: str = "vector") -> float:
        """The flat roof of a precision and path, flop/s. Raises AnalysisError for one this file does not have."""
        roofs = self.compute_roofs
        if (precision, path) in roofs:
            return roofs[precision, path].value
        precisions = list(dict.fromkeys(p for p, _ in roofs))
        if precision not in precisions:
            raise _not_in_file("precision", precision, precisions)
        raise _not_in_file(f"{precision} path", path, [there for p, there in roofs if p == precision])

    def ridge(self, level: str = "DRAM", precision: str = "fp32", path: str = "vector") -> float:
        """Arithmetic intensity of the corner between two roofs, FLOP/byte."""
        return self.compute_peak(precision, path) / self.bandwidth(level)

    def corner(self, level: str = "DRAM", precision: str = "fp32", path: str = "vector") -> Corner | None:
        """The fitted corner of a roof, None if the sweep had no mixed points for it."""
        return next((r.corner for r in self.roofs if (r.level, r.precision, r.path) == (level, precision, path)), None)

    @overload
    def attainable(self, ai: float, level: str = ..., precision: str = ..., path: str = ..., rounded: bool = ...) -> float: ...
    @overload
    def attainable(
        self, ai: NDArray[np.float64], level: str = ..., precision: str = ..., path: str = ..., rounded: bool = ...
    ) -> NDArray[np.float64]: ...
    def attainable(
        self, ai: float | NDArray[np.float64], level: str = "DRAM", precision: str = "fp32", path: str = "vector", rounded: bool = False
    ) -> float | NDArray[np.float64]:
        """The rate under the roof at an arithmetic intensity (FLOP/byte, a number or an array), flop/s.

        ``rounded`` takes the measured corner instead of the ideal one.
        Raises AnalysisError for a level, precision, path or corner this file does not have.
        """
        from ert import roofline  # noqa: PLC0415  (brings NumPy, which reading a file does not need)

        bandwidth, peak = self.bandwidth(level), self.compute_peak(precision, path)
        if not rounded:
            return roofline.attainable(ai, bandwidth, peak)
        corner = self.corner(level, precision, path)
        if corner is None:
            raise AnalysisError(f"{level}, {precision} {path}: no corner was fitted. Sweep with mixed kernels, or ask for the ideal roof.")
        return roofline.attainable(ai, bandwidth, peak, exponent=corner.exponent)

    def to_frame(self, what: Literal["ceilings", "points"] = "ceilings") -> pd.DataFrame:
        """The ceilings as a data frame, one row each, or the measured points; SI units, what is not known is missing."""
        from ert.frame import ceilings_frame, points_frame  # noqa: PLC0415  (pandas takes longer to load than a file)

        return ceilings_frame(self) if what == "ceilings" else points_frame(self)

    def plot(self, ax: Axes | None = None, *, rounded: bool = False) -> Axes:
        """Draw the roofline on ``ax``, or on a new figure; ``rounded`` adds the measured corners. Returns the axes.

        Raises AnalysisError if there is nothing to draw, or no corner where one was asked for.
        """
        from ert.axes_plot import draw_on  # noqa: PLC0415  (loads matplotlib)

        return draw_on(self, ax, rounded=rounded)

    def _repr_html_(self) -> str:
        """The tables, as a notebook shows them."""
        from ert.report.tables import notebook_html  # noqa: PLC0415  (only a notebook needs it)

        return notebook_html(self)


def _not_in_file(what: str, name: str, known: list[str]) -> AnalysisError:
    return AnalysisError(f"{what} '{name}' has no roof in this ceilings file.{nearest(name, known)} It has: {', '.join(known) or 'none'}.")
