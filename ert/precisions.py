"""The precisions: one row each, the same for every device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ert.units import SYMBOLS


@dataclass(frozen=True, slots=True)
class Precision:
    """name      as written in files
    bytes     size of one operand
    is_float  False: rates count integer operations
    c_type    element type of the CPU kernels, None where only intrinsics reach it
    numpy     dtype of the operands in NumPy, None where NumPy has none
    """

    name: str
    bytes: int
    is_float: bool
    c_type: str | None
    numpy: str | None


PRECISIONS: dict[str, Precision] = {
    p.name: p
    for p in (
        Precision("fp64", 8, True, "double", "float64"),
        Precision("fp32", 4, True, "float", "float32"),
        Precision("tf32", 4, True, None, None),
        Precision("fp16", 2, True, "_Float16", "float16"),
        Precision("bf16", 2, True, None, None),
        Precision("fp8", 1, True, None, None),
        Precision("int32", 4, False, "int32_t", "int32"),
        Precision("int16", 2, False, None, "int16"),
        Precision("int8", 1, False, None, "int8"),
    )
}


def is_float(precision: str) -> bool:
    """False for integer precisions, also of other tools (int64, uint4); any other unknown one counts as floating point."""
    if precision in PRECISIONS:
        return PRECISIONS[precision].is_float
    return not precision.startswith(("int", "uint"))


def precision_rank(precision: str) -> int:
    """Its place in the order of PRECISIONS; those of other tools follow all of them."""
    names = list(PRECISIONS)
    return names.index(precision) if precision in PRECISIONS else len(names)


def si_rate_unit(precision: str) -> Literal["flop/s", "op/s"]:
    """The unit of its rates in files: ``op/s`` where the operations are on integers."""
    return "flop/s" if is_float(precision) else "op/s"


def rate_unit(precision: str) -> str:
    """The same as people read it."""
    return SYMBOLS[si_rate_unit(precision)]
