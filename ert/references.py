"""What each operation must compute, in NumPy: the witness every CPU kernel is held against before it is timed.

Expected values follow from the operation's definition alone. A wrong number of operations shows in the
result, since each multiply-add moves the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
Numbers = NDArray[np.number]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the kernel was given and how much of it to do.

    arrays    the arrays before the run, each (n,) of the element type
    operands  (k, lanes): a, b and start values, in the element type
    steps     multiply-adds (or dot products) per chain for kernels in registers
    chains    independent chains; for fma+add (fma chains, add chains)
    flops     operations per element, mixed kernels
    """

    arrays: Sequence[Array]
    operands: Array
    steps: int = 0
    chains: Sequence[int] = ()
    flops: int = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """The arrays after the run and the result vectors (m, lanes); ``tolerance`` is relative, 0 for bit equality."""

    arrays: Sequence[Array]
    result: Array | None
    tolerance: float = 0.0


# The references round to the kernel's type after every operation, as the hardware does: 512 steps in fp16 drift by 10 % from a chain
# in double precision. What is left is a product rounded on its own where there is no fused multiply-add, times the longest chain.
_TOLERANCE = {"float64": 1e-11, "float32": 1e-4, "float16": 5e-3}


def _tolerance(dtype: np.dtype[np.generic]) -> float:
    return _TOLERANCE.get(dtype.name, 0.0)


def read(given: Inputs) -> Expected:
    """The exclusive or of all vectors."""
    bits = given.arrays[0].view(np.uint64)
    lanes = given.operands.view(np.uint64).shape[-1]
    return Expected(given.arrays, np.bitwise_xor.reduce(bits.reshape(-1, lanes), axis=0)[None, :])


def write(given: Inputs) -> Expected:
    """The first eight operand vectors, again and again."""
    patterns = given.operands[:8].ravel()
    return Expected([np.resize(patterns, given.arrays[0].shape)], None)


def copy(given: Inputs) -> Expected:
    """c[i] = a[i]."""
    return Expected([given.arrays[0], given.arrays[0]], None)


def triad(given: Inputs) -> Expected:
    """c[i] = a[i] + s * b[i]."""
    a, b, _ = given.arrays
    scale = np.resize(given.operands[0], b.shape)
    return Expected([a, b, a + scale * b], None, _tolerance(a.dtype))


def update(given: Inputs) -> Expected:
    """a[i] = s * a[i]."""
    a = given.arrays[0]
    return Expected([np.resize(given.operands[0], a.shape) * a], None, _tolerance(a.dtype))


def mixed(given: Inputs) -> Expected:
    """``flops`` operations on each element, all as x = x * a + b; where the count is odd, one more of these on every other vector."""
    narrow = given.arrays[0].dtype
    a, b = (_wide(operand) for operand in given.operands[:2])
    x = _wide(given.arrays[0]).reshape(-1, a.size).copy()
    if given.flops % 2:
        x[::2] = (x[::2] * a + b).astype(narrow)
    for _ in range(given.flops // 2):
        x = _wide((x * a + b).astype(narrow))
    return Expected([x.ravel().astype(narrow)], None, _tolerance(narrow))


def fma(given: Inputs) -> Expected:
    """Independent chains of x = x * a + b."""
    return Expected((), _chain(given, 2, given.chains[0], multiply=True), _tolerance(given.operands.dtype))


def fma_add(given: Inputs) -> Expected:
    """Chains of x = x * a + a beside chains of y = y + a, the same number of both operations."""
    fma_chains, add_chains = given.chains
    each = fma_chains * given.steps
    # The kernel keeps one constant for both kinds of chain: a is also what is added.
    operands = np.vstack([given.operands[:1], given.operands[:1], given.operands[2:]])
    x = _chain(Inputs((), operands, given.steps), 2, fma_chains, multiply=True)
    y = _chain(Inputs((), operands, each // add_chains), 2 + fma_chains, add_chains, multiply=False)
    return Expected((), np.vstack([x, y]), _tolerance(given.operands.dtype))


def _chain(given: Inputs, first: int, chains: int, *, multiply: bool) -> Array:
    """x = x * a + b (or x = x + b), ``steps`` times on ``chains`` vectors from operand ``first`` on; integers wrap."""
    narrow = given.operands.dtype
    wide = _wide(given.operands)
    a, b, x = wide[0], wide[1], wide[first : first + chains]
    with np.errstate(over="ignore"):
        for _ in range(given.steps):
            x = _wide((x * a + b if multiply else x + b).astype(narrow))
    return x.astype(narrow)


def _wide(values: Array) -> Numbers:
    """Floating point in double precision; integers as they are, so that they wrap like the hardware's."""
    return values.astype(np.float64) if values.dtype.kind == "f" else cast(Numbers, values)


@dataclass(frozen=True, slots=True)
class Reference:
    """compute: one pass over the arrays; arrays, chains: how many of either its kernels must have."""

    compute: Callable[[Inputs], Expected]
    arrays: int = 0
    chains: int = 0

    def passes(self, given: Inputs, count: int) -> Expected:
        """What ``count`` passes leave behind: each works on what the one before left, and a checksum goes on over all of them."""
        found = self.compute(given)
        for _ in range(count - 1):
            again = self.compute(replace(given, arrays=found.arrays))
            sums = None if found.result is None or again.result is None else found.result.view(np.uint64) ^ again.result.view(np.uint64)
            found = replace(again, result=sums)
        return found


REFERENCES: dict[str, Reference] = {
    "read": Reference(read, arrays=1),
    "write": Reference(write, arrays=1),
    "copy": Reference(copy, arrays=2),
    "triad": Reference(triad, arrays=3),
    "update": Reference(update, arrays=1),
    "mixed": Reference(mixed, arrays=1),
    "fma": Reference(fma, chains=1),
    "fma+add": Reference(fma_add, chains=2),
}


def dot(operands: NDArray[np.uint8], precision: str, steps: int, chains: int) -> Expected:
    """Sums (chains, lanes) after ``steps`` dot products of operand 0 with operand 1 (rows of raw bytes) per 32-bit lane.

    int8: unsigned times signed on x86 (vpdpbusd); operands below 128 make both readings agree, so aarch64's sdot is the same.
    Integers wrap and agree to the bit; how bf16's pairs are rounded into a single-precision sum differs between vendors.
    """
    if precision == "bf16":
        a, b = ((row.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64) for row in operands[:2])
        start = operands[2 : 2 + chains].view(np.float32).astype(np.float64)
        sums = (start + steps * (a * b).reshape(-1, 2).sum(axis=1)).astype(np.float32)
        return Expected((), sums, _tolerance(sums.dtype))
    narrow, per_lane = (np.int16, 2) if precision == "int16" else (np.int8, 4)
    a, b = (row.view(narrow).astype(np.int64) for row in operands[:2])
    start = operands[2 : 2 + chains].view(np.int32).astype(np.int64)
    return Expected((), (start + steps * (a * b).reshape(-1, per_lane).sum(axis=1)).astype(np.int32))
