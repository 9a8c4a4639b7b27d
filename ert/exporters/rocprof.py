"""``rocprof``: roofline.csv of rocprof-compute, one row for one device, in the layout since MALL and MFMA F4.

GB/s and GFLOP/s are decimal; 0 is the format's word for "not measured". Source: roofline.cpp of ROCm/rocm-amdgpu-bench.
"""

from __future__ import annotations

from ert.ceilings import Ceilings
from ert.ceilings.kinds import Ceiling
from ert.exporters.base import Export, other_than_roofs
from ert.units import GIGA

_LEVELS = {"HBMBw": "DRAM", "MALLBw": None, "L2Bw": "L2", "L1Bw": "L1", "LDSBw": "shared"}
_RATES: dict[str, tuple[str, str] | None] = {
    "FP16Flops": ("fp16", "vector"),
    "FP32Flops": ("fp32", "vector"),
    "FP64Flops": ("fp64", "vector"),
    "I8Ops": ("int8", "vector"),
    "I32Ops": ("int32", "vector"),
    "I64Ops": None,
    "MFMAF4Flops": None,
    "MFMAF6Flops": None,
    "MFMAF8Flops": ("fp8", "tensor"),
    "MFMAF16Flops": ("fp16", "tensor"),
    "MFMABF16Flops": ("bf16", "tensor"),
    "MFMAF32Flops": ("fp32", "tensor"),
    "MFMAF64Flops": ("fp64", "tensor"),
    "MFMAI8Ops": ("int8", "tensor"),
}
# The one column whose name the writers of the format misspell, in every version.
_MISSPELT = {"HBMBwHigh": "hbmBwHigh"}


def write(ceilings: Ceilings) -> Export:
    """The roofs; ``device`` is 0, since a ceilings file holds one device."""
    found: dict[str, Ceiling | None] = {column: ceilings.bandwidth_roofs.get(level) if level else None for column, level in _LEVELS.items()}
    found |= {column: ceilings.compute_roofs.get(key) if key else None for column, key in _RATES.items()}
    header, row = ["device"], ["0"]
    for column, ceiling in found.items():
        header += [_MISSPELT.get(name, name) for name in (column, f"{column}Low", f"{column}High")]
        row += _triple(ceiling)
    return Export(f"{','.join(header)}\n{','.join(row)}\n", tuple(_left_out(ceilings)))


def _triple(ceiling: Ceiling | None) -> list[str]:
    """Value, lower and upper end."""
    if ceiling is None:
        return ["0", "0.00", "0.00"]
    low, high = ceiling.ci95 or (0.0, 0.0)
    return [f"{number / GIGA:.2f}" for number in (ceiling.value, low, high)]


def _left_out(ceilings: Ceilings) -> list[str]:
    levels = [level for level in ceilings.bandwidth_roofs if level not in _LEVELS.values()]
    rates = [f"{p} {path}" for p, path in ceilings.compute_roofs if (p, path) not in _RATES.values()]
    lines = [f"{', '.join(levels + rates)}: no column"] if levels or rates else []
    return lines + other_than_roofs(ceilings)
