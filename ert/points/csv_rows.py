"""Rows of a CSV text with the line each began on, whatever stands between, inside and after them."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ert.points.document import Document

# A quoted row can only begin like this; inside a quoted field the quote would be doubled.
_NEW_ROW = re.compile(r'^"[^",;\t]*"[,;\t]"')
# csv refuses longer fields too; names of 4 kB are common, one of 128 KiB is a quote that never closed.
_MAX_RECORD_CHARACTERS = 1 << 20


class Row(NamedTuple):
    """fields  as written, unquoted; whole False: the quotes do not close, so the row is damaged."""

    line: int
    fields: list[str]
    whole: bool = True


def split_fields(text: str, delimiter: str) -> list[str]:
    """One record -> its fields; a record that csv cannot split is one field."""
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return [text]


def rows(document: Document, delimiter: str, *, start: int = 1, is_noise: Callable[[str], bool] | None = None) -> Iterator[Row]:
    """Rows from line ``start`` on; blank lines and, at the beginning of a row, noise lines are left out."""
    records = _Records(document, start, is_noise)
    reader = csv.reader(records, delimiter=delimiter)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            break
        except csv.Error:  # a field beyond csv's limit: a quote that never closed
            fields = None
        yield from records.take_damaged()
        yield Row(records.line, fields, True) if fields is not None else Row(records.line, [records.text], False)
    yield from records.take_damaged()


class _Records:
    """Hands csv one whole record at a time, so that it never takes the next row for the rest of a damaged one.

    line, text  of the record handed out last
    """

    def __init__(self, document: Document, start: int, is_noise: Callable[[str], bool] | None) -> None:
        self._lines = document.lines()
        self._start = start
        self._is_noise = is_noise
        self._damaged: list[Row] = []
        self.line = 0
        self.text = ""

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            if number < self._start or not line.strip() or (self._is_noise is not None and self._is_noise(line)):
                continue
            self.line, self.text = number, line
            if line.count('"') % 2 == 0:  # nearly every row: all of it on one line
                yield line
            else:
                yield from self._over_lines(number, line)

    def _over_lines(self, number: int, line: str) -> Iterator[str]:
        """A record whose quotes are open at the end of its first line, because a name holds a newline or the row is cut off."""
        parts, quotes, characters = [line], line.count('"'), len(line)
        for following, text in self._lines:
            if _NEW_ROW.match(text):
                self._damage(number, parts)
                number, parts, quotes, characters = following, [], 0, 0
            parts.append(text)
            quotes += text.count('"')
            characters += len(text)
            if quotes % 2 == 0:
                self.line, self.text = number, "\n".join(parts)
                yield self.text
                return
            if characters > _MAX_RECORD_CHARACTERS:
                break
        self._damage(number, parts)

    def _damage(self, line: int, parts: list[str]) -> None:
        self._damaged.append(Row(line, ["\n".join(parts)], whole=False))

    def take_damaged(self) -> list[Row]:
        """The damaged rows met since the last call."""
        if not self._damaged:
            return []
        taken, self._damaged = self._damaged, []
        return taken


def guess_delimiter(header: str) -> str:
    """The separator of a header line: comma, semicolon (Excel where the comma is the decimal sign) or tab."""
    return max(",;\t", key=lambda c: len(split_fields(header, c)))
