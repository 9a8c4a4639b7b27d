"""Devices to plant in the soft driver, and the environment of a process that sees them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from softcuda.build import cache_folder, driver_folder
from softcuda.build_pycuda import site_folder


@dataclass(frozen=True)
class SoftDevice:
    """What a device says of itself (``says``), and the ceilings its virtual clock obeys (``ceilings``: byte/s, FLOP/s, s)."""

    name: str
    says: Mapping[str, float]
    ceilings: Mapping[str, float]
    uuid: str = "11111111-2222-3333-4444-555555555555"
    pci: str = "0000:65:00.0"

    def text(self) -> str:
        words = {"name": self.name, "uuid": self.uuid, "pci": self.pci, **self.says, **self.ceilings}
        return ",".join(f"{key}={value}" for key, value in words.items())


# Sizes and clocks as the makers publish them; the ceilings are round numbers below what such a device can reach, so that a test
# does not pass because a limit was printed instead of a measurement.
A100_LIKE = SoftDevice(
    "A100-like soft device",
    {
        "cc": 80,
        "sms": 108,
        "clock": 1410000,
        "memclock": 1512000,
        "bus": 5120,
        "l2": 40 << 20,
        "l1": 192 << 10,
        "smem": 164 << 10,
        "mem": 80e9,
        "ecc": 1,
    },
    {"lat_l1": 26e-9, "lat_l2": 200e-9, "lat_dram": 480e-9}
    | {"overhead": 2.5e-6, "dram": 1.8e12, "dram_write": 1.75e12, "l2bw": 5.1e12, "l1bw": 19e12, "smembw": 18.9e12}
    | {"fp64": 9.5e12, "fp32": 19e12, "fp16": 76e12, "bf16": 38e12, "int32": 19e12, "int8": 76e12}
    | {"mma_fp64": 19e12, "mma_tf32": 150e12, "mma_fp16": 300e12, "mma_bf16": 299e12, "mma_int8": 600e12},
)
H200_LIKE = SoftDevice(
    "H200-like soft device",
    {
        "cc": 90,
        "sms": 132,
        "clock": 1980000,
        "memclock": 3201000,
        "bus": 6144,
        "l2": 60 << 20,
        "l1": 256 << 10,
        "smem": 228 << 10,
        "mem": 141e9,
        "ecc": 1,
    },
    {"lat_l1": 20e-9, "lat_l2": 140e-9, "lat_dram": 450e-9}
    | {"overhead": 2e-6, "dram": 4.4e12, "dram_write": 4.3e12, "l2bw": 9.7e12, "l1bw": 32e12, "smembw": 31.5e12}
    | {"fp64": 33e12, "fp32": 66e12, "fp16": 130e12, "bf16": 129e12, "int32": 33e12, "int8": 130e12}
    | {"mma_fp64": 60e12, "mma_tf32": 400e12, "mma_fp16": 810e12, "mma_bf16": 800e12, "mma_fp8": 1600e12, "mma_int8": 1590e12},
)
RTX4090_LIKE = SoftDevice(
    "GeForce 4090-like soft device",
    {
        "cc": 89,
        "sms": 128,
        "clock": 2520000,
        "memclock": 10501000,
        "bus": 384,
        "l2": 72 << 20,
        "l1": 128 << 10,
        "smem": 100 << 10,
        "mem": 24e9,
    }
    | {"threads_per_sm": 1536, "power_limit": 450},
    {"lat_l1": 15e-9, "lat_l2": 110e-9, "lat_dram": 300e-9}
    | {"overhead": 3e-6, "dram": 0.95e12, "dram_write": 0.93e12, "l2bw": 4.9e12, "l1bw": 40e12, "smembw": 39e12}
    | {"fp64": 1.25e12, "fp32": 80e12, "fp16": 79e12, "bf16": 78e12, "int32": 40e12, "int8": 160e12}
    | {"mma_tf32": 80e12, "mma_fp16": 160e12, "mma_bf16": 159e12, "mma_fp8": 320e12, "mma_int8": 640e12},
)


def environment(devices: Sequence[SoftDevice], *, faults: str = "", nvml: str = "present") -> dict[str, str]:
    """Of a process whose driver is the soft one. ``nvml``: present, absent, unsupported or forbidden."""
    folder = driver_folder()
    kept = {
        key: value for key, value in os.environ.items() if key not in ("CUDA_VISIBLE_DEVICES", "SOFTCUDA_FAULTS", "SOFTCUDA_NVML", "NVCC")
    }
    library_folder = folder if nvml != "absent" else folder / "only-cuda"
    return kept | {
        "LD_LIBRARY_PATH": str(library_folder),
        "PYTHONPATH": str(site_folder()),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "SOFTCUDA_DEVICES": ";".join(device.text() for device in devices) or "none",
        "SOFTCUDA_FAULTS": faults,
        "SOFTCUDA_NVML": nvml,
        "ERT_CACHE_DIR": str(cache_folder() / "ert"),
    }
