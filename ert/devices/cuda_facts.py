"""What the driver says of a GPU, and what follows from it: its levels, its physical limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ert.devices.base import CeilingKey, LevelFacts
from ert.devices.cuda_driver import uuid_of
from ert.limits import Limit, NoLimit, gpu_limits

# Unified data cache per SM by compute capability (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability");
# the driver does not tell it. Kernels that use no shared memory get nearly all of it as L1.
_L1_BYTES = {
    (7, 0): 128 << 10,
    (7, 5): 96 << 10,
    (8, 0): 192 << 10,
    (8, 6): 128 << 10,
    (8, 7): 192 << 10,
    (8, 9): 128 << 10,
    (9, 0): 256 << 10,
    (10, 0): 256 << 10,
    (10, 3): 256 << 10,
    (11, 0): 256 << 10,
    (12, 0): 128 << 10,
    (12, 1): 128 << 10,
}
# Left to the driver, the display and other contexts.
MEMORY_MARGIN_BYTES = 256 << 20
MEMORY_SHARE = 0.9
_ADDITION_PER_FMA = 0.5
# cuda.h, CUcomputemode: no program may have a context on the device.
_PROHIBITED = 2


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """Clocks are the highest the driver lets the device run at; memory is for the whole device, L1 and shared for one SM.

    Clocks and the width of the bus are 0 where the driver does not tell them (CUDA 13 took them out of the runtime's properties).
    """

    index: int
    name: str
    uuid: str
    pci_bus_id: str
    capability: tuple[int, int]
    sms: int
    threads_per_sm: int
    clock_hz: float
    memory_clock_hz: float
    memory_bus_bits: int
    memory_bytes: int
    l2_bytes: int
    shared_per_sm_bytes: int
    l1_per_sm_bytes: int | None
    has_ecc: bool
    driver_api: int
    is_prohibited: bool = False

    @property
    def is_mig(self) -> bool:
        return " MIG " in f" {self.name} "

    @property
    def full_uuid(self) -> str:
        """As NVIDIA's own tools print it."""
        return f"{'MIG' if self.is_mig else 'GPU'}-{self.uuid}"

    @property
    def theoretical_dram_bytes_per_s(self) -> float | None:
        """Two transfers per memory clock, as the driver counts clocks of every DRAM it knows; None if it tells no clock."""
        rate = 2 * self.memory_clock_hz * self.memory_bus_bits / 8
        return rate or None


def read_facts(driver: ModuleType, index: int) -> GpuFacts:
    """Raises the driver's error if the device does not answer."""
    device = driver.Device(index)
    attribute = driver.device_attribute
    capability = tuple(device.compute_capability())
    return GpuFacts(
        index=index,
        name=device.name(),
        uuid=uuid_of(index),
        pci_bus_id=device.pci_bus_id(),
        capability=(capability[0], capability[1]),
        sms=device.get_attribute(attribute.MULTIPROCESSOR_COUNT),
        threads_per_sm=device.get_attribute(attribute.MAX_THREADS_PER_MULTIPROCESSOR),
        clock_hz=1e3 * _told(driver, device, "CLOCK_RATE"),
        memory_clock_hz=1e3 * _told(driver, device, "MEMORY_CLOCK_RATE"),
        memory_bus_bits=_told(driver, device, "GLOBAL_MEMORY_BUS_WIDTH"),
        memory_bytes=device.total_memory(),
        l2_bytes=device.get_attribute(attribute.L2_CACHE_SIZE),
        shared_per_sm_bytes=device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        l1_per_sm_bytes=_L1_BYTES.get((capability[0], capability[1])),
        has_ecc=bool(device.get_attribute(attribute.ECC_ENABLED)),
        driver_api=driver.get_driver_version(),
        is_prohibited=int(device.get_attribute(attribute.COMPUTE_MODE)) == _PROHIBITED,
    )


def _told(driver: ModuleType, device: Any, name: str) -> int:
    """An attribute that a driver may have dropped; 0 if it has."""
    try:
        return int(device.get_attribute(getattr(driver.device_attribute, name)))
    except (driver.Error, AttributeError):
        return 0


def memory_budget_bytes(free_bytes: int) -> int:
    """What a sweep may take of the memory that is free now."""
    return max(0, min(int(MEMORY_SHARE * free_bytes), free_bytes - MEMORY_MARGIN_BYTES))


def levels_of(facts: GpuFacts, budget_bytes: int) -> Sequence[LevelFacts]:
    """L1 of all SMs together, L2, and the memory a sweep may take."""
    l1 = facts.l1_per_sm_bytes * facts.sms if facts.l1_per_sm_bytes else None
    per_sm = f"{facts.sms} SMs" if l1 else f"unknown for compute capability {facts.capability[0]}.{facts.capability[1]}"
    return (
        LevelFacts("L1", l1, f"CUDA C++ Programming Guide, {per_sm}"),
        LevelFacts("L2", facts.l2_bytes or None, "CUDA driver, L2_CACHE_SIZE"),
        LevelFacts("DRAM", budget_bytes, "CUDA driver, free memory less a margin"),
    )


def limit_of(facts: GpuFacts, ceiling: CeilingKey, clock_hz: float | None) -> Limit | NoLimit:
    """byte/s or op/s that the hardware cannot exceed at this SM clock; without a measured clock at the highest one."""
    if ceiling.level == "DRAM":
        rate = facts.theoretical_dram_bytes_per_s
        source = "CUDA driver: two transfers per clock of the memory, times the bus width"
        return Limit(rate, source) if rate else NoLimit("the driver tells no memory clock or bus width")
    capability = f"{facts.capability[0]}.{facts.capability[1]}"
    table = gpu_limits(capability)
    if table is None:
        return NoLimit(f"no limits are known for compute capability {capability}; add it to configs/limits/cuda.toml")
    if ceiling.level is not None:
        per_cycle = table.bytes_per_cycle(ceiling.level)
        units = 1 if ceiling.level == "L2" else facts.sms
    else:
        per_cycle = table.flop_per_cycle(ceiling.precision or "", ceiling.path, is_geforce="GeForce" in facts.name)
        units = facts.sms
    if isinstance(per_cycle, NoLimit):
        return per_cycle
    if not (clock_hz or facts.clock_hz):
        return NoLimit("neither the driver nor NVML tells a clock")
    share = _ADDITION_PER_FMA if ceiling.op in ("add", "mul") else 1.0
    source = per_cycle.source if clock_hz else f"{per_cycle.source}; at the highest clock, for the measured one is unknown"
    return Limit(per_cycle.value * share * units * (clock_hz or facts.clock_hz), source)
