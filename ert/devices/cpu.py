"""The host CPU as a device: kernels compiled for this machine, one pinned thread per core, timed inside C."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from ert.devices import Listed, Options, cpu_facts
from ert.devices.arena import Arena
from ert.devices.base import CeilingKey, LevelFacts, Sample, Task
from ert.devices.cpu_kernel import (
    MAX_VECTOR_BYTES,
    OPERAND_VECTORS,
    LoadedKernel,
    Scale,
    Variant,
    aligned,
    load_kernel,
    make_operands,
    why_unsupported,
)
from ert.devices.cpu_prepared import MOST_CORES_TOLD, PAGE_BYTES, PreparedCpu
from ert.devices.pool import ARRAYS, Job, Pool
from ert.errors import DeviceError, KernelError, UnsupportedError
from ert.findings import Finding
from ert.hostcc import cache_folder, compile_runtime, find_compiler
from ert.jsontypes import Json
from ert.kernels import DeviceKind, Kernel
from ert.levels import LEVELS
from ert.limits import Limit, NoLimit, cpu_limits, why_no_cpu_limits
from ert.placement import Placements
from ert.quiet import QuietGate

# Before sampling this many times the last cache is walked. Memory: lines that other work left to be written back, or room it left for
# ours, made the first 32 MiB of stores up to twice as fast as memory takes them (110 instead of 50 GB/s on Zen 3). A shared cache
# keeps lines only that were used again and again: one in four L3 reads over 4.2 MiB came to 144 GB/s or less after 32 passes, to 156
# after 256, of 163 that it can do; so many passes are enough for a small working set in a large cache.
_MEMORY_REACH, _SHARED_CACHE_REACH, _SHARED_CACHE_PASSES = 2, 32, 256
# Enough that the plateau of an undisturbed core shows between the interrupts of others.
_CALIBRATION_PROBES = 400
# Medians over so many, so that an interrupt in a few of them does not count.
_LAUNCHES, _PING_PONGS = 200, 5
# Rounds of one ping-pong beside a batch of samples: some 10 us.
_LATENCY_ROUNDS = 50
# The latency is taken from the first core to this many others.
_MOST_LATENCIES = 16
# What the first operands of a timed kernel are, so that the data it walks stay what they are but for the sign: random, finite, no
# denormals, valid in every element type. A multiply by -1 and an add too small to change a bit are work like any other.
_PRESERVING: dict[str, tuple[Scale, ...]] = {"update": ("minus one",), "mixed": ("minus one", "tiny"), "triad": ("tiny",)}


class CpuDevice:
    """The cores this process may use. Raises ConfigError for an impossible thread count, KernelError without a compiler."""

    id = "cpu"
    kind: DeviceKind = "cpu"

    def __init__(self, threads: int | None = None, seed: int = 1) -> None:
        self.cpus = cpu_facts.chosen_cpus(threads)
        self._seed = seed
        self._compiler = find_compiler()
        self._pool = Pool(compile_runtime(self._compiler).library, self.cpus)
        self._kernels: dict[object, LoadedKernel | KernelError] = {}
        self._arenas: dict[str, Arena] = {}
        self._largest_bytes: dict[str, int] = {}
        self._levels = cpu_facts.cache_levels(self.cpus)
        self._operands: dict[tuple[str, tuple[Scale, ...] | None], NDArray[np.uint8]] = {}
        self._results = [aligned(OPERAND_VECTORS * MAX_VECTOR_BYTES) for _ in self.cpus]
        capacities = {level.name: level.capacity_bytes or 0 for level in self._levels[:-1]}
        self._last_cache_bytes = max(capacities.values(), default=0)
        self._private_bytes = max((size for name, size in capacities.items() if LEVELS[name].sharing == "core"), default=0)
        self.gate = QuietGate()
        self._placements = Placements()
        self._calibrate_gate()

    @property
    def threads(self) -> int:
        return len(self.cpus)

    def facts(self) -> dict[str, Json]:
        identity = cpu_facts.cpu_identity()
        limits = cpu_limits(identity)
        return {
            "id": self.id,
            "kind": self.kind,
            "vendor": identity.vendor,
            "name": identity.name,
            "uuid": cpu_facts.machine_uuid(),
            "family": identity.family,
            "model": identity.model,
            "stepping": identity.stepping,
            "microarchitecture": limits.name if limits else None,
            "vector_bytes": self._compiler.vector_bytes,
            "threads": self.threads,
            "cpus": list(self.cpus),
            "caches": [{"level": f.name, "capacity_bytes": f.capacity_bytes, "source": f.source} for f in self._levels[:-1]],
            "core_to_core_latency_s": self._core_to_core(),
            "placements": self._placement_facts(),
            "issue_width": self.gate.reference,
        }

    def environment(self) -> dict[str, Json]:
        return {
            "compiler": self._compiler.version,
            "compiler_command": " ".join(self._compiler.command),
            "compiler_flags": " ".join(self._compiler.flags),
            "governor": cpu_facts.governor(self.cpus),
            "virtual_machine": cpu_facts.is_virtual(),
            "huge_pages": cpu_facts.huge_pages_mode(),
        }

    def levels(self) -> Sequence[LevelFacts]:
        return self._levels

    def findings(self) -> Sequence[Finding]:
        _, cache_warning = cache_folder()
        return [cache_warning] if cache_warning else []

    def disturbance(self, sample: Sample, task: Task) -> float:
        """A neighbour on a core slows all work, memory's by 5 to 8 % on Zen 3; where the cores lie decides about what they share."""
        size = task.working_set_bytes or 0
        amount = 0.0
        if sample.issue_width is not None and sample.issue_width < self.gate.threshold:
            amount += 1 - sample.issue_width / (self.gate.reference or sample.issue_width)
        if not self.is_private(size) and sample.core_latency_s is not None and not self._placements.is_chosen(sample.core_latency_s):
            amount += 1
        return amount

    def core_threshold(self, task: Task) -> float | None:
        return self.gate.threshold if self.is_private(task.working_set_bytes or 0) and 1 < self.threads <= MOST_CORES_TOLD else None

    def is_private(self, working_set_bytes: int) -> bool:
        """Whether the caches of the single cores hold it."""
        return working_set_bytes <= self._private_bytes

    def is_cached(self, working_set_bytes: int) -> bool:
        """Whether any cache holds it."""
        return working_set_bytes <= self._last_cache_bytes

    def repeats_to_warm(self, working_set_bytes: int, bytes_walked: int) -> int:
        """Repeats, each over ``bytes_walked``, after which the caches are as in steady use."""
        if self.is_private(working_set_bytes):
            return 2
        wanted_bytes = _MEMORY_REACH * self._last_cache_bytes
        if self.is_cached(working_set_bytes):
            wanted_bytes = min(_SHARED_CACHE_REACH * self._last_cache_bytes, _SHARED_CACHE_PASSES * working_set_bytes)
        return max(2, math.ceil(wanted_bytes / bytes_walked))

    def unsupported_reason(self, kernel: Kernel, precision: str) -> str | None:
        return why_unsupported(self._compiler, kernel, precision)

    def least_bytes(self, task: Task) -> int:
        """Any: what is smaller than one trip of every thread becomes one trip."""
        return 0

    def make_ready(self, tasks: Sequence[Task]) -> None:
        variants = {
            v.key: v for v in map(_variant, tasks) if v.key not in self._kernels and not self.unsupported_reason(v.kernel, v.precision)
        }
        with ThreadPoolExecutor(max(1, self.threads)) as workers:
            for variant, loaded in zip(variants.values(), workers.map(self._try_load, variants.values()), strict=True):
                self._kernels[variant.key] = loaded
        for task in tasks:
            variant = _variant(task)
            if variant.kernel.levels and variant.key in self._kernels:
                element = _element(variant)
                self._largest_bytes[element] = max(self._largest_bytes.get(element, 0), task.working_set_bytes or 0)
        for element, largest in self._largest_bytes.items():
            self._arena(element).reserve(largest // self.threads + ARRAYS * PAGE_BYTES)

    def _try_load(self, variant: Variant) -> LoadedKernel | KernelError:
        try:
            return load_kernel(self._compiler, variant)
        except KernelError as error:
            return error

    def prepare(self, task: Task) -> PreparedCpu:
        if reason := self.unsupported_reason(task.kernel, task.precision):
            raise UnsupportedError(reason)
        variant = _variant(task)
        if variant.key not in self._kernels:
            self._kernels[variant.key] = self._try_load(variant)
        loaded = self._kernels[variant.key]
        if isinstance(loaded, KernelError):
            raise loaded
        return PreparedCpu(self, loaded, task.working_set_bytes)

    def limit(self, ceiling: CeilingKey, clock_hz: float | None) -> Limit | NoLimit:
        identity = cpu_facts.cpu_identity()
        limits = cpu_limits(identity)
        if limits is None:
            return NoLimit(why_no_cpu_limits(identity))
        if clock_hz is None:
            return NoLimit("the core clock was not measured")
        if ceiling.level is not None:
            per_cycle = limits.bytes_per_cycle(ceiling.level, ceiling.op, self._compiler.vector_bytes)
        else:
            per_cycle = limits.flop_per_cycle(ceiling.op, ceiling.precision or "", self._compiler.vector_bytes)
        if isinstance(per_cycle, NoLimit):
            return per_cycle
        return Limit(per_cycle.value * self.threads * clock_hz, per_cycle.source)

    def probe_cores(self, samples: int) -> NDArray[np.void]:
        """``Pool.probe`` of the cores in use."""
        return self._pool.probe(samples)

    def launch_overhead_s(self) -> float | None:
        table = np.zeros(1)
        nothing = [0] * self.threads
        times = []
        for _ in range(_LAUNCHES):
            start = time.perf_counter()
            self._pool.fill(nothing, nothing, table, 0)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def close(self) -> None:
        self._pool.close()
        for arena in self._arenas.values():
            with suppress(BufferError):
                arena.close()

    def arena_starts(self, variant: Variant, bytes_per_thread: int) -> Sequence[int]:
        return self._arena(_element(variant)).reserve(bytes_per_thread)

    def _arena(self, element: str) -> Arena:
        if element not in self._arenas:
            # What the sweep is going to walk; nobody told: as much as ``levels`` promised, though less may be available now.
            largest = self._largest_bytes.get(element) or self._levels[-1].capacity_bytes or 0
            self._arenas[element] = Arena(self._pool, largest // self.threads + ARRAYS * PAGE_BYTES, element, self._seed)
        return self._arenas[element]

    def operands_for(self, variant: Variant) -> NDArray[np.uint8]:
        scales = _PRESERVING.get(variant.kernel.op)
        key = (variant.precision, scales)
        if key not in self._operands:
            self._operands[key] = make_operands(variant.precision, self._compiler.vector_bytes, self._seed, scales)
        return self._operands[key]

    def run(self, loaded: LoadedKernel, jobs: Sequence[Job], samples: int, patience_s: float) -> NDArray[np.void]:
        stamps = self._pool.run(loaded.address, jobs, samples=samples, patience_s=patience_s, gate=self.gate.threshold)
        self.gate.learn(np.minimum(stamps["width_before"], stamps["width_after"]).ravel())
        return stamps

    def result_address(self, thread: int) -> int:
        return int(self._results[thread].ctypes.data)

    def _calibrate_gate(self) -> None:
        """Learn what an undisturbed core issues per cycle, from probes around empty calls."""
        stamps = self.probe_cores(_CALIBRATION_PROBES)
        self.gate.learn(np.concatenate([stamps["width_before"].ravel(), stamps["width_after"].ravel()]))

    def core_latency_s(self) -> float | None:
        """One-way latency between the first two cores now, None for a single one."""
        if self.threads == 1:
            return None
        latency_s = self._pool.ping_pong_s(0, 1, _LATENCY_ROUNDS) / 2
        self._placements.learn([latency_s])
        return latency_s

    def _core_to_core(self) -> list[Json]:
        """One-way latency of a cache line from the first core to each other one."""
        others = range(1, min(self.threads, _MOST_LATENCIES + 1))
        return [{"cpus": [self.cpus[0], self.cpus[i]], "latency_s": self._median_latency_s(i)} for i in others]

    def _median_latency_s(self, other: int) -> float:
        return statistics.median(self._pool.ping_pong_s(0, other) for _ in range(_PING_PONGS)) / 2

    def _placement_facts(self) -> list[Json]:
        """Where the first two cores lay during the run; shared levels are measured in the chosen placement."""
        chosen = self._placements.chosen()
        return [
            {"latency_s": [low, high], "share": share, "chosen": chosen is not None and chosen[0] == low}
            for low, high, share in self._placements.groups()
        ]


def _element(variant: Variant) -> str:
    """Element type of the data a kernel walks. Pairs of single-precision numbers are doubles, too, so both share one arena."""
    return "float16" if variant.precision == "fp16" else "float32"


def _variant(task: Task) -> Variant:
    return Variant(task.kernel, task.precision, {**task.kernel.defaults(), **task.parameters})


def probe() -> str | None:
    """Why the CPU cannot be swept, None if it can."""
    try:
        find_compiler()
    except KernelError as error:
        return str(error)
    return None


def list_devices() -> list[Listed]:
    """The host CPU, with the reason if it cannot be swept."""
    cpus = cpu_facts.usable_cpus()
    identity = cpu_facts.cpu_identity()
    return [Listed(CpuDevice.id, f"{identity.name or 'CPU'}, {len(cpus)} core{'s' * (len(cpus) != 1)}", probe())]


def lock_name(_device_id: str) -> str:
    """One for the whole host: sweeps on different cores share its memory, power and heat."""
    return CpuDevice.id


def open_device(device_id: str, options: Options) -> CpuDevice:
    """The host CPU. Raises DeviceError for any other id."""
    if device_id != CpuDevice.id:
        raise DeviceError(f"--device {device_id}: there is one CPU device, called '{CpuDevice.id}'.")
    return CpuDevice(options.threads, options.seed)
