"""The table of a check: its rows, and the file that is whole at any moment."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from ert.errors import ErtError
from ert.files import write_text_atomic

T = TypeVar("T")

# failed: a step broke off here; not run: there was no time for it
Fate = Literal["done", "failed", "not run"]
WORDS: dict[Fate, str] = {"done": "", "failed": "FAILED", "not run": "NOT RUN"}


@dataclass(frozen=True, slots=True)
class Row:
    """``good`` None: nothing was expected of it."""

    what: str
    found: str
    expected: str = ""
    good: bool | None = None
    fate: Fate = "done"

    def __str__(self) -> str:
        word = {True: "ok", False: "SHORT", None: WORDS[self.fate]}[self.good]
        return f"{self.what:<28} {self.found:<72} {self.expected:<22} {word}".rstrip()


Rows = Generator[Row, None, None]


class Table:
    """The rows as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: list[Row] = []
        self._start_s = time.monotonic()
        self._is_kept = True

    def add(self, row: Row) -> None:
        """Have a row on disk, then print it."""
        self._rows.append(row)
        self._keep("not finished")
        print(row, flush=True)

    def finish(self) -> int:
        """The last line; the exit status."""
        failed, missing = (sum(row.fate == fate for row in self._rows) for fate in ("failed", "not run"))
        short = sum(row.good is False for row in self._rows)
        print(self._keep(f"{short} rows fall short, {failed} steps failed, {missing} were not run"), flush=True)
        print(f"wrote {self.path}", file=sys.stderr)
        if failed or missing or not self._is_kept:
            return 1
        return 3 if short else 0

    def stop(self, why: str) -> None:
        """The last line of a check that somebody ended."""
        print(self._keep(why), flush=True)

    def _keep(self, outcome: str) -> str:
        last = f"{outcome}; {time.monotonic() - self._start_s:.0f} s in all. Made again by: make gpu-check"
        try:
            write_text_atomic(self.path, "\n".join([*map(str, self._rows), last, ""]))
        except ErtError as error:
            # A full disk must not end the check: what it finds is still printed.
            self._is_kept = False
            print(f"Error: {error}", file=sys.stderr)
        return last


def guarded(what: str, step: Generator[Row, None, T]) -> Generator[Row, None, T | None]:
    """The rows of a step and what it returns; what goes wrong in it is a row like the others, and the next step has its turn."""
    try:
        return (yield from step)
    except Exception as error:  # whatever a driver, a library or a file may come up with: the table is worth more
        if not isinstance(error, ErtError):
            traceback.print_exc()
        yield Row(what, in_one_line(error), fate="failed")
        return None


def in_one_line(error: Exception) -> str:
    """An error that ert explains needs no name of its class."""
    name = "" if isinstance(error, ErtError) else f"{type(error).__name__}: "
    return " ".join(f"{name}{error}".split())
