"""rocprof-compute's roofline.csv -> its measured ceilings, one set per device.

Columns come in triples X, XLow, XHigh, in an order and with misspellings that change between versions
(``hbmBwHigh``, ``MFMAFI8OpsLow``), so they are found by name. GB/s and GFLOP/s are decimal; 0 means not measured.
Source: roofline.cpp of ROCm/rocm-amdgpu-bench, roofline_calc.py of ROCm/rocprofiler-compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ert.errors import AnalysisError
from ert.points.csv_rows import Row, rows, split_fields
from ert.points.document import Document
from ert.points.model import Collected, Origin, Reading, ReadOptions, Witness
from ert.points.numerals import giga_at

_BANDWIDTHS = {"hbmbw": "DRAM", "mallbw": "MALL", "l2bw": "L2", "l1bw": "L1", "ldsbw": "shared"}
_VECTOR = {f"fp{n}flops": f"fp{n}" for n in (16, 32, 64)} | {f"i{n}ops": f"int{n}" for n in (8, 32, 64)}
_TENSOR = {f"mfmaf{n}flops": f"fp{n}" for n in (4, 6, 8, 16, 32, 64)} | {"mfmabf16flops": "bf16", "mfmai8ops": "int8"}
_MISSPELT = {"mfmafi8ops": "mfmai8ops"}


def recognises(document: Document) -> bool:
    """True for a header with ``device`` first and the HBM and FP32 columns behind it."""
    columns = _header(document)
    return columns[:1] == ["device"] and "hbmbw" in columns


def read(document: Document, options: ReadOptions) -> Reading:
    """The ceilings of ``options.device``, or of every device in the file.

    Raises AnalysisError for a row shorter than the header, and for a device that is not there (listing those that are).
    """
    columns = _header(document)
    body = [_checked(document, row, columns) for row in rows(document, ",", start=2)]
    if not body:
        raise AnalysisError(f"{document.name}: no device: the header is there and no row below it.")
    devices = {row.fields[0].strip(): row for row in body}
    if options.device is not None and options.device not in devices:
        raise AnalysisError(f"{document.name}: no device '{options.device}' in this file. It has: {', '.join(devices)}.")
    collected = Collected("rocprof", document.name, findings=list(document.findings))
    for name, row in devices.items():
        if options.device in (None, name):
            collected.witnesses += _witnesses(document, row, columns, name)
    return collected.reading()


def _header(document: Document) -> list[str]:
    first = document.head.partition("\n")[0]
    return [_plain(c) for c in split_fields(first, ",")]


def _plain(column: str) -> str:
    """Lower case, without the two misspellings."""
    name = column.strip().lower()
    for wrong, right in _MISSPELT.items():
        name = name.replace(wrong, right)
    return name


def _checked(document: Document, row: Row, columns: Sequence[str]) -> Row:
    if len(row.fields) < len(columns):
        device = row.fields[0] if row.fields else "?"
        raise document.error(
            f"the row of device {device} has {len(row.fields)} columns, the header {len(columns)}. Is the file whole?", row.line
        )
    return row


def _witnesses(document: Document, row: Row, columns: Sequence[str], device: str) -> list[Witness]:
    values = {c: giga_at(document, row.fields[i], row.line, f"{i + 1} ({c})") for i, c in enumerate(columns) if i and c}
    named = [(column, witness) for column in values if (witness := _named(column, Origin(document.name, row.line)))]
    return [
        replace(witness, value=values[column], low=values.get(f"{column}low"), high=values.get(f"{column}high"), device=device)
        for column, witness in named
    ]


def _named(column: str, origin: Origin) -> Witness | None:
    """What a column measures, without its value; None for the ends of an interval."""
    if level := _BANDWIDTHS.get(column):
        return Witness(f"rocprof-compute {level}", "bandwidth", None, origin, level=level, op="read")
    if precision := _VECTOR.get(column):
        return Witness(f"rocprof-compute {precision}", "compute", None, origin, precision=precision, op="fma")
    if precision := _TENSOR.get(column):
        return Witness(f"rocprof-compute MFMA {precision}", "compute", None, origin, precision=precision, path="tensor", op="mma")
    return None
