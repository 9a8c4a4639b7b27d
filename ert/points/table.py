"""ert's own points CSV: one row per kernel, columns as in the contract."""

from __future__ import annotations

from ert.errors import AnalysisError
from ert.findings import Finding
from ert.points.csv_rows import Row, guess_delimiter, rows, split_fields
from ert.points.document import Document
from ert.points.fields import Fields, is_points_header, to_point, unknown_columns
from ert.points.model import Collected, Decimal, KernelPoint, Origin, Reading, ReadOptions
from ert.points.numerals import first_evidence, is_ambiguous

EXAMPLE = "name,time_s,precision,flops,dram_bytes"


def recognises(document: Document) -> bool:
    """True for a CSV whose header has a name, a time, and something that was counted."""
    found = _header(document)
    return found is not None and is_points_header(found[2])


def read(document: Document, options: ReadOptions) -> Reading:
    """Every row, in order: rows of one name are steps of a trajectory, so nothing is summed.

    Raises AnalysisError naming file, line and column.
    """
    found = _header(document)
    if found is None or not is_points_header(found[2]):
        raise AnalysisError(f"{document.name}: no points CSV found: its header needs at least {EXAMPLE}.")
    line, delimiter, columns = found
    collected = Collected("csv", document.name, findings=[*document.findings, *_unknown(document, columns)])
    body = [_checked(document, row, columns) for row in rows(document, delimiter, start=line + 1, is_noise=_is_comment)]
    if not body:
        raise AnalysisError(f"{document.name}: 0 kernels: the header is there and no row below it.")
    decimal = options.decimal or _decimal(document, delimiter, body, columns)
    for row in body:
        point = to_point(_fields(document, row, columns, decimal), options)
        collected.points.append(point) if isinstance(point, KernelPoint) else collected.skipped.append(point)
    return collected.reading()


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _header(document: Document) -> tuple[int, str, list[str]] | None:
    """(line, delimiter, column names) of the first line that is neither blank nor a comment."""
    for number, line in document.lines():
        if line.strip() and not _is_comment(line):
            delimiter = guess_delimiter(line)
            return number, delimiter, [c.strip().lower() for c in split_fields(line.rstrip("\n"), delimiter)]
    return None


def _unknown(document: Document, columns: list[str]) -> list[Finding]:
    return [
        Finding("unknown_column", f"{document.name}: column '{column}' is not used", remedy=f"Did you mean '{near}'?" if near else None)
        for column, near in unknown_columns(columns)
        if column
    ]


def _checked(document: Document, row: Row, columns: list[str]) -> Row:
    if not row.whole:
        raise document.error("a quote is opened and not closed", row.line)
    if len(row.fields) < len(columns) or any(f.strip() for f in row.fields[len(columns) :]):
        raise document.error(f"{len(row.fields)} columns where the header has {len(columns)}. Quote names that hold a separator", row.line)
    return row


def _decimal(document: Document, delimiter: str, body: list[Row], columns: list[str]) -> Decimal:
    """A comma-separated file writes points; with semicolons the numbers themselves must say."""
    text_columns = {"name", "kernel", "label", "precision", "path"}
    cells = [(row.line, i + 1, row.fields[i]) for row in body for i, c in enumerate(columns) if c not in text_columns]
    if proof := first_evidence(text for _, _, text in cells):
        return proof
    if delimiter != ",":
        for line, column, text in cells:
            if is_ambiguous(text):
                raise document.error(
                    f"'{text}' can be a thousand or a thousandth. Say --decimal point or --decimal comma",
                    line,
                    f"{column} ({columns[column - 1]})",
                )
    return "point"


def _fields(document: Document, row: Row, columns: list[str], decimal: Decimal) -> Fields:
    def locate(column: str, message: str) -> AnalysisError:
        number = columns.index(column) + 1 if column in columns else 1
        return document.error(f"{message}.", row.line, f"{number} ({column})")

    return Fields(dict(zip(columns, row.fields, strict=False)), Origin(document.name, row.line), locate, decimal)
