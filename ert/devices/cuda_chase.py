"""The memory that a pointer chase walks through: a random cycle through all lines of an array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LINE_BYTES = 128
_WORD_BYTES = 4
_LINES_OF_PART = 1 << 16


class Cycle:
    """A cycle through the lines of ``size_bytes``, and how far it has been walked."""

    def __init__(self, size_bytes: int, generator: np.random.Generator) -> None:
        self.size_bytes = size_bytes
        self._order = generator.permutation(size_bytes // LINE_BYTES).astype(np.uint32)
        # kernels_cu/chase.cu begins at offset 0 where nobody says otherwise.
        self._order = np.roll(self._order, -int(np.flatnonzero(self._order == 0)[0]))
        self._walked = 0

    def parts(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """The array in pieces: where each begins, in bytes, and what it holds until the next one is asked for.

        The first word of every line is the offset, in bytes, of the next line. All pieces are made in one small buffer: touching
        half a gigabyte of fresh memory takes seconds on some virtual machines, and every visit of the point needs it.
        """
        following = np.empty_like(self._order)
        following[self._order] = np.roll(self._order, -1) * np.uint32(LINE_BYTES)
        lines = np.zeros((min(_LINES_OF_PART, len(following)), LINE_BYTES // _WORD_BYTES), np.uint32)
        for first in range(0, len(following), _LINES_OF_PART):
            words = following[first : first + _LINES_OF_PART]
            lines[: len(words), 0] = words
            yield first * LINE_BYTES, lines[: len(words)].view(np.uint8).ravel()

    def lines(self) -> NDArray[np.uint8]:
        """The whole array."""
        return np.concatenate([part.copy() for _, part in self.parts()])

    def walk(self, hops: int) -> int:
        """The offset at which a walk of so many hops begins: where the one before ended."""
        start = int(self._order[self._walked % len(self._order)]) * LINE_BYTES
        self._walked += hops
        return start
