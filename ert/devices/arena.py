"""The memory the CPU kernels walk: one reservation per thread, huge pages where allowed, first touched by its thread with random data."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ert.devices.pool import Pool
from ert.errors import DeviceError

ALIGNMENT_BYTES = 2 * 2**20
# Entries of the table the fill draws from: 512 KiB, so it stays in a core's L2 while filling.
_TABLE_SIZE = 2**16


def random_table(element: str, seed: int) -> NDArray[np.float64]:
    """8-byte cells, each filled with normal numbers of ``element`` (a NumPy floating-point type)."""
    per_cell = 8 // np.dtype(element).itemsize
    return np.random.default_rng(seed).standard_normal(_TABLE_SIZE * per_cell).astype(element).view(np.float64)


class Arena:
    """One address range per thread of a pool. Nothing is touched until ``reserve`` asks for it."""

    def __init__(self, pool: Pool, bytes_per_thread: int, element: str, seed: int) -> None:
        self._pool = pool
        self._table = random_table(element, seed)
        self._seed = seed
        self._filled = 0
        self._size = (bytes_per_thread + ALIGNMENT_BYTES) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
        self._maps = [_reserve(self._size + ALIGNMENT_BYTES) for _ in pool.cpus]
        self.starts = tuple(_aligned_address(m) for m in self._maps)

    def reserve(self, bytes_per_thread: int) -> Sequence[int]:
        """Start addresses with at least this many random bytes behind each. Raises DeviceError if the reservation is smaller."""
        if bytes_per_thread > self._size:
            raise DeviceError(f"cpu: {bytes_per_thread} bytes per thread asked for, {self._size} reserved. Ask for a smaller working set.")
        if bytes_per_thread > self._filled:
            to = min(self._size, (bytes_per_thread + ALIGNMENT_BYTES - 1) // ALIGNMENT_BYTES * ALIGNMENT_BYTES)
            more = to - self._filled
            starts = [start + self._filled for start in self.starts]
            self._pool.fill(starts, [more] * len(starts), self._table, self._seed + self._filled)
            self._filled = to
        return self.starts

    def close(self) -> None:
        for m in self._maps:
            m.close()
        self._maps = []


def _reserve(size: int) -> mmap.mmap:
    try:
        reserved = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))
    except (OSError, ValueError, OverflowError) as error:
        raise DeviceError(
            f"cpu: {size} bytes of memory cannot be had: {error}. "
            "Ask for a smaller working set (--config with a lower [curve] largest_bytes and largest_per_cache), or lift `ulimit -v`."
        ) from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            reserved.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            # A kernel without transparent huge pages: small pages then; environment.huge_pages says so.
            return reserved
    return reserved


def _aligned_address(memory: mmap.mmap) -> int:
    # The view is dropped at once: an exported buffer would keep the map from being closed.
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return (address + ALIGNMENT_BYTES - 1) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
