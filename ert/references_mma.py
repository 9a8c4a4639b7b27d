"""What the tensor-core kernels must compute: products of the matrices that their fragments and tiles describe.

Sources: PTX ISA, "Matrix fragments for mma.m16n8k*", "mma.m8n8k4", "Asynchronous warpgroup-level matrix multiply: register fragments
and shared memory layout", "tcgen05: data path layout".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ert.cuda_launch import Expected, Launch, in_slots
from ert.cuda_operands import OPERAND_BYTES, elements_per_register
from ert.number_formats import Bits, Floats, bits_dtype, decode

# Tensor cores add products with fewer guard bits than fp32 has. On Hopper's fp8 path they cut each term 13 bits below the largest
# (DeepSeek-V3 Technical Report, section 3.3.2: about 14 bits are kept), which makes an error of up to 2^-11.7 of these operands.
_RELATIVE = {"fp8": 2.0**-9, "fp64": 2.0**-45}
_RELATIVE_OTHERWISE = 2.0**-17

_LANE = np.arange(32)
_GROUP, _IN_GROUP = _LANE // 4, _LANE % 4


def _sums(launch: Launch, products: Floats, sizes: Floats) -> Expected:
    """``repeats`` times the products; ``sizes``: the same with all signs positive, which is what rounding errors scale with."""
    products, sizes = (in_slots(launch, values.reshape(launch.threads, -1)) for values in (products, sizes))
    if launch.precision == "int8":
        return Expected("results", (products * launch.repeats).astype(np.int64).astype(np.uint32))
    held = "fp64" if launch.precision == "fp64" else "fp32"
    relative = _RELATIVE.get(launch.precision, _RELATIVE_OTHERWISE)
    return Expected("results", products * launch.repeats, held, sizes * launch.repeats * relative)


def _registers(launch: Launch, count: int) -> Floats:
    """(warps, 32, count, elements per register): the operands of each lane."""
    pack, dtype = elements_per_register(launch.kernel, launch.precision), bits_dtype(launch.precision)
    table: Bits = launch.operands[:OPERAND_BYTES].view(dtype).reshape(-1, pack)
    return decode(table[launch.slots(count) % len(table)], launch.precision).reshape(-1, 32, count, pack)


def _fragment_matrix(registers: Floats, rows: int, row_of: NDArray[np.int64], k_of: NDArray[np.int64]) -> Floats:
    """(..., 32, count, pack) -> (..., rows, k): register i of a lane holds row row_of[lane, i], k register k_of[lane, i]."""
    pack = registers.shape[-1]
    matrix = np.zeros((*registers.shape[:-3], rows, int(k_of.max()) + 1, pack))
    matrix[..., row_of, k_of, :] = registers
    return matrix.reshape(*matrix.shape[:-2], -1)


def _mma(launch: Launch, a_count: int, b_count: int) -> Expected:
    """m16n8: A register i row g (+ 8 for odd i), k q (+ 4 for i >= 2); B register i column g, k q + 4 i; D as below."""
    tiles, steps = launch["TILES"], launch["STEPS"]
    mine = _registers(launch, tiles * a_count + steps * b_count)
    i, j = np.arange(a_count), np.arange(b_count)
    a_rows, a_k = _GROUP[:, None] + 8 * (i % 2), _IN_GROUP[:, None] + 4 * (i // 2)
    b_rows, b_k = np.broadcast_to(_GROUP[:, None], (32, b_count)), _IN_GROUP[:, None] + 4 * j
    d_rows, d_columns = _GROUP[:, None] + 8 * (np.arange(4) // 2), 2 * _IN_GROUP[:, None] + np.arange(4) % 2
    a = [_fragment_matrix(mine[:, :, t * a_count : (t + 1) * a_count], 16, a_rows, a_k) for t in range(tiles)]
    first_b = tiles * a_count
    b = [_fragment_matrix(mine[:, :, first_b + s * b_count :][:, :, :b_count], 8, b_rows, b_k) for s in range(steps)]
    return _tile_products(launch, a, b, d_rows, d_columns)


def _tile_products(launch: Launch, a: list[Floats], b: list[Floats], d_rows: NDArray[np.int64], d_columns: NDArray[np.int64]) -> Expected:
    """Every A times the sum of all B, gathered into the registers of each lane: (threads, tiles, registers)."""

    def gather(matrices: list[Floats], sums: Floats) -> Floats:
        products = [np.einsum("wmk,wnk->wmn", matrix, sums)[:, d_rows, d_columns] for matrix in matrices]
        return np.stack(products, axis=2)

    sizes = gather([np.abs(m) for m in a], np.sum([np.abs(m) for m in b], axis=0))
    return _sums(launch, gather(a, np.sum(b, axis=0)), sizes)


def _mma_fp64(launch: Launch) -> Expected:
    """m8n8k4: A row g, k q; B column g, k q; D row g, columns 2 q and 2 q + 1."""
    tiles, steps = launch["TILES"], launch["STEPS"]
    mine = _registers(launch, tiles + steps)
    rows, k = _GROUP[:, None], _IN_GROUP[:, None]
    matrices = [_fragment_matrix(mine[:, :, n : n + 1], 8, rows, k) for n in range(tiles + steps)]
    return _tile_products(launch, matrices[:tiles], matrices[tiles:], np.repeat(rows, 2, axis=1), 2 * k + np.arange(2))


def _core_matrices(tile: NDArray[np.uint8], rows: int, precision: str) -> Floats:
    """(rows, k) of a K-major tile without swizzle: cores of 8 rows by 16 bytes, two of them along k, then the next 8 rows."""
    cores = tile.reshape(rows // 8, 2, 8, 16)
    return decode(np.ascontiguousarray(cores.transpose(0, 2, 1, 3)).reshape(rows, 32).view(bits_dtype(precision)), precision)


def _step_matrices(launch: Launch, m: int, n: int) -> list[tuple[Floats, Floats]]:
    """A and B of every step, one behind the other at the start of the operands."""
    size = 32 * (m + n)
    tiles = [launch.operands[s * size : (s + 1) * size] for s in range(launch["STEPS"])]
    return [(_core_matrices(t[: 32 * m], m, launch.precision), _core_matrices(t[32 * m :], n, launch.precision)) for t in tiles]


def _wgmma(launch: Launch) -> Expected:
    """D of m64n256: warp w has rows 16 w ..; register i row lane / 4 (+ 8 for i / 2 odd), column 8 (i / 4) + 2 (lane % 4) + i % 2."""
    thread, i = np.arange(128)[:, None], np.arange(128)
    rows, columns = thread // 32 * 16 + thread % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + thread % 4 * 2 + i % 2
    pairs = _step_matrices(launch, 64, 256)
    products = np.sum([a @ b.T for a, b in pairs], axis=0)[rows, columns]
    sizes = np.sum([np.abs(a) @ np.abs(b).T for a, b in pairs], axis=0)[rows, columns]
    return _sums(launch, np.tile(products, (launch.blocks, 1)), np.tile(sizes, (launch.blocks, 1)))


def _tcgen05(launch: Launch) -> Expected:
    """Lane r of tensor memory is row r of D; every step has 256 columns of its own."""
    pairs = _step_matrices(launch, 128, 256)
    products = np.hstack([a @ b.T for a, b in pairs])
    sizes = np.hstack([np.abs(a) @ np.abs(b).T for a, b in pairs])
    return _sums(launch, np.tile(products, (launch.blocks, 1)), np.tile(sizes, (launch.blocks, 1)))


MMA_REFERENCES: dict[str, Callable[[Launch], Expected]] = {
    "mma": lambda launch: _mma(launch, 4, 2),
    "mma_k8": lambda launch: _mma(launch, 2, 1),
    "mma_fp64": _mma_fp64,
    "mma_fp64_k16": lambda launch: _mma(launch, 8, 4),
    "wgmma": _wgmma,
    "tcgen05": _tcgen05,
}
