"""How far a sweep is, on stderr: one line rewritten on a terminal, one line every tenth of the way elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_REDRAW_S = 0.1
_TAIL_LENGTH = 60


class StderrProgress:
    """Implements ``ert.sweep.Progress``."""

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._drawn_s = 0.0
        self._tenth = -1

    def update(self, share: float, eta_s: float | None, doing: str) -> None:
        eta = f", {eta_s:.0f} s left" if eta_s is not None else ""
        line = f"{self._title}: {share:4.0%}{eta}  {doing[:_TAIL_LENGTH]}"
        if self._is_terminal:
            self._redraw(line)
        elif int(share * 10) > self._tenth:
            self._tenth = int(share * 10)
            self._stream.write(line + "\n")
            self._stream.flush()

    def _redraw(self, line: str) -> None:
        now_s = time.monotonic()
        if now_s - self._drawn_s < _REDRAW_S:
            return
        self._drawn_s = now_s
        self._stream.write("\r\x1b[K" + line)
        self._stream.flush()

    def finish(self) -> None:
        """Leave a clean line behind."""
        if self._is_terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
