"""BabelStream, ``--csv`` or its table -> DRAM bandwidth per kernel, if its arrays were larger than the caches.

Bytes as STREAM counts them. The column's name says whether a megabyte is 1e6 or 2**20 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ert.errors import AnalysisError
from ert.points.document import Document
from ert.points.model import Origin, Reading, ReadOptions, Witness
from ert.points.numerals import number_at, parse_number

_UNITS = {"max_mbytes_per_sec": 1e6, "max_mb_per_sec": 1e6, "max_mibytes_per_sec": 2.0**20, "max_mib_per_sec": 2.0**20}
# Kernel -> (arrays, our operation). Mul reads one array and writes one, as Copy does; Dot only reads.
_KERNELS = {
    "copy": (2, "copy"),
    "mul": (2, "copy"),
    "add": (3, "triad"),
    "triad": (3, "triad"),
    "nstream": (4, "triad"),
    "dot": (2, "read"),
}
_TEXT_ROW = re.compile(r"^(Copy|Mul|Add|Triad|Nstream|Dot)\s+([0-9.]+)\s", re.MULTILINE)
_TEXT_HEADER = re.compile(r"^Function\s+(MBytes|MiBytes|MB|MiB|GBytes|GiBytes|GB|GiB)/s", re.MULTILINE | re.IGNORECASE)
_TEXT_UNITS = {"m": 1e6, "mi": 2.0**20, "g": 1e9, "gi": 2.0**30}
_ARRAY = re.compile(r"^Array size: ([0-9.]+) (KB|MB|GB|KiB|MiB|GiB)", re.MULTILINE)
_SIZES = {"KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}


def recognises(document: Document) -> bool:
    """True for the CSV's header and for the table's."""
    return document.head.lstrip().startswith("function,num_times,n_elements,sizeof") or (
        "BabelStream" in document.head and _TEXT_HEADER.search(document.head) is not None
    )


def read(document: Document, options: ReadOptions) -> Reading:
    """One witness per kernel. Raises AnalysisError naming line and column."""
    is_table = _TEXT_HEADER.search(document.text) is not None
    witnesses = _from_table(document) if is_table else _from_csv(document)
    if not witnesses:
        raise AnalysisError(f"{document.name}: no BabelStream kernel found below the header.")
    return Reading("babelstream", document.name, witnesses=tuple(witnesses), findings=document.findings)


def _from_csv(document: Document) -> list[Witness]:
    columns: list[str] = []
    witnesses = []
    for number, line in document.lines():
        fields = [f.strip() for f in line.split(",")]
        if fields[0] == "function":
            columns = [f.lower() for f in fields]
        elif columns and line.strip():
            if len(fields) < len(columns):
                raise document.cut_off(len(fields), len(columns), number)
            witnesses.append(_row(document, number, dict(zip(columns, fields, strict=False))))
    return witnesses


def _row(document: Document, line: int, row: Mapping[str, str]) -> Witness:
    column = next((c for c in _UNITS if c in row), None)
    if column is None:
        raise document.error(f"no bandwidth column; known: {', '.join(_UNITS)}.", line)

    def number(name: str) -> float | None:
        return number_at(document, row.get(name, ""), line, name)

    value, elements, size = number(column), number("n_elements"), number("sizeof")
    array = elements * size if elements and size else None
    return _witness(document, line, row["function"], value and value * _UNITS[column], array)


def _from_table(document: Document) -> list[Witness]:
    header, array = _TEXT_HEADER.search(document.text), _ARRAY.search(document.text)
    assert header is not None  # asked for in read()
    unit = _TEXT_UNITS[header[1].lower().removesuffix("ytes").removesuffix("b")]
    size = float(array[1]) * _SIZES[array[2]] if array else None
    found = []
    for row in _TEXT_ROW.finditer(document.text):
        line = document.text.count("\n", 0, row.start()) + 1
        try:
            found.append(_witness(document, line, row[1], parse_number(row[2], "point") * unit, size))
        except ValueError as error:
            raise document.error(f"{error}.", line, 2) from error
    return found


def _witness(document: Document, line: int, kernel: str, value: float | None, array_bytes: float | None) -> Witness:
    arrays, op = _KERNELS.get(kernel.lower(), (1, "read"))
    return Witness(
        f"BabelStream {kernel}",
        "bandwidth",
        value,
        Origin(document.name, line),
        level="DRAM",
        op=op,
        working_set_bytes=array_bytes and array_bytes * arrays,
    )
