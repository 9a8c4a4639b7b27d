"""The memory that a pointer chase walks through: a random cycle through all lines of an array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LINE_BYTES = 128
_WORD_BYTES = 4


class Cycle:
    """A cycle through the lines of ``size_bytes``, and how far it has been walked."""

    def __init__(self, size_bytes: int, generator: np.random.Generator) -> None:
        self.size_bytes = size_bytes
        self._order = generator.permutation(size_bytes // LINE_BYTES).astype(np.uint32)
        # kernels_cu/chase.cu begins at offset 0 where nobody says otherwise.
        self._order = np.roll(self._order, -int(np.flatnonzero(self._order == 0)[0]))
        self._walked = 0

    def lines(self) -> NDArray[np.uint8]:
        """The array: the first word of every line is the offset, in bytes, of the next line."""
        lines = np.zeros((len(self._order), LINE_BYTES // _WORD_BYTES), np.uint32)
        lines[self._order, 0] = np.roll(self._order, -1) * np.uint32(LINE_BYTES)
        return lines.view(np.uint8).ravel()

    def walk(self, hops: int) -> int:
        """The offset at which a walk of so many hops begins: where the one before ended."""
        start = int(self._order[self._walked % len(self._order)]) * LINE_BYTES
        self._walked += hops
        return start
