"""The precisions: one row each, the same for every device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Precision:
    """name       as written in files
    bytes      size of one operand
    is_float   False: rates count integer operations
    c_type     element type of the CPU kernels, None where only intrinsics reach it
    cuda_type  element type of the CUDA kernels' vector path, None where there is none
    numpy      dtype of the operands in NumPy, None where NumPy has none
    """

    name: str
    bytes: int
    is_float: bool
    c_type: str | None
    cuda_type: str | None
    numpy: str | None


PRECISIONS: dict[str, Precision] = {
    p.name: p
    for p in (
        Precision("fp64", 8, True, "double", "double", "float64"),
        Precision("fp32", 4, True, "float", "float", "float32"),
        Precision("tf32", 4, True, None, None, None),
        Precision("fp16", 2, True, "_Float16", "half2", "float16"),
        Precision("bf16", 2, True, None, "__nv_bfloat162", None),
        Precision("fp8", 1, True, None, None, None),
        Precision("int32", 4, False, "int32_t", "int", "int32"),
        Precision("int16", 2, False, None, None, "int16"),
        Precision("int8", 1, False, None, "int", "int8"),
    )
}


def is_float(precision: str) -> bool:
    """False for integer precisions; one this version does not know counts as floating point."""
    return precision not in PRECISIONS or PRECISIONS[precision].is_float


def rate_unit(precision: str) -> str:
    """``FLOP/s``, or ``OP/s`` where the operations are on integers."""
    return "FLOP/s" if is_float(precision) else "OP/s"
