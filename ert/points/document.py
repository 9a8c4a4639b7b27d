"""Bytes of a profile -> text: byte order marks, consoles that write UTF-16, and code pages that are not UTF-8."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ert.errors import AnalysisError, ErtError
from ert.findings import Finding

STDIN = "-"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_BINARY = {b"NVR\0": "a Nsight Compute report: export it with `ncu --import FILE --csv --page raw`", b"\x1f\x8b": "gzip: unpack it first"}
_SNIFF_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Document:
    """A file as text. ``name`` is what the user called it; ``findings`` tell what had to be guessed."""

    name: str
    text: str
    findings: tuple[Finding, ...] = ()

    @property
    def head(self) -> str:
        """Enough of the text to recognise a format by."""
        return self.text[:_SNIFF_CHARACTERS]

    def lines(self) -> Iterator[tuple[int, str]]:
        """(number from 1, line without its newline); split at newlines only, since names may hold other separators."""
        lines = self.text.split("\n")
        if not lines[-1]:
            lines.pop()
        return enumerate(lines, start=1)

    def line_at(self, position: int) -> tuple[int, str]:
        """(number, line) around a position of the text."""
        start = self.text.rfind("\n", 0, position) + 1
        end = self.text.find("\n", position)
        return self.text.count("\n", 0, start) + 1, self.text[start : end if end >= 0 else None]

    def error(self, message: str, line: int | None = None, column: int | str | None = None) -> AnalysisError:
        """An AnalysisError that names this file and, where known, line and column."""
        place = "" if line is None else f", line {line}"
        place += "" if column is None else f", column {column}"
        return AnalysisError(f"{self.name}{place}: {message}")

    def cut_off(self, found: int, expected: int, line: int) -> AnalysisError:
        """The error for a row with fewer columns than it must have."""
        return self.error(f"{found} columns where {expected} belong: the row is cut off. Is the file whole?", line)


def read_document(path: str) -> Document:
    """Read a file, or standard input for ``-``. Raises ErtError if it cannot be read, AnalysisError for what is not text."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise ErtError(f"{path}: cannot be read: {error.strerror or error}.") from error
    return decode("standard input" if path == STDIN else path, data)


def decode(name: str, data: bytes) -> Document:
    """Text by byte order mark, else UTF-8, else UTF-16 without a mark, else Windows-1252 with a finding."""
    for magic, what in _BINARY.items():
        if data.startswith(magic):
            raise AnalysisError(f"{name}: this is {what}.")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(name, data, encoding)
    if b"\0" in data[:4096]:
        # Half of the bytes of ASCII text in UTF-16 are zero, always on the same side.
        encoding = "utf-16-le" if data[1:64:2].count(0) > data[0:64:2].count(0) else "utf-16-be"
        return _decoded(name, data, encoding)
    try:
        return Document(name, _newlines(data.decode("utf-8")))
    except UnicodeDecodeError as error:
        finding = Finding(
            "encoding",
            f"{name}: not UTF-8 (byte {error.start}); read as Windows-1252, so names may show wrong letters",
            remedy="Numbers are not touched. Save the file as UTF-8 to see the names as they were.",
        )
        return Document(name, _newlines(data.decode("cp1252", errors="replace")), (finding,))


def _decoded(name: str, data: bytes, encoding: str) -> Document:
    try:
        return Document(name, _newlines(data.decode(encoding)))
    except UnicodeDecodeError as error:
        raise AnalysisError(f"{name}: not text: byte {error.start} is not {encoding}. Is this the exported text, and whole?") from error


def _newlines(text: str) -> str:
    """CRLF and old Mac line ends as newlines."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
