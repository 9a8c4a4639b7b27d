"""The parts of the CUDA stack, one by one: which are there, which are missing, how to get each, and the state of the GPUs."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType

from ert.devices.cuda_monitor import Monitor, Reading, State, as_text
from ert.doctor.fact import Fact, Status, collect
from ert.errors import KernelError
from ert.nvcompile import find_compiler
from ert.sass import find_nvdisasm
from ert.units import with_prefix

# There are no wheels of it.
_PYCUDA = "pip install 'ert-roofline[cuda]' where a CUDA toolkit is; where only the driver is: python -m ert.pycuda_setup"


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver library: its CUDA version (12080 for 12.8) and how many GPUs it offers; ``error`` in its own words."""

    version: int | None
    gpus: int = 0
    error: str | None = None


def cuda_facts() -> list[Fact]:
    """Missing parts are worth a note where no GPU is; where one is, they are what keeps it from being swept."""
    driver = read_driver()
    missing: Status = "problem" if driver.gpus else "note"
    return [
        driver_fact(driver, os.environ.get("CUDA_VISIBLE_DEVICES")),
        *collect(
            [
                ("PyCUDA", lambda: _module("PyCUDA", "pycuda", _PYCUDA, missing)),
                ("NVML", lambda: _module("NVML", "pynvml", "pip install nvidia-ml-py", missing)),
                ("CUDA compiler", lambda: compiler_fact(missing)),
                ("nvdisasm", _nvdisasm),
            ]
        ),
        *_gpus(),
    ]


def read_driver() -> Driver:
    """Ask libcuda.so.1 itself; neither PyCUDA nor NVML is needed for this."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Driver(None, error="libcuda.so.1 is not on this machine")
    version, count = ctypes.c_int(), ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    code = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    return Driver(version.value, count.value, _words(library, code) if code else None)


def _words(library: ctypes.CDLL, code: int) -> str:
    text = ctypes.c_char_p()
    library.cuGetErrorString(code, ctypes.byref(text))
    return f"{(text.value or b'unknown error').decode()} (code {code})"


def driver_fact(driver: Driver, visible: str | None) -> Fact:
    """``visible``: CUDA_VISIBLE_DEVICES, which may be what hides the GPUs."""
    if driver.version is None:
        remedy = "only for NVIDIA GPUs: install the NVIDIA driver; in a container, start it with --gpus all"
        return Fact("driver", "note", driver.error or "none", remedy=remedy)
    text = f"for CUDA {driver.version // 1000}.{driver.version % 1000 // 10}, {driver.gpus} GPU{'s' * (driver.gpus != 1)}"
    if driver.error is None and driver.gpus:
        return Fact("driver", "ok", text, driver.version)
    hidden = f"CUDA_VISIBLE_DEVICES is '{visible}': unset it" if visible is not None else "`nvidia-smi` lists what the driver sees"
    return Fact("driver", "note", f"{text}: {driver.error or 'none visible'}", driver.version, hidden)


def _module(name: str, module: str, remedy: str, missing: Status) -> Fact:
    if importlib.util.find_spec(module) is None:
        return Fact(name, missing, f"Python module {module} is not installed", remedy=remedy)
    try:
        importlib.import_module(module)
    except ImportError as error:
        return Fact(name, missing, f"Python module {module} is there and cannot be imported: {error}", remedy=remedy)
    version = next(_versions(module), None)
    return Fact(name, "ok", f"module {module} {version or '(version unknown)'}", version)


def _versions(module: str) -> Iterator[str]:
    for distribution in {"pynvml": ("nvidia-ml-py", "pynvml")}.get(module, (module,)):
        with suppress(metadata.PackageNotFoundError):
            yield metadata.version(distribution)


def compiler_fact(missing: Status) -> Fact:
    """nvcc or NVRTC; both, where both are there."""
    try:
        find_compiler()
    except KernelError as error:
        reason, _, remedy = str(error).partition(" Try: ")
        return Fact("CUDA compiler", missing, reason, remedy=remedy)
    found = []
    for name in ("nvcc", "nvrtc"):
        with suppress(KernelError):
            found.append(find_compiler(name))
    names: list[str] = [compiler.version for compiler in found]
    return Fact("CUDA compiler", "ok", f"{' and '.join(names)}, for {found[0].supported[0]} to {found[0].supported[-1]}", [*names])


def _nvdisasm() -> Fact:
    try:
        path = find_nvdisasm()
    except KernelError as error:
        reason, _, remedy = str(error).partition(" Try: ")
        return Fact("nvdisasm", "note", f"{reason} Only `ert kernels --arch` needs it.", remedy=remedy)
    return Fact("nvdisasm", "ok", str(path), str(path))


def _gpus() -> list[Fact]:
    """One line a GPU, from NVML; nothing where NVML does not start, which the lines above explain."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return []
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return []
    try:
        return collect([(f"GPU {index}", _gpu_question(nvml, index)) for index in range(nvml.nvmlDeviceGetCount())])
    finally:
        nvml.nvmlShutdown()


def _gpu_question(nvml: ModuleType, index: int) -> Callable[[], Fact]:
    def ask() -> Fact:
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            uuid, name = (as_text(get(handle)) for get in (nvml.nvmlDeviceGetUUID, nvml.nvmlDeviceGetName))
        except nvml.NVMLError as error:
            return Fact(f"GPU {index}", "problem", str(error), remedy="`nvidia-smi` says more; a GPU that fell off the bus needs a restart")
        monitor = Monitor(uuid.removeprefix("GPU-"), "", os.getpid())
        return gpu_fact(f"GPU {index}", name, monitor.read(), monitor.state())

    return ask


def gpu_fact(label: str, name: str, reading: Reading, state: State) -> Fact:
    """Clock, power, temperature, and what would disturb a sweep: throttling and other programs."""
    parts = [name]
    if reading.clock_hz:
        parts.append(with_prefix(reading.clock_hz, "Hz"))
    if reading.power_w is not None:
        parts.append(f"{reading.power_w:.0f} W" + (f" of {state.power_limit_w:.0f} W" if state.power_limit_w else ""))
    if reading.temperature_c is not None:
        parts.append(f"{reading.temperature_c:.0f} C")
    others = state.other_processes or 0
    notes = [f"throttled by {', '.join(reading.throttled)}"] if reading.throttled else []
    notes += [f"{others} other program{'s' * (others != 1)} on it"] if others else []
    remedy = "`nvidia-smi` names the programs; `nvidia-smi -q -d PERFORMANCE,POWER` the limits" if notes else None
    value = [*reading.throttled]
    return Fact(label, "note" if notes else "ok", ", ".join(parts + notes), [*value], remedy)
