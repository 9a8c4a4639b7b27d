"""One measurement of a known workload: what runs, and the FLOPs and bytes it must be charged with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ert.devices.base import LevelFacts
from ert.levels import DRAM_REACH
from ert.models import Ideal, Sizes, ideals
from ert.precisions import PRECISIONS

Workload = Literal["axpy", "vecadd", "gemm"]
WORKLOADS: tuple[Workload, ...] = ("axpy", "vecadd", "gemm")
OWN, LIBRARY = "own", "library"
# Work that streams is told for this many elements, whatever the arrays' length: then every stride does the same work.
REFERENCE_ELEMENTS = 10**9


@dataclass(frozen=True, slots=True)
class Case:
    """size      elements of an array that streams, or n of an n x n x n product
    stride       in elements: only every stride-th one is touched
    offset_bytes  how far the arrays begin beyond a cache line
    by           OWN or LIBRARY
    path         vector or tensor: the unit whose roof it is held against
    """

    workload: Workload
    precision: str
    size: int
    stride: int = 1
    offset_bytes: int = 0
    by: str = OWN
    path: str = "vector"

    @property
    def element_bytes(self) -> int:
        return PRECISIONS[self.precision].bytes

    @property
    def ideal(self) -> Ideal:
        """F and D of this work, told for REFERENCE_ELEMENTS elements where it streams."""
        sizes = Sizes(m=self.size, n=self.size, k=self.size) if self.workload == "gemm" else Sizes(size=REFERENCE_ELEMENTS)
        return ideals(self.workload, sizes, self.precision)[0]

    @property
    def touched(self) -> int:
        """Elements of one array that one execution works on."""
        return self.size // self.stride

    @property
    def working_set_bytes(self) -> int:
        arrays = {"axpy": 2, "vecadd": 3, "gemm": 3 * self.size}[self.workload]
        return arrays * self.size * self.element_bytes

    def bytes_at(self, line_bytes: int) -> float:
        """D where whole lines of this size move: a stride wastes what it skips, until each element has a line of its own."""
        per_element = min(self.stride * self.element_bytes, max(line_bytes, self.element_bytes))
        return self.ideal.bytes * per_element / self.element_bytes

    def reference_time_s(self, time_s: float) -> float:
        """The time of one execution -> of the work that ``ideal`` tells."""
        return time_s if self.workload == "gemm" else time_s * REFERENCE_ELEMENTS / self.touched

    @property
    def label(self) -> str:
        """What varies inside one experiment."""
        if self.workload == "gemm":
            return f"N={self.size}"
        if self.offset_bytes:
            return f"{self.offset_bytes} B off a line"
        return f"stride {self.stride}" if self.workload == "axpy" else f"{self.size} elements"

    @property
    def series(self) -> str:
        """What stays the same along one experiment."""
        return f"{self.workload} {self.precision} {self.by}"


@dataclass(frozen=True, slots=True)
class Timed:
    """A case and the time of one execution: the median of its samples.

    implementation  what ran, in words; threads it used
    is_disturbed    True if other programs shared the cores during so many samples that none could be left out
    """

    case: Case
    time_s: float
    samples_s: tuple[float, ...]
    implementation: str
    threads: int
    is_disturbed: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A case that could not be measured, and why."""

    case: Case
    reason: str


def level_of(working_set_bytes: int, levels: Sequence[LevelFacts]) -> tuple[str, str | None]:
    """The level that the working set's traffic comes from, and a remark where it lies between two."""
    caches = [level for level in levels if level.capacity_bytes is not None and level.name not in ("DRAM", "shared")]
    for level in caches:
        if working_set_bytes <= (level.capacity_bytes or 0):
            return level.name, None
    last = max((level.capacity_bytes or 0 for level in caches), default=0)
    if working_set_bytes < DRAM_REACH * last:
        return "DRAM", f"the working set is below {DRAM_REACH} x the last cache, so part of it is served from there"
    return "DRAM", None
