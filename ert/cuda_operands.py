"""The seeded random data that CUDA kernels work on: what they start from, what they multiply by, what fills the arrays.

The layout is that of kernels_cu/common.cuh: OPERAND_BYTES of random numbers, then COEFFICIENT_ROWS rows of four coefficients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ert.kernels import Kernel
from ert.number_formats import Bits, bits_dtype, encode

OPERAND_BYTES = 1 << 20
COEFFICIENT_ROWS, COEFFICIENTS = 256, 4
REGISTER_BYTES = 4
INTEGERS = ("int32", "int8")


def elements_per_register(kernel: Kernel, precision: str) -> int:
    """How many numbers one chain of a kernel holds: two for packed pairs, four for bytes, else one."""
    if kernel.name == "fma_x2":
        return 2
    return max(REGISTER_BYTES // bits_dtype(precision).itemsize, 1)


def random_bits(count: int, precision: str, generator: np.random.Generator) -> Bits:
    """Standard normal numbers in a format; for integers all bits random."""
    dtype = bits_dtype(precision)
    if precision in INTEGERS:
        return generator.integers(0, np.iinfo(dtype).max, count, dtype=dtype, endpoint=True)
    return encode(generator.standard_normal(count), precision)


def operand_table(kernel: Kernel, precision: str, seed: int, *, zeros: bool = False) -> NDArray[np.uint8]:
    """The bytes of ``operands``. ``zeros``: only for the diagnostic figure that shows what friendly data would give."""
    generator = np.random.default_rng(seed)
    count = OPERAND_BYTES // bits_dtype(precision).itemsize
    table = np.zeros(count, bits_dtype(precision)) if zeros else random_bits(count, precision, generator)
    return np.concatenate([table.view(np.uint8), _coefficients(kernel, precision, generator).view(np.uint8).ravel()])


def _coefficients(kernel: Kernel, precision: str, generator: np.random.Generator) -> Bits:
    """(rows, 4, elements): a0 b0 a1 b1 of chains that stay bounded; factors and addends that undo each other for other operations."""
    shape = (COEFFICIENT_ROWS, COEFFICIENTS, elements_per_register(kernel, precision))
    if precision in INTEGERS:
        return random_bits(int(np.prod(shape)), precision, generator).reshape(shape)
    values = np.empty(shape)
    match kernel.op:
        case "add":
            values[:, 0] = generator.uniform(0.5, 1.5, shape[::2])
            values[:, 1:] = -values[:, :1]
        case "mul":
            values[:] = np.array([2.0, 0.5, 2.0, 0.5])[None, :, None]
        case "update":
            values[:] = -1.0
        case _:
            # |a| < 1 keeps v = a v + b bounded, and b far from 0 keeps it away from denormals.
            values[:, ::2] = -generator.uniform(0.55, 0.95, (shape[0], 2, shape[2]))
            values[:, 1::2] = generator.uniform(0.5, 1.5, (shape[0], 2, shape[2]))
    return encode(values, precision)
