"""An NVIDIA GPU as a device, through PyCUDA: kernels compiled for it at run time, timed with its own events."""

from __future__ import annotations

import gc
import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import ModuleType
from typing import Any

from ert.cuda_operands import operand_table
from ert.devices import Listed, Options
from ert.devices.base import CeilingKey, LevelFacts, Operands, Sample, Task
from ert.devices.cuda_driver import current_context, in_words, load_driver, pop_contexts_above, reset_primary_context
from ert.devices.cuda_facts import GpuFacts, levels_of, limit_of, memory_budget_bytes, read_facts
from ert.devices.cuda_kernel import CudaVariant, LoadedKernel, lay_out, verify
from ert.devices.cuda_memory import CudaMemory
from ert.devices.cuda_monitor import Monitor, Reading
from ert.devices.cuda_prepared import PreparedCuda
from ert.errors import DeviceError, KernelError, LostError, MeasurementError, UnsupportedError
from ert.findings import Finding
from ert.hostcc import cache_folder
from ert.jsontypes import Json
from ert.kernels import DeviceKind, Kernel, load_kernels
from ert.limits import Limit, NoLimit
from ert.nvcompile import choose_target, compile_kernel, entry_name, find_compiler, macros, unmet_requirement
from ert.sass_check import vector_bytes

_OVERHEAD_LAUNCHES = 50


class CudaDevice:
    """One visible GPU, in its primary context, which other libraries in the process may share.

    Raises DeviceError if the device cannot be had, KernelError if there is no compiler for it.
    """

    kind: DeviceKind = "cuda"

    def __init__(self, index: int, seed: int = 1) -> None:
        self.id = f"cuda:{index}"
        self._driver = load_driver()
        if not 0 <= index < self._driver.Device.count():
            raise _absent(self.id, self._driver.Device.count())
        self._seed = seed
        with in_words(self._driver, self.id):
            self.gpu: GpuFacts = read_facts(self._driver, index)
        self._compiler = find_compiler(driver_api=self.gpu.driver_api)
        self._target = choose_target(self.gpu.capability, self._compiler)
        self._vector_bytes = vector_bytes(self._target.architecture)
        self._context: Any = None
        self._context_before = current_context()
        self._broken: str | None = None
        self._lost: str | None = None
        self._enter()
        self._monitor = Monitor(self.gpu.uuid, self.gpu.pci_bus_id, os.getpid())
        self._images: dict[object, bytes | KernelError] = {}

    def _enter(self) -> None:
        """Take the primary context and make it current; one that was current before comes back on close."""
        with in_words(self._driver, f"{self.id}: taking the device"):
            self._context = self._driver.Device(self.gpu.index).retain_primary_context()
            self._context.push()
            free_bytes, _ = self._driver.mem_get_info()
        self._budget_bytes = memory_budget_bytes(free_bytes)
        self._memory = CudaMemory(self._driver, self.id, self._budget_bytes, self._seed)
        self._loaded: dict[object, LoadedKernel] = {}

    def _leave(self) -> None:
        """Give back memory, code and context. Events and the like of a failed sample must be gone by now."""
        self._loaded.clear()
        self._memory.close()
        gc.collect()
        if self._context is not None:
            with suppress(self._driver.Error):
                self._driver.Context.pop()
                self._context.detach()
            self._context = None
        pop_contexts_above(self._context_before)

    def fail(self, error: Exception) -> None:
        """Note a driver error: it may stick to the context, so that the next task gets a fresh one."""
        self._broken = str(error)

    def _mend(self) -> None:
        """Throw away a context that failed and take a new one; if that fails, too, the device is lost for this process."""
        if self._lost:
            raise LostError(self._lost)
        if self._broken is None:
            return
        broken, self._broken = self._broken, None
        self._leave()
        try:
            if not reset_primary_context(self.gpu.index):
                raise DeviceError("it cannot be reset")
            self._enter()
        except DeviceError as failure:
            self._lost = f"{self.id}: lost after an error ({broken}): {failure}. A new process may have it again."
            raise LostError(self._lost) from failure

    @property
    def threads(self) -> int:
        return self.gpu.sms

    @property
    def driver(self) -> ModuleType:
        return self._driver

    @property
    def memory(self) -> CudaMemory:
        return self._memory

    def facts(self) -> dict[str, Json]:
        gpu, state = self.gpu, self._monitor.state()
        return {
            "id": self.id,
            "kind": self.kind,
            "vendor": "NVIDIA",
            "name": gpu.name,
            "uuid": gpu.full_uuid,
            "pci_bus_id": gpu.pci_bus_id,
            "compute_capability": f"{gpu.capability[0]}.{gpu.capability[1]}",
            "architecture": self._target.architecture,
            "vector_bytes": self._vector_bytes,
            "threads": gpu.sms,
            "sms": gpu.sms,
            "clock_max_hz": gpu.clock_hz or None,
            "memory_clock_max_hz": gpu.memory_clock_hz or None,
            "memory_bus_bits": gpu.memory_bus_bits or None,
            "memory_bytes": gpu.memory_bytes,
            "l2_bytes": gpu.l2_bytes,
            "l1_per_sm_bytes": gpu.l1_per_sm_bytes,
            "shared_per_sm_bytes": gpu.shared_per_sm_bytes,
            "is_mig": gpu.is_mig,
            "ecc": gpu.has_ecc if state.ecc is None else state.ecc,
            "power_limit_w": state.power_limit_w,
            "compute_mode": state.compute_mode,
            "persistence": state.persistence,
        }

    def environment(self) -> dict[str, Json]:
        state = self._monitor.state()
        return {
            "compiler": self._compiler.version,
            "driver": state.driver_version,
            "cuda_driver_api": self.gpu.driver_api,
            "other_processes": state.other_processes,
            "nvml": self._monitor.missing or "present",
            "nvml_not_available": dict(self._monitor.untold),
        }

    def levels(self) -> Sequence[LevelFacts]:
        return levels_of(self.gpu, self._budget_bytes)

    def findings(self) -> Sequence[Finding]:
        found = [cache_folder()[1]]
        if self._target.note:
            found.append(Finding("older_architecture", self._target.note, None, "install a newer CUDA compiler"))
        if self._monitor.missing:
            text = f"clocks, power and throttling are unknown: {self._monitor.missing}"
            found.append(Finding("no_nvml", text, None, "pip install nvidia-ml-py"))
        reading = self._monitor.read()
        if not self._monitor.missing and reading.clock_hz is None and not reading.is_idle:
            found.append(Finding("no_clocks", f"NVML tells no clock of {self.id}: shares of the limits stand at the highest clock"))
        if reading.held:
            text = f"the clocks of {self.id} are held by {', '.join(reading.held)}: they may be below the highest"
            found.append(Finding("clocks_held", text, reading.clock_hz, "nvidia-smi --reset-gpu-clocks, unless this is meant"))
        if self._monitor.is_parent:
            found.append(Finding("clocks_of_parent", "NVML knows only the whole GPU of this slice: clocks and power are those of the GPU"))
        if others := self._monitor.state().other_pids:
            text = f"{len(others)} other processes compute on {self.id} ({', '.join(map(str, others))}): results may be disturbed"
            found.append(Finding("device_shared", text, float(len(others)), "measure when the device is free"))
        return [finding for finding in found if finding]

    def disturbance(self, sample: Sample, task: Task) -> float:
        """Throttling is in the sample itself; nothing else is known to disturb."""
        return 0.0

    def core_threshold(self, task: Task) -> float | None:
        return None

    def unsupported_reason(self, kernel: Kernel, precision: str) -> str | None:
        return unmet_requirement(kernel, precision, self._target)

    def least_bytes(self, task: Task) -> int:
        return self.variant(task).least_bytes(self.gpu.sms)

    def limit(self, ceiling: CeilingKey, clock_hz: float | None) -> Limit | NoLimit:
        return limit_of(self.gpu, ceiling, clock_hz)

    def variant(self, task: Task) -> CudaVariant:
        return CudaVariant(task.kernel, task.precision, {**task.kernel.defaults(), **task.parameters}, self._vector_bytes)

    def make_ready(self, tasks: Sequence[Task]) -> None:
        able = [task for task in tasks if not self.unsupported_reason(task.kernel, task.precision)]
        variants = {variant.key: variant for variant in map(self.variant, able)}
        with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as workers:
            for key, image in zip(variants, workers.map(self._try_compile, variants.values()), strict=True):
                self._images[key] = image
        with suppress(DeviceError):
            self._memory.reserve(min(max((task.working_set_bytes or 0 for task in able), default=0), self._memory.budget_bytes))

    def _try_compile(self, variant: CudaVariant) -> bytes | KernelError:
        definitions = macros(variant.kernel, variant.precision, variant.parameters, variant.vector_bytes)
        try:
            return compile_kernel(variant.kernel, definitions, self._target, self._compiler, cache_folder()[0] / "cubins")
        except KernelError as error:
            return error

    def prepare(self, task: Task) -> PreparedCuda:
        self._mend()
        if reason := self.unsupported_reason(task.kernel, task.precision):
            raise UnsupportedError(reason)
        variant = self.variant(task)
        grid = lay_out(variant, self.gpu.sms, task.working_set_bytes)
        if variant.threads * variant.blocks_per_sm > self.gpu.threads_per_sm:
            raise UnsupportedError(f"{variant.label}: more threads than the {self.gpu.threads_per_sm} an SM holds")
        try:
            return PreparedCuda(self, self._load(variant), grid, task.operands)
        except self._driver.Error as error:
            self.fail(error)
            raise DeviceError(f"{self.id}: {variant.label}: {error}") from error

    def _load(self, variant: CudaVariant) -> LoadedKernel:
        if variant.key not in self._images:
            self._images[variant.key] = self._try_compile(variant)
        image = self._images[variant.key]
        if isinstance(image, KernelError):
            raise image
        if variant.key not in self._loaded:
            loaded = LoadedKernel(self._driver, variant, image, entry_name(variant.kernel, variant.precision))
            verify(self._driver, loaded, operand_table(variant.kernel, variant.precision, self._seed), self._seed)
            self._loaded[variant.key] = loaded
        return self._loaded[variant.key]

    def operands(self, variant: CudaVariant, what: Operands) -> int:
        """The address of a kernel's operands, made once for a kernel and precision."""
        table = operand_table(variant.kernel, variant.precision, self._seed, zeros=what == "zeros")
        return self._memory.put(f"{variant.kernel.name}/{variant.precision}/{what}", table)

    def launch_overhead_s(self) -> float | None:
        kernel = load_kernels("cuda")["empty"]
        try:
            prepared = self.prepare(Task(kernel, kernel.precisions[0]))
            times = [sample.time_s for sample in prepared.sample(1, _OVERHEAD_LAUNCHES)]
        except (DeviceError, KernelError, MeasurementError):
            return None
        return statistics.median(times)

    def read_monitor(self) -> Reading:
        return self._monitor.read()

    def close(self) -> None:
        self._leave()
        self._monitor.close()


def list_devices() -> list[Listed]:
    """Every visible GPU; one entry with the reason if none can be used."""
    try:
        driver = load_driver()
        with in_words(driver, "cuda"):
            gpus = [read_facts(driver, index) for index in range(driver.Device.count())]
    except DeviceError as error:
        return [Listed("cuda", "NVIDIA GPU", str(error))]
    return [Listed(f"cuda:{gpu.index}", f"{gpu.name}, {gpu.sms} SMs, {gpu.full_uuid}", _why_not(gpu)) for gpu in gpus]


def _why_not(gpu: GpuFacts) -> str | None:
    if gpu.is_prohibited:
        return f"its compute mode is Prohibited. An administrator can allow it: nvidia-smi -i {gpu.full_uuid} -c DEFAULT"
    try:
        choose_target(gpu.capability, find_compiler(driver_api=gpu.driver_api))
    except KernelError as error:
        return str(error)
    return None


def open_device(device_id: str, options: Options) -> CudaDevice:
    """``cuda:N``, or the UUID of a GPU or MIG slice (its beginning is enough). Raises DeviceError if there is no such device."""
    if options.threads is not None:
        raise DeviceError(f"--threads is for the CPU; a GPU is always measured with all its SMs ({device_id}).")
    return CudaDevice(_find(device_id).index, options.seed)


def lock_name(device_id: str) -> str:
    """The UUID of the GPU or slice: under a launcher that gives every process one GPU, each of them is ``cuda:0``."""
    return _find(device_id).full_uuid


def _find(device_id: str) -> GpuFacts:
    """The visible device of this number or UUID. Raises DeviceError if there is not exactly one."""
    driver = load_driver()
    with in_words(driver, device_id):
        gpus = [read_facts(driver, index) for index in range(driver.Device.count())]
    kind, _, rest = device_id.partition(":")
    if kind == "cuda" and rest.isdigit():
        if int(rest) >= len(gpus):
            raise _absent(device_id, len(gpus))
        return gpus[int(rest)]
    wanted = device_id.removeprefix("GPU-").removeprefix("MIG-")
    found = [gpu for gpu in gpus if wanted and gpu.uuid.startswith(wanted)]
    if len(found) != 1:
        raise DeviceError(f"--device {device_id}: {len(found)} devices match. Here are: {', '.join(gpu.full_uuid for gpu in gpus)}.")
    return found[0]


def _absent(device_id: str, visible: int) -> DeviceError:
    return DeviceError(f"--device {device_id}: there is no such device; {visible} can be seen (`ert devices`).")
