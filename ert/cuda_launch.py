"""One launch of a CUDA kernel as its reference sees it, and the comparison of what it left behind with what it must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ert.kernels import Kernel
from ert.number_formats import Bits, Floats, bits_dtype, decode

Bytes = NDArray[np.uint8]
Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch and what lay in memory before it.

    parameters  all of the facts header, filled in
    operands    the bytes of cuda_operands.operand_table
    arrays      the bytes of a, b, c, as many as the kernel declares
    """

    kernel: Kernel
    precision: str
    parameters: Mapping[str, int]
    vector_bytes: int
    blocks: int
    trips: int
    repeats: int
    operands: Bytes
    arrays: Sequence[Bytes]

    def __getitem__(self, parameter: str) -> int:
        return self.parameters[f"ERT_{parameter}"]

    @property
    def threads(self) -> int:
        return self.blocks * self["THREADS"]

    def slots(self, count: int) -> NDArray[np.int64]:
        """(threads, count): where the values of each thread lie, as ``slot`` of kernels_cu/common.cuh has it."""
        block, thread = np.divmod(np.arange(self.threads), self["THREADS"])
        return np.asarray((block[:, None] * count + np.arange(count)) * self["THREADS"] + thread[:, None], np.int64)


@dataclass(frozen=True, slots=True)
class Expected:
    """What one buffer must hold afterwards.

    buffer     ``results``, ``a``, ``b`` or ``c``
    values     as raw bits (unsigned), or as float64 where hardware may round differently
    precision  of float64 values: what the buffer holds
    tolerance  largest absolute difference per value; None: every bit must be right
    """

    buffer: str
    values: Bits | Floats
    precision: str | None = None
    tolerance: Floats | None = None


def in_slots(launch: Launch, values: NDArray[Number]) -> NDArray[Number]:
    """(threads, count, ...) -> the same values in the order of their slots."""
    return values.reshape(launch.blocks, launch["THREADS"], *values.shape[1:]).swapaxes(1, 2)


def find_difference(wanted: Expected, got: Bytes) -> str | None:
    """Where the buffer first differs from what it must hold, in words; None if it does not."""
    if wanted.precision is None or wanted.tolerance is None:
        flat = np.ascontiguousarray(wanted.values).ravel()
        held = got[: flat.nbytes].view(flat.dtype)
        wrong = held != flat
    else:
        flat = wanted.values.ravel()
        held = decode(got[: flat.size * bits_dtype(wanted.precision).itemsize].view(bits_dtype(wanted.precision)), wanted.precision)
        # Not "greater than": NaN compares false, and must count as wrong.
        wrong = ~(np.abs(held - flat) <= wanted.tolerance.ravel())
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    first = f"the first is number {at}: {held[at]} instead of {flat[at]}"
    return f"{int(wrong.sum())} of {flat.size} values of '{wanted.buffer}' are wrong; {first}"
