"""A synthetic GPU with round numbers, not a real one: DRAM 2, L2 5, L1 20 TB/s; fp64 10, fp32 20, fp16 40 TFLOP/s, 300 on tensor cores."""

from __future__ import annotations

from make_ceilings import make_ceilings

EXAMPLE_GPU = make_ceilings(
    {"L1": 20e12, "L2": 5e12, "DRAM": 2e12},
    {
        ("fp64", "vector"): 10e12,
        ("fp32", "vector"): 20e12,
        ("fp16", "vector"): 40e12,
        ("fp64", "tensor"): 20e12,
        ("fp16", "tensor"): 300e12,
    },
    name="Example GPU X",
)
