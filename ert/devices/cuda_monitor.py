"""What NVML says of a GPU beside the samples: clocks, power, temperature, and why it runs slower than it could.

NVML numbers devices in its own order, so a device is found by its UUID or PCI address. Whatever NVML does not tell is None;
``missing`` says why.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")

# nvml.h, nvmlClocksEventReasons; the first word is a bit.
REASONS: dict[int, str] = {
    0x1: "GpuIdle",
    0x2: "ApplicationsClocksSetting",
    0x4: "SwPowerCap",
    0x8: "HwSlowdown",
    0x10: "SyncBoost",
    0x20: "SwThermalSlowdown",
    0x40: "HwThermalSlowdown",
    0x80: "HwPowerBrakeSlowdown",
    0x100: "DisplayClockSetting",
}
_IDLE = 0x1
# A person's clock setting, other GPUs' clocks and an attached display are no throttling of this measurement.
THROTTLING = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
_NVML_CLOCK_SM, _NVML_CLOCK_MEMORY, _NVML_TEMPERATURE_GPU = 1, 2, 0
# nvml.h, NVML_VALUE_NOT_AVAILABLE: -1 in an unsigned number.
_NOT_AVAILABLE = 2**32 - 1
COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}


def reason_names(mask: int) -> tuple[str, ...]:
    """The words of a reason mask; bits that nobody has named yet as ``unknown:0x4000``."""
    named = tuple(name for bit, name in REASONS.items() if mask & bit)
    rest = mask & ~sum(REASONS)
    return named + ((f"unknown:{rest:#x}",) if rest else ())


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the device. Clocks of an idle device are None: they are not those of any measurement."""

    clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    reasons: int = 0

    @property
    def is_idle(self) -> bool:
        return bool(self.reasons & _IDLE)

    @property
    def throttled(self) -> tuple[str, ...]:
        return reason_names(self.reasons & THROTTLING)

    @property
    def held(self) -> tuple[str, ...]:
        """Why the clock is not the highest one, where that is no throttling; also what nobody has named yet."""
        return reason_names(self.reasons & ~THROTTLING & ~_IDLE)


@dataclass(frozen=True, slots=True)
class State:
    """What changes seldom: power limit, ECC, MIG and compute mode, driver, other programs on the device (None: not told)."""

    power_limit_w: float | None = None
    ecc: bool | None = None
    compute_mode: str | None = None
    persistence: bool | None = None
    driver_version: str | None = None
    other_pids: tuple[int, ...] | None = None

    @property
    def other_processes(self) -> int | None:
        return None if self.other_pids is None else len(self.other_pids)


class Monitor:
    """NVML for one device; without NVML every answer is None and ``missing`` has the reason.

    untold  what NVML was asked and did not say -> why
    """

    def __init__(self, uuid: str, pci_bus_id: str, own_pid: int) -> None:
        self.missing: str | None = None
        self.untold: dict[str, str] = {}
        self.is_parent = False
        self._own_pid = own_pid
        self._nvml, self._handle = self._open(uuid, pci_bus_id)

    def _open(self, uuid: str, pci_bus_id: str) -> tuple[ModuleType | None, object]:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError as error:
            self.missing = f"nvidia-ml-py cannot be imported ({error}): pip install nvidia-ml-py"
            return None, None
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            self.missing = f"NVML does not start: {error}"
            return None, None
        for find, key in (
            (nvml.nvmlDeviceGetHandleByUUID, f"GPU-{uuid}"),
            (nvml.nvmlDeviceGetHandleByUUID, f"MIG-{uuid}"),
            (nvml.nvmlDeviceGetHandleByPciBusId, pci_bus_id),
        ):
            try:
                handle = find(key.encode())
            except nvml.NVMLError as error:
                self.missing = f"NVML does not know the device: {error}"
                continue
            self.missing = None
            # Found only by its address: a slice of this device, which has no clocks of its own.
            self.is_parent = key == pci_bus_id
            return nvml, handle
        return None, None

    def _ask(self, what: str, question: Callable[[ModuleType], T]) -> T | None:
        """None for what this device, driver or user is not told; ``untold`` then has the reason."""
        if self._nvml is None:
            return None
        try:
            answer = question(self._nvml)
        except self._nvml.NVMLError as error:
            self.untold[what] = f"not available on this device: {error}"
        except AttributeError as error:
            self.untold[what] = f"not known to this nvidia-ml-py: {error}"
        else:
            self.untold.pop(what, None)
            return answer
        return None

    def _measure(self, what: str, unit: float, question: Callable[[ModuleType], int]) -> float | None:
        """A number that no working GPU has at 0, in multiples of ``unit``: 0 and -1 are how some drivers say that they do not know."""
        count = self._ask(what, question)
        if count is None or 0 < count < _NOT_AVAILABLE:
            return None if count is None else unit * count
        self.untold[what] = f"not available on this device: NVML answers {count}"
        return None

    def read(self) -> Reading:
        """Takes about a millisecond."""
        handle, measure = self._handle, self._measure
        reasons = self._ask("reasons", lambda n: int(n.nvmlDeviceGetCurrentClocksEventReasons(handle)))
        if reasons is None:
            reasons = self._ask("reasons", lambda n: int(n.nvmlDeviceGetCurrentClocksThrottleReasons(handle)))
        clock_hz = measure("clock_hz", 1e6, lambda n: n.nvmlDeviceGetClockInfo(handle, _NVML_CLOCK_SM))
        memory_clock_hz = measure("memory_clock_hz", 1e6, lambda n: n.nvmlDeviceGetClockInfo(handle, _NVML_CLOCK_MEMORY))
        is_idle = bool((reasons or 0) & _IDLE)
        return Reading(
            clock_hz=None if is_idle else clock_hz,
            memory_clock_hz=None if is_idle else memory_clock_hz,
            power_w=measure("power_w", 1e-3, lambda n: n.nvmlDeviceGetPowerUsage(handle)),
            temperature_c=measure("temperature_c", 1.0, lambda n: n.nvmlDeviceGetTemperature(handle, _NVML_TEMPERATURE_GPU)),
            reasons=reasons or 0,
        )

    def state(self) -> State:
        handle, ask = self._handle, self._ask
        mode = ask("compute_mode", lambda n: int(n.nvmlDeviceGetComputeMode(handle)))
        running = ask("other_processes", lambda n: [p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(handle)])
        return State(
            power_limit_w=self._measure("power_limit_w", 1e-3, lambda n: n.nvmlDeviceGetEnforcedPowerLimit(handle)),
            ecc=ask("ecc", lambda n: bool(n.nvmlDeviceGetEccMode(handle)[0])),
            compute_mode=None if mode is None else COMPUTE_MODES.get(mode, f"unknown:{mode}"),
            persistence=ask("persistence", lambda n: bool(n.nvmlDeviceGetPersistenceMode(handle))),
            driver_version=ask("driver", lambda n: as_text(n.nvmlSystemGetDriverVersion())),
            other_pids=None if running is None else tuple(pid for pid in running if pid != self._own_pid),
        )

    def close(self) -> None:
        self._ask("end", lambda n: n.nvmlShutdown())


def as_text(value: str | bytes) -> str:
    """Of an answer of NVML; older bindings return bytes."""
    return value.decode() if isinstance(value, bytes) else value
