"""mixbench's CSV -> the highest rate and bandwidth of each type.

Two header lines (type, then columns), four columns per type; ``inf`` stands where the device lacks the type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ert.errors import AnalysisError
from ert.points.document import Document
from ert.points.model import Origin, Reading, ReadOptions, Witness
from ert.points.numerals import giga_at

_TYPES = {"single precision": "fp32", "double precision": "fp64", "half precision": "fp16", "integer": "int32"}
_BUFFER = re.compile(r"(?:Working memory size|Buffer size):\s*([0-9]+)\s*(KB|MB|GB|KiB|MiB|GiB)")
# mixbench says MB and means 2**20 bytes.
_SIZES = {"KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_COLUMNS_PER_TYPE = 4


@dataclass(frozen=True, slots=True)
class _Row:
    """One experiment of one type: line, precision, FLOP/s, byte/s (None where it did not run)."""

    line: int
    precision: str
    rate: float | None
    bandwidth: float | None


def recognises(document: Document) -> bool:
    """True for the first of its two header lines."""
    return "Experiment ID, Single Precision ops" in document.head


def read(document: Document, options: ReadOptions) -> Reading:
    """One compute and one bandwidth witness per type. Raises AnalysisError naming line and column."""
    found = list(_rows(document))
    if not found:
        raise AnalysisError(f"{document.name}: no mixbench experiment found below the header.")
    buffer = _BUFFER.search(document.text)
    size = float(buffer[1]) * _SIZES[buffer[2]] if buffer else None
    witnesses = [w for precision in dict.fromkeys(r.precision for r in found) for w in _best(document, found, precision, size)]
    return Reading("mixbench", document.name, witnesses=tuple(witnesses), findings=document.findings)


def _rows(document: Document) -> Iterator[_Row]:
    types: list[str] = []
    for number, line in document.lines():
        fields = [f.strip() for f in line.split(",")]
        if fields[0] == "Experiment ID":
            types = [t for f in fields[1:] if (t := next((p for words, p in _TYPES.items() if f.lower().startswith(words)), None))]
        elif types and fields[0].isdecimal():
            if len(fields) < 1 + _COLUMNS_PER_TYPE * len(types):
                raise document.cut_off(len(fields), 1 + _COLUMNS_PER_TYPE * len(types), number)
            for index, precision in enumerate(types):
                first = 1 + _COLUMNS_PER_TYPE * index
                rate, bandwidth = (giga_at(document, fields[i], number, i + 1) for i in (first + 2, first + 3))
                yield _Row(number, precision, rate, bandwidth)


def _best(document: Document, found: list[_Row], precision: str, buffer_bytes: float | None) -> Iterator[Witness]:
    mine = [r for r in found if r.precision == precision]
    rate = max(mine, key=lambda r: r.rate or 0.0)
    bandwidth = max(mine, key=lambda r: r.bandwidth or 0.0)
    yield Witness(f"mixbench {precision}", "compute", rate.rate, Origin(document.name, rate.line), precision=precision, op="fma")
    yield Witness(
        f"mixbench {precision} GB/s",
        "bandwidth",
        bandwidth.bandwidth,
        Origin(document.name, bandwidth.line),
        level="DRAM",
        op="update",
        working_set_bytes=buffer_bytes,
    )
