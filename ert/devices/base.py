"""What a device must do for the engine: say what it is, prepare a kernel, take one sample.

The engine knows nothing else about a device. A new kind of device is one module beside this
one and one line in ``ert.devices.BACKENDS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ert.findings import Finding
from ert.jsontypes import Json
from ert.kernels import DeviceKind, Kernel
from ert.limits import Limit, NoLimit

# Zeros draw less power than any real data: they make a diagnostic beside a ceiling, never a ceiling.
Operands = Literal["random", "zeros"]


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """One memory level as driver or OS reports it, for the whole device (sum over the cores in use).

    capacity_bytes  None where nobody says; a curve then decides alone
    """

    name: str
    capacity_bytes: int | None
    source: str


@dataclass(frozen=True, slots=True)
class Task:
    """What one point asks of a device.

    level              the level the working set aims at; None for a point of a working-set curve or in registers
    working_set_bytes  over all arrays and the whole device; None for kernels in registers
    parameters         values of the -D parameters the kernel's facts header names
    operands           what kernels in registers work on
    """

    kernel: Kernel
    precision: str
    level: str | None = None
    working_set_bytes: int | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    operands: Operands = "random"


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed run of ``repeats`` repeats.

    time_s       on the device's own clock, first start to last stop
    clock_hz     core clock beside the sample, None if it cannot be known
    issue_width  instructions per cycle of a probe beside the sample (the lower of before and after, the slowest core);
                 it drops when something else runs on the core. None where there is no such probe
    core_latency_s  one-way latency of a cache line between the cores in use, beside the sample: it tells where a hypervisor
                 has put them. None for one core, or where it cannot be known
    core_times_s, core_widths, core_clocks_hz  time, issue width and clock of each core, in the order of its threads; empty where
                 they cannot be told apart
    throttled    reason words of the device while it ran; empty if none
    """

    time_s: float
    clock_hz: float | None = None
    issue_width: float | None = None
    core_latency_s: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    core_times_s: tuple[float, ...] = ()
    core_widths: tuple[float, ...] = ()
    core_clocks_hz: tuple[float, ...] = ()
    throttled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CeilingKey:
    """Which ceiling: a level's bandwidth for one op, or (level None) a precision's rate on one path for one op."""

    op: str
    level: str | None = None
    precision: str | None = None
    path: str = "vector"


class Prepared(Protocol):
    """A compiled, checked and verified kernel with its buffers, ready to be timed.

    working_set_bytes  what it really touches (rounded to whole trips), None in registers
    least_time_s       shorter samples would measure the start of the kernel, too
    """

    working_set_bytes: int | None
    least_time_s: float
    flops_per_repeat: float
    bytes_per_repeat: float

    def sample(self, repeats: int, count: int, patience_s: float = 0.0) -> Sequence[Sample]:
        """Time ``repeats`` repeats, ``count`` times; raises MeasurementError if what ran is not what was asked.

        patience_s  how long all samples together may wait for the device to be undisturbed, where it can tell
        """
        ...

    def warm_up(self) -> None:
        """Bring the working set to where its level is (one whole pass at least)."""
        ...

    def close(self) -> None: ...


class Device(Protocol):
    """id: ``cpu``, ``cuda:0``; kind: ``cpu``, ``cuda``; threads: cores or SMs that share a working set."""

    id: str
    kind: DeviceKind

    @property
    def threads(self) -> int: ...

    def facts(self) -> dict[str, Json]:
        """The ``device`` object of the ceilings file."""
        ...

    def environment(self) -> dict[str, Json]:
        """What of the surroundings the numbers depend on: compiler, governor, huge pages, driver, ..."""
        ...

    def levels(self) -> Sequence[LevelFacts]:
        """Fast to slow; the last is DRAM with the memory a sweep may take."""
        ...

    def findings(self) -> Sequence[Finding]:
        """Warnings about the device and its surroundings."""
        ...

    def disturbance(self, sample: Sample, task: Task) -> float:
        """0 for a sample that may make a ceiling; else how far it is from that, by what its own probes say of the machine."""
        ...

    def core_threshold(self, task: Task) -> float | None:
        """Issue width from which a single core is quiet, where this task's cores do not share what limits them; else None."""
        ...

    def unsupported_reason(self, kernel: Kernel, precision: str) -> str | None:
        """None if this device can run the kernel at this precision."""
        ...

    def least_bytes(self, task: Task) -> int:
        """The smallest working set that this kernel can have here."""
        ...

    def make_ready(self, tasks: Sequence[Task]) -> None:
        """Compile what the tasks need, side by side, and take the memory; a failure shows when its task is prepared."""
        ...

    def prepare(self, task: Task) -> Prepared:
        """Compile (cached), check, verify and load. Raises KernelError, UnsupportedError, DeviceError."""
        ...

    def limit(self, ceiling: CeilingKey, clock_hz: float | None) -> Limit | NoLimit:
        """The physical limit of a ceiling for the whole device at this core clock, byte/s or flop/s, with its source."""
        ...

    def launch_overhead_s(self) -> float | None:
        """Time from the order to run nothing until it is done, on all of the device; None if it cannot be measured."""
        ...

    def close(self) -> None: ...
