"""What a reader hands on: kernels, witnesses, and what could not be placed, each with where it stood.

Nothing here judges; a counter that was not collected is absent, one that could not be read is None,
and only a counter that was read as zero is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ert.findings import Finding

Decimal = Literal["point", "comma"]
WitnessKind = Literal["bandwidth", "compute", "interconnect"]

UNKNOWN = "unknown"
TENSOR_SUFFIX = "_tensor"


def work_key(precision: str, path: str) -> str:
    """``("fp16", "tensor")`` -> ``"fp16_tensor"``, the key of ``flops`` in every file."""
    return precision + (TENSOR_SUFFIX if path == "tensor" else "")


def split_work(key: str) -> tuple[str, str]:
    """``"fp16_tensor"`` -> ``("fp16", "tensor")``; ``"tensor"`` alone is work of unknown precision."""
    if key.endswith(TENSOR_SUFFIX):
        return key.removesuffix(TENSOR_SUFFIX), "tensor"
    return (UNKNOWN, "tensor") if key == "tensor" else (key, "vector")


def work_name(key: str) -> str:
    """``"fp16_tensor"`` -> ``"fp16 tensor"``: for people; the vector path goes without saying."""
    precision, path = split_work(key)
    return precision if path == "vector" else f"{precision} {path}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a kernel was read: the file as the user named it, and the line (None inside JSON or YAML)."""

    file: str
    line: int | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class KernelPoint:
    """One kernel, its launches summed.

    time_s   of all launches together
    flops    work key -> FLOPs; None: FLOPs were not collected at all; a None inside: that counter could not be read;
             an empty mapping: counted, and zero
    bytes    memory level -> bytes moved there; a level that was not collected is absent, one that could not be read is None
    missing  what the profile should hold and does not, in the profiler's own words
    notes    what a person should know about how these numbers came to be
    flags    short words of the reader (``flops_estimated``, ``sparse``)
    family   which set of traffic metrics the bytes come from; AIs of different families are not comparable
    """

    name: str
    time_s: float
    flops: Mapping[str, float | None] | None
    bytes: Mapping[str, float | None]
    origin: Origin
    launches: int = 1
    label: str | None = None
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    family: str | None = None

    @property
    def total_flops(self) -> float | None:
        """All work together, None as soon as one part of it is unknown."""
        if self.flops is None:
            return None
        known = [v for v in self.flops.values() if v is not None]
        return sum(known) if len(known) == len(self.flops) else None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A kernel that was seen and cannot be placed."""

    name: str
    reason: str
    origin: Origin
    launches: int = 1


@dataclass(frozen=True, slots=True)
class Witness:
    """A ceiling another tool measured, to be held against ours.

    value        SI base; None: the tool says it was not measured
    level, op    for bandwidth; precision, path, op for compute
    not_comparable  None, or why this number must not be held against a ceiling of the whole device
    low, high    the other tool's own interval
    spec         the vendor's number beside it, where the file has one
    """

    what: str
    kind: WitnessKind
    value: float | None
    origin: Origin
    level: str | None = None
    precision: str | None = None
    path: str = "vector"
    op: str | None = None
    low: float | None = None
    high: float | None = None
    spec: float | None = None
    working_set_bytes: float | None = None
    not_comparable: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """All that one file held."""

    format: str
    file: str
    points: tuple[KernelPoint, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a file may leave open and a person can say.

    decimal     how numbers are written, where the file itself does not prove it
    per_launch  True: one point per launch instead of one per kernel name
    precision   work key for files that do not record one
    device      which device of a file that holds several
    """

    decimal: Decimal | None = None
    per_launch: bool = False
    precision: str | None = None
    device: str | None = None


DEFAULTS = ReadOptions()


@dataclass(slots=True)
class Collected:
    """The growing result of a reader; ``reading`` freezes it."""

    format: str
    file: str
    points: list[KernelPoint] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def reading(self) -> Reading:
        return Reading(self.format, self.file, tuple(self.points), tuple(self.skipped), tuple(self.witnesses), tuple(self.findings))
