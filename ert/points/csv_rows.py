"""Rows of a CSV text with the line each began on, whatever stands between, inside and after them."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
    pending = _Pending()
    for number, line in document.lines():
        if number < start:
            continue
        if pending.parts and _NEW_ROW.match(line):
            yield pending.damaged()
            pending = _Pending()
        if not pending.parts:
            if not line.strip() or (is_noise is not None and is_noise(line)):
                continue
            if line.count('"') % 2 == 0:  # nearly every row: all of it on one line
                yield Row(number, split_fields(line.rstrip("\n"), delimiter))
                continue
            pending.line = number
        pending.add(line)
        if pending.is_closed:
            yield Row(pending.line, split_fields(pending.text.rstrip("\n"), delimiter))
            pending = _Pending()
        elif pending.characters > _MAX_RECORD_CHARACTERS:
            yield pending.damaged()
            pending = _Pending()
    if pending.parts:
        yield pending.damaged()


@dataclass(slots=True)
class _Pending:
    """A record whose quotes may still be open, so that a newline may belong to a name."""

    line: int = 0
    parts: list[str] = field(default_factory=list)
    characters: int = 0
    quotes: int = 0

    def add(self, line: str) -> None:
        self.parts.append(line)
        self.characters += len(line)
        self.quotes += line.count('"')

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def is_closed(self) -> bool:
        return self.quotes % 2 == 0

    def damaged(self) -> Row:
        return Row(self.line, [self.text.rstrip("\n")], whole=False)


def guess_delimiter(header: str) -> str:
    """The separator of a header line: comma, semicolon (Excel where the comma is the decimal sign) or tab."""
    return max(",;\t", key=lambda c: len(split_fields(header, c)))
