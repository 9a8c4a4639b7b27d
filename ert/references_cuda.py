"""What every CUDA kernel must compute, in NumPy, to the last bit where the hardware rounds once; the witness before any timing.

Layouts are those of kernels_cu/common.cuh: a block works on tiles of ERT_THREADS * ERT_UNROLL vectors, blocks side by side.
Tensor cores: ert/references_mma.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ert.cuda_launch import Bytes, Expected, Launch, in_slots
from ert.cuda_operands import COEFFICIENT_ROWS, COEFFICIENTS, OPERAND_BYTES, elements_per_register
from ert.errors import KernelError
from ert.number_formats import Bits, bits_dtype, decode, encode, multiply_add
from ert.references_mma import MMA_REFERENCES


def _tiles(launch: Launch, array: Bytes) -> NDArray[np.uint32]:
    """(trips, blocks, unroll, threads, words)"""
    shape = (launch.trips, launch.blocks, launch["UNROLL"], launch["THREADS"], launch.vector_bytes // 4)
    return array.view(np.uint32).reshape(shape)


def _read(launch: Launch) -> Expected:
    sums = _tiles(launch, launch.arrays[0]).sum(axis=(0, 2, 4), dtype=np.uint32)
    return Expected("results", sums * np.uint32(launch.repeats))


def _read_l2_shared(launch: Launch) -> Expected:
    words = launch.arrays[0].view(np.uint32).reshape(launch.trips, launch["UNROLL"], launch["THREADS"], -1)
    sums = words.sum(axis=(0, 1, 3), dtype=np.uint32) * np.uint32(launch.repeats)
    return Expected("results", np.tile(sums, launch.blocks))


def _write(launch: Launch) -> Expected:
    table = launch.operands[:OPERAND_BYTES].view(np.uint32).reshape(-1, launch.vector_bytes // 4)
    values = table[np.arange(launch.threads) % len(table)].reshape(1, launch.blocks, 1, launch["THREADS"], -1)
    shape = _tiles(launch, launch.arrays[0]).shape
    return Expected("a", np.broadcast_to(values, shape))


def _copy(launch: Launch) -> Expected:
    return Expected("b", launch.arrays[0])


def _elements(launch: Launch, array: Bytes) -> Bits:
    """(trips, blocks, unroll, threads, lanes) of the kernel's precision."""
    dtype = bits_dtype(launch.precision)
    lanes = launch.vector_bytes // dtype.itemsize
    return array.view(dtype).reshape(launch.trips, launch.blocks, launch["UNROLL"], launch["THREADS"], lanes)


def _coefficient(launch: Launch, index: int) -> Bits:
    """(threads per block, elements per register)"""
    pack = elements_per_register(launch.kernel, launch.precision)
    rows = launch.operands[OPERAND_BYTES:].view(bits_dtype(launch.precision)).reshape(COEFFICIENT_ROWS, COEFFICIENTS, pack)
    return np.asarray(rows[np.arange(launch["THREADS"]) % COEFFICIENT_ROWS, index], rows.dtype)


def _per_lane(launch: Launch, index: int) -> Bits:
    """(threads per block, lanes of a vector)"""
    values = _coefficient(launch, index)
    return np.tile(values, launch.vector_bytes // bits_dtype(launch.precision).itemsize // values.shape[-1])


def _triad(launch: Launch) -> Expected:
    a, b = (_elements(launch, array) for array in launch.arrays[:2])
    scale = np.broadcast_to(_per_lane(launch, 0), a.shape)
    return Expected("c", multiply_add(scale, b, a, launch.precision))


def _update(launch: Launch) -> Expected:
    values = decode(launch.arrays[0].view(bits_dtype(launch.precision)), launch.precision)
    return Expected("a", encode(values * (-1) ** launch.repeats, launch.precision))


def _worked_on(launch: Launch) -> Bits:
    x = _elements(launch, launch.arrays[0])
    if launch["FLOPS"] % 2:
        ones = encode(np.ones(x.shape), launch.precision)
        x = multiply_add(x, ones, np.broadcast_to(_per_lane(launch, 1), x.shape), launch.precision)
    coefficients = [np.broadcast_to(_per_lane(launch, index), x.shape) for index in range(COEFFICIENTS)]
    for step in range(launch["FLOPS"] // 2):
        x = multiply_add(x, coefficients[2 * (step % 2)], coefficients[2 * (step % 2) + 1], launch.precision)
    return x


def _mixed(launch: Launch) -> Expected:
    return Expected("b", _worked_on(launch))


def _mixed_read(launch: Launch) -> Expected:
    words = np.ascontiguousarray(_worked_on(launch)).view(np.uint32)
    return Expected("results", words.sum(axis=(0, 2, 4), dtype=np.uint32) * np.uint32(launch.repeats))


def _filled(launch: Launch, rows: int) -> NDArray[np.uint32]:
    """(blocks, rows, threads, 4): shared memory after it was filled."""
    table = launch.operands[:OPERAND_BYTES].view(np.uint32).reshape(-1, 4)
    memory = np.asarray(table[launch.slots(rows) % len(table)], np.uint32)
    return memory.reshape(launch.blocks, launch["THREADS"], rows, 4).transpose(0, 2, 1, 3)


def _read_shared(launch: Launch) -> Expected:
    memory = _filled(launch, launch["UNROLL"])
    # Each trip moves every warp on by its own width, from one repeat into the next.
    rows = memory.sum(axis=(1, 3), dtype=np.uint32)
    trips = range(launch.repeats * launch.trips)
    return Expected("results", np.asarray(np.sum([np.roll(rows, -32 * trip, axis=1) for trip in trips], axis=0, dtype=np.uint32)))


def _write_shared(launch: Launch) -> Expected:
    first_words = launch.operands[:OPERAND_BYTES].view(np.uint32).reshape(-1, 4)[:32, 0]
    return Expected("results", np.resize(first_words * np.uint32(launch["UNROLL"]), launch.threads))


def _copy_shared(launch: Launch) -> Expected:
    source = _filled(launch, 2 * launch["UNROLL"])[:, : launch["UNROLL"]]
    return Expected("results", source[..., 0].sum(axis=1, dtype=np.uint32))


def _operand(launch: Launch, count: int, elements: int, dtype: np.dtype[np.unsignedinteger]) -> Bits:
    """(threads, count, elements): what each thread starts from."""
    table = launch.operands[:OPERAND_BYTES].view(dtype).reshape(-1, elements)
    return np.asarray(table[launch.slots(count) % len(table)], dtype)


def _run_chains(launch: Launch, step: Callable[[Bits, Sequence[Bits]], Bits]) -> Expected:
    """``step(x, coefficients)`` alternates between the two halves of the coefficients."""
    pack, dtype = elements_per_register(launch.kernel, launch.precision), bits_dtype(launch.precision)
    x = _operand(launch, launch["CHAINS"], pack, dtype)
    every = [np.broadcast_to(np.tile(_coefficient(launch, i), (launch.blocks, 1))[:, None], x.shape) for i in range(COEFFICIENTS)]
    for number in range(launch.repeats * launch["STEPS"]):
        x = step(x, every if number % 2 == 0 else every[2:] + every[:2] if launch.kernel.op == "fma" else every[1:])
    return Expected("results", in_slots(launch, x))


def _fma(launch: Launch) -> Expected:
    return _run_chains(launch, lambda x, k: multiply_add(x, k[0], k[1], launch.precision))


def _add(launch: Launch) -> Expected:
    p = launch.precision
    return _run_chains(launch, lambda x, k: multiply_add(x, encode(np.ones(x.shape), p), k[0], p))


def _mul(launch: Launch) -> Expected:
    p = launch.precision
    return _run_chains(launch, lambda x, k: multiply_add(x, k[0], encode(np.full(x.shape, -0.0), p), p))


def _dp4a(launch: Launch) -> Expected:
    x = _operand(launch, launch["CHAINS"], 1, np.dtype(np.uint32))[..., 0]
    first, second = (
        np.sum(decode(_coefficient(launch, i), "int8") * decode(_coefficient(launch, i + 1), "int8"), axis=1).astype(np.int64)
        for i in (0, 2)
    )
    steps = launch.repeats * launch["STEPS"]
    added = (first * ((steps + 1) // 2) + second * (steps // 2)).astype(np.uint32)
    return Expected("results", in_slots(launch, x + np.tile(added, launch.blocks)[:, None]))


def _chase(launch: Launch) -> Expected:
    words = launch.arrays[0].view(np.uint32)
    at = 0
    for _ in range(launch.repeats * launch.trips * launch["HOPS"]):
        at = int(words[at // 4])
    return Expected("results", np.array([at], np.uint32))


def _empty(_launch: Launch) -> Expected:
    return Expected("results", np.zeros(0, np.uint32))


REFERENCES: dict[str, Callable[[Launch], Expected]] = {
    "read": _read,
    "read_l2": _read,
    "read_l2_shared": _read_l2_shared,
    "write": _write,
    "copy": _copy,
    "triad": _triad,
    "update": _update,
    "mixed": _mixed,
    "mixed_read": _mixed_read,
    "read_shared": _read_shared,
    "write_shared": _write_shared,
    "copy_shared": _copy_shared,
    "fma": _fma,
    "fma_x2": _fma,
    "imad": _fma,
    "add": _add,
    "mul": _mul,
    "dp4a": _dp4a,
    "chase": _chase,
    "empty": _empty,
    **MMA_REFERENCES,
}


def expected(launch: Launch) -> Expected:
    """Raises KernelError for a kernel without a reference: it must not be timed."""
    if launch.kernel.name not in REFERENCES:
        raise KernelError(f"{launch.kernel.file_name}: no reference in ert/references_cuda.py, so its results cannot be verified.")
    with np.errstate(over="ignore"):
        return REFERENCES[launch.kernel.name](launch)
