"""The ceilings file: what a sweep found, as frozen dataclasses, and its reading, writing and migration.

All numbers are SI base (byte/s, flop/s, byte, s, Hz); a value that was not measured is None.
The same facts as a JSON Schema, for other programs: ``schema/ceilings.schema.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Literal, TypeVar, cast, overload

from ert.ceilings_check import check
from ert.codec import decode, encode
from ert.devices.base import Operands
from ert.diagnostics import Burst, Diagnostic
from ert.errors import AnalysisError, SchemaError
from ert.files import StrPath, dump_json, read_json, write_json_atomic
from ert.findings import Finding
from ert.jsontypes import Json
from ert.kernels import Measures
from ert.precisions import is_float
from ert.silent_keys import without_silent
from ert.suggest import nearest

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

SCHEMA = "ert.ceilings"
SCHEMA_VERSION = 1

ComputePath = Literal["vector", "tensor"]
Status = Literal["ok", "unsupported", "skipped", "error"]

# The operation whose rate is the roof of a path; the others are lines of their own.
ROOF_OP: dict[str, str] = {"vector": "fma", "tensor": "mma"}


@dataclass(frozen=True, slots=True)
class Tool:
    """The program that wrote the file. ``git`` is the commit, None outside a checkout."""

    name: str
    version: str
    git: str | None = None
    dirty: bool | None = None


class _Limited:
    """What both kinds of ceilings derive from their value and limit."""

    __slots__ = ()
    value: float
    limit: float | None

    @property
    def share_of_limit(self) -> float | None:
        """1 at the physical limit; None where no limit is known."""
        return self.value / self.limit if self.limit else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthCeiling(_Limited):
    """The sustained bandwidth of one memory level for one operation.

    value, ci95        byte/s, and its 95 % interval; None if there were too few samples for one
    roof               True for the highest sustained operation of the level
    working_set_bytes  smallest and largest working set on the plateau
    limit              byte/s, the physical limit at ``clock_hz``; None with the reason in ``limit_source``
    clock_hz, power_w  core clock and power draw measured beside the samples; power None where the device tells none
    burst              what it was in the first seconds, where ``value``, which it sustains, is another; else None
    """

    level: str
    op: str
    value: float
    ci95: tuple[float, float] | None
    roof: bool
    kernel: str
    working_set_bytes: tuple[int, int] | None = None
    capacity_bytes: int | None = None
    point_ids: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    limit: float | None = None
    limit_source: str | None = None
    clock_hz: float | None = None
    threads: int | None = None
    power_w: float | None = None
    burst: Burst | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeCeiling(_Limited):
    """The sustained rate of one precision, path and operation; fields as in BandwidthCeiling, in flop/s.

    Integer precisions count operations instead of FLOPs.
    """

    precision: str
    path: ComputePath
    op: str
    value: float
    ci95: tuple[float, float] | None
    roof: bool
    kernel: str
    point_ids: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    limit: float | None = None
    limit_source: str | None = None
    clock_hz: float | None = None
    threads: int | None = None
    power_w: float | None = None
    burst: Burst | None = None

    @property
    def is_float(self) -> bool:
        return is_float(self.precision)


Ceiling = BandwidthCeiling | ComputeCeiling
# For functions that give back the kind of ceilings they are given.
SomeCeiling = TypeVar("SomeCeiling", BandwidthCeiling, ComputeCeiling)


@dataclass(frozen=True, slots=True)
class Corner:
    """The rounded corner of a measured roof: t = ((bytes/B)^p + (flops/P)^p)^(1/p).

    exponent                     p; the ideal corner is p -> infinity
    bandwidth_bytes_per_s, rate  B and P of the same fit, kept beside the direct measurements they must agree with
    """

    exponent: float
    ci95: tuple[float, float] | None = None
    bandwidth_bytes_per_s: float | None = None
    rate_flop_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Roof:
    """One memory level under one compute ceiling."""

    level: str
    precision: str
    path: ComputePath
    ridge_flop_per_byte: float
    corner: Corner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured point, also one that could not be measured (``status`` and ``reason`` say why).

    flops, bytes  of ONE repeat, as the kernel declares them
    samples_s     each the time of ``repeats`` repeats
    clock_hz      per sample, None where it could not be known; empty if nobody looked; so memory_clock_hz, power_w, temperature_c
    throttled     per sample, the device's reason words; empty if nobody looked
    counted_s     times of ``repeats`` repeats joined from moments at which single cores were undisturbed (``ert.counting``); where
                  there are any, these make the ceiling
    operands      ``zeros`` for a diagnostic beside the figure on random numbers
    sustain_s     seconds for which the same work ran without a pause before the first sample; None for a point like all others
    """

    id: str
    kernel: str
    measures: Measures
    op: str
    precision: str
    path: ComputePath
    level: str | None = None
    working_set_bytes: int | None = None
    parameters: dict[str, int] = field(default_factory=dict)
    flops_per_element: int | None = None
    flops: float = 0
    bytes: float = 0
    repeats: int = 0
    samples_s: tuple[float, ...] = ()
    clock_hz: tuple[float | None, ...] = ()
    memory_clock_hz: tuple[float | None, ...] = ()
    power_w: tuple[float | None, ...] = ()
    temperature_c: tuple[float | None, ...] = ()
    throttled: tuple[tuple[str, ...], ...] = ()
    counted_s: tuple[float, ...] = ()
    operands: Operands = "random"
    sustain_s: float | None = None
    status: Status = "ok"
    reason: str | None = None
    warnings: tuple[Finding, ...] = ()

    @property
    def is_follow_up(self) -> bool:
        """Measured again under other conditions, on zeros or after seconds of unbroken work: no candidate for a ceiling."""
        return self.operands != "random" or self.sustain_s is not None

    @property
    def undisturbed_s(self) -> tuple[float, ...]:
        """The times that count: joined by core, or the samples that were not throttled; all of them if every one was."""
        if self.counted_s:
            return self.counted_s
        if not self.throttled:
            return self.samples_s
        return tuple(s for s, why in zip(self.samples_s, self.throttled, strict=True) if not why) or self.samples_s

    @property
    def median_time_s(self) -> float | None:
        """Time of one repeat, from the undisturbed samples."""
        return median(self.undisturbed_s) / self.repeats if self.samples_s and self.repeats else None

    @property
    def rate_flop_per_s(self) -> float | None:
        """None for work without FLOPs."""
        time_s = self.median_time_s
        return self.flops / time_s if time_s and self.flops else None

    @property
    def bandwidth_bytes_per_s(self) -> float | None:
        """None for work in registers."""
        time_s = self.median_time_s
        return self.bytes / time_s if time_s and self.bytes else None

    @property
    def ai_flop_per_byte(self) -> float | None:
        """None for work without FLOPs, or without bytes: it has no place on a logarithmic axis."""
        return self.flops / self.bytes if self.flops and self.bytes else None


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


@dataclass(frozen=True, slots=True)
class _CeilingLists:
    """The object ``ceilings`` of the file."""

    bandwidth: tuple[BandwidthCeiling, ...]
    compute: tuple[ComputeCeiling, ...]


# version n -> the function that turns a document of version n into one of version n + 1
MIGRATIONS: dict[int, Callable[[dict[str, Json]], dict[str, Json]]] = {}


def load(path: StrPath) -> Ceilings:
    """Read a ceilings file of this or an older schema version.

    Raises SchemaError naming file and key if it is something else or newer, ErtError if it cannot be read.
    """
    return from_dict(read_json(path), str(path))


def save(ceilings: Ceilings, path: StrPath) -> None:
    """Write a ceilings file, whole or not at all. Raises SchemaError if it contradicts itself, ErtError if it cannot be written."""
    check(ceilings, str(path))
    write_json_atomic(path, to_dict(ceilings))


def ceilings_to_json(ceilings: Ceilings) -> str:
    """The text ``save`` writes: strict JSON, keys always in the same order, whole numbers without a point."""
    return dump_json(to_dict(ceilings))


def to_dict(ceilings: Ceilings) -> dict[str, Json]:
    """The document of the ceilings file, in the contract's order of keys; free facts sorted behind the named ones."""
    flat = without_silent(cast(dict[str, Json], encode(ceilings)))
    lists: dict[str, Json] = {"bandwidth": flat.pop("bandwidth_ceilings"), "compute": flat.pop("compute_ceilings")}
    document: dict[str, Json] = {"schema": SCHEMA}
    for key, value in flat.items():
        if key == "roofs":
            document["ceilings"] = lists
        document[key] = value
    for key, first in (("device", ("id", "kind", "vendor", "name", "uuid")), ("environment", ("host", "os", "python", "packages"))):
        document[key] = _ordered(cast(dict[str, Json], flat[key]), first)
    return document


def _ordered(facts: Mapping[str, Json], first: tuple[str, ...]) -> dict[str, Json]:
    keys = [k for k in first if k in facts] + sorted(k for k in facts if k not in first)
    return {key: facts[key] for key in keys}


def from_dict(document: Json, where: str) -> Ceilings:
    """The ceilings of a document, migrated to this version; ``where`` names it in errors. Raises SchemaError."""
    current = _migrated(document, where)
    lists = decode(_CeilingLists, _with_ops(current.get("ceilings")), f"{where}: ceilings")
    ceilings = replace(decode(Ceilings, current, where), bandwidth_ceilings=lists.bandwidth, compute_ceilings=lists.compute)
    check(ceilings, where)
    return ceilings


def _migrated(document: Json, where: str) -> dict[str, Json]:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        raise SchemaError(f"{where}: not a ceilings file: schema is {found!r}, not '{SCHEMA}'. `ert sweep` writes one.")
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SchemaError(f"{where}: schema_version is {version!r}; versions 1 to {SCHEMA_VERSION} are known.")
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{where}: written in schema version {version}; this ert knows versions up to {SCHEMA_VERSION}. Read it with a newer ert."
        )
    for older in range(version, SCHEMA_VERSION):
        document = MIGRATIONS[older](document)
    return {**document, "schema_version": SCHEMA_VERSION}


def _with_ops(lists: Json) -> Json:
    """Fill in the ``op`` of compute ceilings that leave it out: an entry without one is the roof's."""
    if not isinstance(lists, dict) or not isinstance(compute := lists.get("compute"), list):
        return lists
    filled: list[Json] = [{"op": ROOF_OP.get(str(c.get("path"))), **c} if isinstance(c, dict) else c for c in compute]
    return {**lists, "compute": filled}
