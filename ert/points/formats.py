"""The formats: one line each. A file's content chooses its reader; ``--format`` overrides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ert.errors import AnalysisError
from ert.points import ncu, points_json, table
from ert.points.document import Document, read_document
from ert.points.model import DEFAULTS, Reading, ReadOptions

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Format:
    """One reader. ``summary`` is what people call its files."""

    summary: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document, ReadOptions], Reading]


# The order is the order of asking: formats with unmistakable marks first.
FORMATS: dict[str, Format] = {
    "ncu": Format("Nsight Compute CSV", ncu.recognises, ncu.read),
    "json": Format("ert points JSON", points_json.recognises, points_json.read),
    "csv": Format("ert points CSV", table.recognises, table.read),
}


def recognise(document: Document) -> str | None:
    """The name of the format whose marks this text bears."""
    return next((name for name, f in FORMATS.items() if f.recognises(document)), None)


def read_points(path: str, format_name: str = AUTO, options: ReadOptions = DEFAULTS) -> Reading:
    """Read one file of application measurements or of another tool's ceilings; ``-`` is standard input.

    Raises AnalysisError or SchemaError naming file, line and column; OSError if the file cannot be read.
    """
    return parse_points(read_document(path), format_name, options)


def parse_points(document: Document, format_name: str = AUTO, options: ReadOptions = DEFAULTS) -> Reading:
    """The same for text that is already at hand."""
    if format_name == AUTO:
        format_name = recognise(document) or ""
        if not document.text.strip():
            raise AnalysisError(f"{document.name}: the file is empty: no ncu CSV found, nor anything else.")
    if format_name not in FORMATS:
        known = "; ".join(f"{name}: {f.summary}" for name, f in FORMATS.items())
        raise AnalysisError(f"{document.name}: no known format is recognised in it. Name one with --format. Known: {known}.")
    return FORMATS[format_name].read(document, options)
