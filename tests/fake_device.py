"""A device whose ceilings are known: a planted machine that answers with computed times instead of measured ones.

It implements ``ert.devices.base.Device``, so that plan, sweep, fit and files are tested without timing
anything. All randomness is seeded; nothing depends on the machine the tests run on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ert.devices import Listed, Options
from ert.devices.base import CeilingKey, LevelFacts, Sample, Task
from ert.errors import ErtError, UnsupportedError
from ert.findings import Finding
from ert.jsontypes import Json
from ert.kernels import DeviceKind, Kernel
from ert.limits import Limit, NoLimit
from ert.precisions import PRECISIONS

KIB, MIB, GIB = 2**10, 2**20, 2**30
QUIET_WIDTH, BUSY_WIDTH = 3.0, 1.9
CLOCK_HZ = 3e9


@dataclass(frozen=True, slots=True)
class Machine:
    """What is planted.

    capacities       bytes of each level over the whole device, fast to slow; the last is the memory a sweep may take
    bandwidths       level -> byte/s of a read; the other operations reach ``op_share`` of it
    rates            precision -> flop/s of a multiply-add with enough chains; absent ones are unsupported
    corner_exponent  p of t = ((bytes/B)^p + (flops/P)^p)^(1/p)
    noise            relative standard deviation of a sample
    disturbed_share  of the samples, which then take ``slowdown`` times as long and say so by their issue width
    limit_factor     physical limit over planted value
    faults           number of a sample (from 1) -> what it raises
    refuses          kernel name -> what preparing it raises
    least_bytes      kernel name -> smallest working set it can have
    cap_s, capped    after so many seconds of one kernel without a pause, an operation runs at this share of its rate
    hold_at, hold    from this number of timings on, wait as long as the file ``hold`` is there: a test stops the run right here
    """

    capacities: Mapping[str, int] = field(default_factory=lambda: {"L1": 64 * KIB, "L2": MIB, "L3": 32 * MIB, "DRAM": 8 * GIB})
    bandwidths: Mapping[str, float] = field(default_factory=lambda: {"L1": 800e9, "L2": 400e9, "L3": 200e9, "DRAM": 50e9})
    op_share: Mapping[str, float] = field(default_factory=lambda: {"write": 0.5, "copy": 0.8, "triad": 0.9, "update": 0.7})
    rates: Mapping[str, float] = field(default_factory=lambda: {"fp64": 100e9, "fp32": 200e9, "int32": 150e9, "int16": 400e9})
    corner_exponent: float = 6.0
    noise: float = 0.002
    disturbed_share: float = 0.0
    slowdown: float = 1.7
    limit_factor: float = 1.05
    threads: int = 2
    vector_bytes: int = 32
    name: str = "Planted"
    faults: Mapping[int, Exception] = field(default_factory=dict)
    refuses: Mapping[str, ErtError] = field(default_factory=dict)
    least_bytes: Mapping[str, int] = field(default_factory=dict)
    cap_s: float = 1.0
    capped: Mapping[str, float] = field(default_factory=dict)
    hold_at: int = 0
    hold: Path | None = None

    def seconds_per_byte(self, working_set_bytes: int) -> float:
        """A level holds everything up to its size and nothing from twice its size on, with a straight line between."""
        total, held_above = 0.0, 0.0
        *caches, memory = self.capacities
        for name in caches:
            held = min(max((2 * self.capacities[name] - working_set_bytes) / self.capacities[name], 0.0), 1.0)
            total += max(held - held_above, 0.0) / self.bandwidths[name]
            held_above = max(held, held_above)
        return total + (1 - held_above) / self.bandwidths[memory]

    def repeat_s(self, kernel: Kernel, precision: str, size: int | None, flops: float, moved: float) -> float:
        """Seconds of one repeat without noise."""
        memory_s = moved * self.seconds_per_byte(size) if size else 0.0
        if kernel.measures == "bandwidth":
            return memory_s / self.op_share.get(kernel.op, 1.0)
        compute_s = flops / self.rates[precision] / (1.5 if kernel.op == "fma+add" else 1.0)
        if kernel.measures == "compute":
            return compute_s
        p = self.corner_exponent
        return float(((memory_s / self.op_share["update"]) ** p + compute_s**p) ** (1 / p))


class FakeDevice:
    """A planted machine as a device; ``prepared`` and ``samples`` count what was asked of it, ``visits`` in which order."""

    id = "fake"
    kind: DeviceKind = "cpu"

    def __init__(self, machine: Machine | None = None, seed: int = 1) -> None:
        self.machine = machine or Machine()
        self.samples = 0
        self.timings = 0
        self.visits: list[Task] = []
        self.is_closed = False
        self.random = np.random.default_rng(seed)

    @property
    def threads(self) -> int:
        return self.machine.threads

    def facts(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "kind": self.kind,
            "vendor": "none",
            "name": self.machine.name,
            "uuid": "planted",
            "threads": self.threads,
            "vector_bytes": self.machine.vector_bytes,
        }

    def environment(self) -> dict[str, Json]:
        return {"compiler": None, "governor": "performance", "huge_pages": "always"}

    def levels(self) -> Sequence[LevelFacts]:
        return [LevelFacts(name, size, "planted") for name, size in self.machine.capacities.items()]

    def findings(self) -> Sequence[Finding]:
        return []

    def disturbance(self, sample: Sample, task: Task) -> float:
        return max(0.0, 0.97 * QUIET_WIDTH - (sample.issue_width or 0.0))

    def core_threshold(self, task: Task) -> float | None:
        return None

    def unsupported_reason(self, kernel: Kernel, precision: str) -> str | None:
        if kernel.measures == "bandwidth" or precision in self.machine.rates:
            return None
        return f"the planted machine has no {precision} arithmetic"

    def least_bytes(self, task: Task) -> int:
        return self.machine.least_bytes.get(task.kernel.name, 0)

    def is_held(self) -> bool:
        hold = self.machine.hold
        return hold is not None and self.timings >= self.machine.hold_at and hold.exists()

    def make_ready(self, tasks: Sequence[Task]) -> None:
        """Nothing to compile."""

    def prepare(self, task: Task) -> FakePrepared:
        if reason := self.unsupported_reason(task.kernel, task.precision):
            raise UnsupportedError(reason)
        if task.kernel.name in self.machine.refuses:
            raise self.machine.refuses[task.kernel.name]
        self.visits.append(task)
        return FakePrepared(self, task)

    def planted(self, ceiling: CeilingKey) -> float | None:
        """The value a perfect measurement finds."""
        machine = self.machine
        if ceiling.level is not None:
            return machine.bandwidths[ceiling.level] * machine.op_share.get(ceiling.op, 1.0)
        rate = machine.rates.get(ceiling.precision or "")
        return None if rate is None else rate * (1.5 if ceiling.op == "fma+add" else 1.0)

    def limit(self, ceiling: CeilingKey, clock_hz: float | None) -> Limit | NoLimit:
        value = self.planted(ceiling)
        return NoLimit("nothing planted") if value is None else Limit(value * self.machine.limit_factor, "planted")

    def launch_overhead_s(self) -> float | None:
        return 1e-6

    def close(self) -> None:
        self.is_closed = True


class FakePrepared:
    """See ``ert.devices.base.Prepared``."""

    least_time_s = 0.0

    def __init__(self, device: FakeDevice, task: Task) -> None:
        facts = task.kernel.trip_facts(
            task.parameters, element_bytes=PRECISIONS[task.precision].bytes, vector_bytes=device.machine.vector_bytes
        )
        trips = 1
        self.working_set_bytes = None
        if task.working_set_bytes is not None:
            step = device.threads * task.kernel.arrays * facts.array_bytes
            trips = max(1, task.working_set_bytes // step)
            self.working_set_bytes = trips * step
        self.flops_per_repeat = float(facts.flops * trips * device.threads)
        self.bytes_per_repeat = float(facts.bytes * trips * device.threads)
        self._device, self._task = device, task
        self._worked_s = 0.0

    def sample(self, repeats: int, count: int, patience_s: float = 0.0) -> Sequence[Sample]:
        self._device.timings += 1
        while self._device.is_held():
            time.sleep(0.005)
        return [self._one(repeats) for _ in range(count)]

    def _one(self, repeats: int) -> Sample:
        device, machine = self._device, self._device.machine
        device.samples += 1
        if device.samples in machine.faults:
            raise machine.faults[device.samples]
        one_s = machine.repeat_s(
            self._task.kernel, self._task.precision, self.working_set_bytes, self.flops_per_repeat, self.bytes_per_repeat
        )
        is_disturbed = device.random.random() < machine.disturbed_share
        time_s = repeats * one_s * (1 + machine.noise * device.random.standard_normal()) * (machine.slowdown if is_disturbed else 1.0)
        if self._worked_s >= machine.cap_s:
            time_s /= machine.capped.get(self._task.kernel.op, 1.0)
        self._worked_s += time_s
        return Sample(time_s, CLOCK_HZ, BUSY_WIDTH if is_disturbed else QUIET_WIDTH)

    def warm_up(self) -> None:
        """A planted cache is always warm."""

    def close(self) -> None:
        """Nothing to give back."""


def list_devices() -> list[Listed]:
    return [Listed("fake", "Planted")]


def lock_name(device_id: str) -> str:
    return device_id


def open_device(device_id: str, options: Options) -> FakeDevice:
    """FAKE_HOLD=NUMBER:FILE in the environment is Machine's ``hold_at`` and ``hold``, FAKE_NAME its name."""
    number, _, path = os.environ.get("FAKE_HOLD", "0:").partition(":")
    hold = Path(path) if path else None
    return FakeDevice(Machine(threads=options.threads or 2, name=os.environ.get("FAKE_NAME", "Planted"), hold_at=int(number), hold=hold))
