"""The theoretical peak of a device, from what it says of itself and the clock it was measured at.

    compute         SMs or cores x operations per cycle x clock
    L1, shared, L2  bytes per cycle x clock (x SMs)
    DRAM            memory clock x 2 (double data rate) x bus width / 8; on a CPU channels x transfers/s x 8 B

A ceilings file carries such a limit beside each ceiling already; where it does not, the facts of ``device`` give it:
compute_capability, sm_count, memory_clock_hz, memory_bus_bits of a GPU; vendor, family, model, vector_bytes, threads,
dram_channels, dram_transfers_per_s of a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping

from ert.ceilings.kinds import BandwidthCeiling, ComputeCeiling
from ert.jsontypes import Json
from ert.limits import CpuIdentity, CpuLimits, GpuLimits, Limit, NoLimit, cpu_limits, gpu_limits, why_no_cpu_limits

# A DDR channel is 64 data bits wide.
_CHANNEL_BYTES = 8


def theoretical_rate(ceiling: ComputeCeiling, device: Mapping[str, Json]) -> Limit | NoLimit:
    """FLOP/s (integer: op/s) at the clock measured beside the ceiling."""
    if ceiling.limit is not None:
        return Limit(ceiling.limit, ceiling.limit_source or "limit in the ceilings file")
    limits = _limits(device, ceiling.limit_source)
    if isinstance(limits, NoLimit):
        return limits
    if isinstance(limits, CpuLimits):
        per_core = limits.flop_per_cycle(ceiling.op, ceiling.precision, _vector_bytes(device))
        return _scaled(per_core, "threads", ceiling.clock_hz, device)
    is_geforce = "geforce" in str(device.get("name")).casefold()
    return _scaled(limits.flop_per_cycle(ceiling.precision, ceiling.path, is_geforce=is_geforce), "sm_count", ceiling.clock_hz, device)


def theoretical_bandwidth(ceiling: BandwidthCeiling, device: Mapping[str, Json]) -> Limit | NoLimit:
    """byte/s; for caches at the clock measured beside the ceiling."""
    if ceiling.limit is not None:
        return Limit(ceiling.limit, ceiling.limit_source or "limit in the ceilings file")
    if ceiling.level == "DRAM":
        return theoretical_dram(device)
    limits = _limits(device, ceiling.limit_source)
    if isinstance(limits, NoLimit):
        return limits
    if isinstance(limits, CpuLimits):
        per_core = limits.bytes_per_cycle(ceiling.level, ceiling.op, _vector_bytes(device))
        return _scaled(per_core, "threads", ceiling.clock_hz, device)
    return _scaled(limits.bytes_per_cycle(ceiling.level), None if ceiling.level == "L2" else "sm_count", ceiling.clock_hz, device)


def theoretical_dram(device: Mapping[str, Json]) -> Limit | NoLimit:
    """byte/s at the pins of the memory."""
    clock_hz, bus_bits = _number(device, "memory_clock_hz"), _number(device, "memory_bus_bits")
    if clock_hz and bus_bits:
        return Limit(clock_hz * 2 * bus_bits / 8, f"{clock_hz / 1e6:.0f} MHz x 2 x {bus_bits:.0f} bit")
    channels, transfers = _number(device, "dram_channels"), _number(device, "dram_transfers_per_s")
    if channels and transfers:
        return Limit(channels * transfers * _CHANNEL_BYTES, f"{channels:.0f} channels x {transfers / 1e6:.0f} MT/s x 8 B")
    return NoLimit("the file does not say memory clock and bus width, or channels and transfer rate")


def _limits(device: Mapping[str, Json], why_none: str | None) -> CpuLimits | GpuLimits | NoLimit:
    """The table of the device's architecture; ``why_none``: what the ceilings file says of a missing limit."""
    capability = device.get("compute_capability")
    if isinstance(capability, str):
        return gpu_limits(capability) or NoLimit(f"unknown architecture: compute capability {capability} is not in limits/cuda.toml")
    family, model = device.get("family"), device.get("model")
    if isinstance(family, int) and isinstance(model, int):
        identity = CpuIdentity(str(device.get("vendor")), family, model, 0, str(device.get("name") or ""))
        return cpu_limits(identity) or NoLimit(why_no_cpu_limits(identity))
    return NoLimit(why_none or "the file carries no limit, and neither compute capability nor family and model of the device")


def _vector_bytes(device: Mapping[str, Json]) -> int:
    return int(_number(device, "vector_bytes") or 0)


def _scaled(per_cycle: Limit | NoLimit, count_key: str | None, clock_hz: float | None, device: Mapping[str, Json]) -> Limit | NoLimit:
    """Per cycle and unit -> per second and device."""
    if isinstance(per_cycle, NoLimit):
        return per_cycle
    count = _number(device, count_key) if count_key else 1.0
    if count is None:
        return NoLimit(f"the file does not say {count_key}")
    if clock_hz is None:
        return NoLimit("the clock was not measured")
    return Limit(per_cycle.value * count * clock_hz, per_cycle.source)


def _number(device: Mapping[str, Json], key: str) -> float | None:
    value = device.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
