"""A CSV text as columns of numbers; every complaint names file, line and column."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ert.errors import SchemaError
from ert.fit.model import Floats
from ert.points.numerals import is_missing

_DELIMITERS = ",;\t"
_COMMENT = "#"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns (n,) by name, NaN where a cell says that nothing was measured (empty, n/a, nan, inf).

    lines  (n,) the line of the file each row stands on
    texts  columns of words
    """

    source: str
    lines: NDArray[np.int64]
    numbers: Mapping[str, Floats]
    texts: Mapping[str, Sequence[str]]

    def place(self, row: int, column: str) -> str:
        return f"{self.source}: line {self.lines[row]}, column {column}"


def parse_table(text: str, source: str, numbers: Iterable[str], texts: Iterable[str] = ()) -> Table:
    """Read the columns of these names that are there; others are ignored, names are compared in lower case.

    Comma, semicolon or tab; blank lines and lines that start with # are skipped. Raises SchemaError for an empty file,
    a column given twice, or text in a column of numbers.
    """
    records = _records(text)
    header_line, header = next(records, (1, []))
    if not header:
        raise SchemaError(f"{source}: line 1: empty: there is no header. The first line names the columns.")
    names = [name.strip().lower() for name in header]
    for name in (*numbers, *texts):
        if names.count(name) > 1:
            raise SchemaError(f"{source}: line {header_line}: the column '{name}' stands there twice. Remove one.")
    where = {name: names.index(name) for name in (*numbers, *texts) if name in names}
    rows = list(records)
    lines = np.array([line for line, _ in rows], dtype=np.int64)
    columns = {name: _numbers(rows, where[name], f"column {name}", source) for name in numbers if name in where}
    words = {name: [_cell(fields, where[name]).strip() for _, fields in rows] for name in texts if name in where}
    return Table(source, lines, columns, words)


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record; the delimiter is the one the header has most of."""
    lines = text.splitlines(keepends=True)
    header = next((line for line in lines if line.strip() and not line.startswith(_COMMENT)), "")
    reader = csv.reader(lines, delimiter=max(_DELIMITERS, key=header.count))
    for fields in reader:
        if any(cell.strip() for cell in fields) and not fields[0].startswith(_COMMENT):
            yield reader.line_num, fields


def _cell(fields: Sequence[str], index: int) -> str:
    return fields[index] if index < len(fields) else ""


def _numbers(rows: Sequence[tuple[int, list[str]]], index: int, column: str, source: str) -> Floats:
    found = np.empty(len(rows))
    for k, (line, fields) in enumerate(rows):
        cell = _cell(fields, index)
        try:
            number = float(cell)
        except ValueError:
            number = math.nan
            if not is_missing(cell):
                raise SchemaError(
                    f"{source}: line {line}, {column}: '{cell.strip()}' is not a number. Write it plainly, as 1234.5."
                ) from None
        if "_" in cell:  # Python reads 1_000 as a number, and no other program does.
            raise SchemaError(f"{source}: line {line}, {column}: '{cell.strip()}' is not a number. Write it plainly, as 1234.5.")
        found[k] = number if math.isfinite(number) else math.nan
    return found
