"""One variant of a CUDA kernel on one device: compiled, its results held against NumPy, launched and timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ert.cuda_launch import Launch, find_difference
from ert.cuda_operands import random_bits
from ert.devices.cuda_chase import LINE_BYTES, Cycle
from ert.errors import KernelError, UnsupportedError
from ert.kernels import TripFacts
from ert.number_formats import bits_dtype
from ert.precisions import PRECISIONS
from ert.references_cuda import expected
from ert.variant import KernelVariant

# Enough to see every tile, every repeat and the seam between them, little enough for NumPy.
_VERIFIED_BLOCKS, _VERIFIED_TRIPS, _VERIFIED_REPEATS = 2, 2, 2
# What one thread leaves in ``results``: kernels with chains or tiles in registers leave all of them.
_RESULT_BYTES = {"wgmma": 512, "tcgen05": 2048, "mma_fp64_k16": 64}
_RESULT_BYTES_OTHERWISE = 8
# The least share of a working set that is worth another block per SM: warps hide each other's latency, and what is really touched is
# reported anyway.
_LEAST_SHARE = 3 / 4
_BYTES_PER_CHAIN, _BYTES_PER_TILE = 8, 16
ARRAY_NAMES = ("a", "b", "c")


@dataclass(frozen=True, slots=True)
class CudaVariant(KernelVariant):
    """For one width of global accesses."""

    vector_bytes: int

    @property
    def facts(self) -> TripFacts:
        element = PRECISIONS[self.precision].bytes
        return self.kernel.trip_facts(self.parameters, element_bytes=element, vector_bytes=self.vector_bytes)

    @property
    def threads(self) -> int:
        return self.parameters["ERT_THREADS"]

    @property
    def blocks_per_sm(self) -> int:
        return self.parameters["ERT_BLOCKS_PER_SM"]

    @property
    def hops(self) -> int:
        """Dependent loads in one repeat of a chase."""
        return self.parameters["ERT_HOPS"]

    @property
    def tile_bytes(self) -> int:
        """What one block touches of one array in one trip; 0 for kernels that touch no array."""
        unroll = self.parameters.get("ERT_UNROLL", 0)
        return unroll * self.threads * self.vector_bytes if self.uses_arrays else 0

    @property
    def uses_arrays(self) -> bool:
        return bool(set(self.kernel.levels) - {"shared"})

    def least_bytes(self, sms: int) -> int:
        """The smallest working set: one trip of one block on every SM; 0 for kernels that touch no array."""
        if self.kernel.op == "chase":
            return LINE_BYTES
        covering = 1 if self.kernel.name == "read_l2_shared" else sms
        return covering * self.tile_bytes * self.kernel.arrays

    @property
    def result_bytes_per_thread(self) -> int:
        chains, tiles = self.parameters.get("ERT_CHAINS", 0), self.parameters.get("ERT_TILES", 0)
        own = _RESULT_BYTES.get(self.kernel.name, _RESULT_BYTES_OTHERWISE)
        return max(own, chains * _BYTES_PER_CHAIN, tiles * _BYTES_PER_TILE)


@dataclass(frozen=True, slots=True)
class Grid:
    """How a working set is spread over a device.

    array_bytes        of each array
    working_set_bytes  what is really touched, over all arrays; None in registers
    """

    blocks: int
    trips: int
    array_bytes: int = 0
    working_set_bytes: int | None = None


def lay_out(variant: CudaVariant, sms: int, working_set_bytes: int | None) -> Grid:
    """Blocks and trips for a working set, rounded down to whole trips of all blocks.

    Small sets take fewer blocks per SM, so that every SM still has its share. Raises UnsupportedError if a set is smaller than
    ``least_bytes``.
    """
    kernel, most = variant.kernel, sms * variant.blocks_per_sm
    if working_set_bytes is not None and working_set_bytes < variant.least_bytes(sms):
        raise UnsupportedError(f"{kernel.name} needs a working set of at least {variant.least_bytes(sms)} bytes here")
    if kernel.op == "chase":
        size = (working_set_bytes or 0) // LINE_BYTES * LINE_BYTES
        return Grid(1, 1, size, size)
    if "shared" in kernel.levels:
        per_block = variant.threads * 16 * variant.parameters["ERT_UNROLL"] * kernel.arrays
        return Grid(most, max(variant.threads // 32, 1), 0, most * per_block)
    if not variant.uses_arrays or working_set_bytes is None:
        return Grid(most, 1)
    each = working_set_bytes // kernel.arrays
    if kernel.name == "read_l2_shared":
        trips = each // variant.tile_bytes
        grid = Grid(most, trips, trips * variant.tile_bytes)
    else:
        share = each // sms // variant.tile_bytes
        per_sm = max(n for n in range(1, variant.blocks_per_sm + 1) if share // n * n >= _LEAST_SHARE * share)
        trips = share // per_sm
        grid = Grid(sms * per_sm, trips, trips * sms * per_sm * variant.tile_bytes)
    return replace(grid, working_set_bytes=grid.array_bytes * kernel.arrays)


class LoadedKernel:
    """A kernel in the current context, launched with raw addresses."""

    def __init__(self, driver: ModuleType, variant: CudaVariant, image: bytes, entry: str) -> None:
        self.variant = variant
        self._driver = driver
        self._module = driver.module_from_buffer(image)
        self._function = self._module.get_function(entry)
        self._function.prepare("PPPPPQQ")
        # The split of an SM's memory: several blocks must find room for their shared memory, and L1 kernels for their share.
        if self._function.shared_size_bytes:
            self._function.set_cache_config(driver.func_cache.PREFER_SHARED)
        elif "L1" in variant.kernel.levels:
            self._function.set_cache_config(driver.func_cache.PREFER_L1)

    def launch(self, grid: Grid, repeats: int, operands: int, results: int, arrays: Sequence[int]) -> None:
        addresses = [*arrays, *[0] * (len(ARRAY_NAMES) - len(arrays))]
        block = (self.variant.threads, 1, 1)
        self._function.prepared_call((grid.blocks, 1), block, operands, results, *addresses, grid.trips, repeats)


def verify(driver: ModuleType, loaded: LoadedKernel, operands: NDArray[np.uint8], seed: int) -> None:
    """Run the kernel on a little random data and compare what it must have written with NumPy. Raises KernelError."""
    variant, kernel = loaded.variant, loaded.variant.kernel
    grid = Grid(1, 1) if kernel.op == "chase" else Grid(_VERIFIED_BLOCKS, _VERIFIED_TRIPS)
    before = _verification_arrays(variant, grid, seed)
    launch = Launch(
        kernel, variant.precision, variant.parameters, variant.vector_bytes, grid.blocks, grid.trips, _VERIFIED_REPEATS, operands, before
    )
    wanted = expected(launch)
    results = np.full(launch.threads * variant.result_bytes_per_thread, 0xFF, np.uint8)
    buffers = {"results": driver.to_device(results)} | {n: driver.to_device(a) for n, a in zip(ARRAY_NAMES, before, strict=False)}
    held_operands = driver.to_device(operands)
    loaded.launch(
        grid, _VERIFIED_REPEATS, int(held_operands), int(buffers["results"]), [int(buffers[n]) for n in ARRAY_NAMES[: len(before)]]
    )
    driver.Context.synchronize()
    after = results if wanted.buffer == "results" else np.empty_like(before[ARRAY_NAMES.index(wanted.buffer)])
    driver.memcpy_dtoh(after, buffers[wanted.buffer])
    if difference := find_difference(wanted, after):
        raise KernelError(f"{variant.label}: {difference}. Nothing is measured with it; please report this with `ert doctor`.")


def _verification_arrays(variant: CudaVariant, grid: Grid, seed: int) -> list[NDArray[np.uint8]]:
    generator, kernel = np.random.default_rng(seed), variant.kernel
    if kernel.op == "chase":
        return [Cycle(256 * LINE_BYTES, generator).lines()]
    blocks = 1 if kernel.name == "read_l2_shared" else grid.blocks
    count = variant.tile_bytes * blocks * grid.trips // bits_dtype(variant.precision).itemsize
    return [random_bits(count, variant.precision, generator).view(np.uint8) for _ in range(kernel.arrays)] if count else []
