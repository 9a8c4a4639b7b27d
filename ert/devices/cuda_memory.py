"""The memory of a sweep on a GPU: one large buffer for the arrays, one for results, filled with seeded random numbers.

Plain allocations, never managed memory, and everything is given back on every path out.
"""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ert.cuda_operands import random_bits
from ert.devices.cuda_driver import in_words
from ert.errors import DeviceError
from ert.number_formats import bits_dtype

# Random numbers are made on the host for this much and then copied on the device: far more than any line or page that
# hardware could compress.
TILE_BYTES = 8 << 20
_ALIGNMENT_BYTES = 512


class CudaMemory:
    """Buffers of one device; the context must be current. ``where``: how the device is called in messages."""

    def __init__(self, driver: ModuleType, where: str, budget_bytes: int, seed: int) -> None:
        self._driver, self._where, self._seed = driver, where, seed
        self.budget_bytes = budget_bytes
        self._arrays: object = None
        self._size = 0
        self._tiles: dict[str, object] = {}
        self._filled = ("", 0)
        self._extra: dict[str, tuple[object, int]] = {}

    def reserve(self, size_bytes: int) -> int:
        """The address of at least so many bytes for arrays. Raises DeviceError naming both numbers if there is too little."""
        if size_bytes > self.budget_bytes:
            raise DeviceError(
                f"{self._where}: {size_bytes} bytes are needed for the arrays, {self.budget_bytes} may be taken. "
                "Close what else uses the GPU, or ask for smaller working sets."
            )
        if size_bytes > self._size:
            self._free_arrays()
            rounded = -(-size_bytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
            with in_words(self._driver, f"{self._where}: allocating {rounded} bytes for arrays"):
                self._arrays = self._driver.mem_alloc(rounded)
            self._size = rounded
        return int(self._arrays)  # type: ignore[call-overload, no-any-return]

    def arrays(self, size_bytes: int, precision: str) -> int:
        """The address of so many bytes that hold random numbers of this precision."""
        start = self.reserve(size_bytes)
        held, filled_bytes = self._filled
        if held != precision or filled_bytes < size_bytes:
            with in_words(self._driver, f"{self._where}: filling {size_bytes} bytes"):
                self._fill(start, size_bytes, precision)
            self._filled = (precision, size_bytes)
        return start

    def soil(self) -> None:
        """Say that a kernel has written into the arrays: the next one gets fresh numbers."""
        self._filled = ("", 0)

    def _fill(self, start: int, size_bytes: int, precision: str) -> None:
        """Copy the tile there, then double what is there."""
        done = min(TILE_BYTES, size_bytes)
        self._driver.memcpy_dtod(start, self._tile(precision), done)
        while done < size_bytes:
            part = min(done, size_bytes - done)
            self._driver.memcpy_dtod(start + done, start, part)
            done += part

    def _tile(self, precision: str) -> int:
        if precision not in self._tiles:
            self._tiles[precision] = self._driver.to_device(random_tile(precision, self._seed))
        return int(self._tiles[precision])  # type: ignore[call-overload, no-any-return]

    def put(self, name: str, content: NDArray[np.uint8]) -> int:
        """The address of a small buffer that holds ``content`` under a name; put once."""
        if name not in self._extra:
            with in_words(self._driver, f"{self._where}: copying {content.nbytes} bytes"):
                self._extra[name] = (self._driver.to_device(content), content.nbytes)
        return int(self._extra[name][0])  # type: ignore[call-overload, no-any-return]

    def results(self, size_bytes: int) -> int:
        """The address of at least so many bytes for results."""
        held, size = self._extra.get("results", (None, 0))
        if size < size_bytes:
            del held
            self._extra.pop("results", None)
            with in_words(self._driver, f"{self._where}: allocating {size_bytes} bytes for results"):
                self._extra["results"] = (self._driver.mem_alloc(size_bytes), size_bytes)
        return int(self._extra["results"][0])  # type: ignore[call-overload, no-any-return]

    def _free_arrays(self) -> None:
        self._arrays, self._size, self._filled = None, 0, ("", 0)

    def close(self) -> None:
        """Give everything back; in a broken context nothing can be, and the reset does it."""
        with suppress(self._driver.Error):
            self._free_arrays()
            self._tiles.clear()
            self._extra.clear()


def random_tile(precision: str, seed: int) -> NDArray[np.uint8]:
    """TILE_BYTES of random numbers of a precision."""
    count = TILE_BYTES // bits_dtype(precision).itemsize
    return random_bits(count, precision, np.random.default_rng(seed)).view(np.uint8)
