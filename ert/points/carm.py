"""CARM tool's roofline csv -> bandwidth per level and rate per precision of each row (one row per run).

Two header lines; the second names the columns of a row, where each level has a GB/s and an I/Cycle column.
"""

from __future__ import annotations

from collections.abc import Iterator

from ert.errors import AnalysisError
from ert.points.document import Document
from ert.points.model import Origin, Reading, ReadOptions, Witness
from ert.points.numerals import giga_at

PRECISIONS = {"dp": "fp64", "sp": "fp32", "hp": "fp16", "bf16": "bf16"}
_NEEDED = ("ISA", "Precision", "Threads", "Loads", "Stores")
LEVELS = ("L1", "L2", "L3", "DRAM")


def recognises(document: Document) -> bool:
    """True for its two header lines."""
    first, _, rest = document.head.partition("\n")
    return first.startswith("Name:,") and rest.startswith("Date,ISA,Precision,")


def read(document: Document, options: ReadOptions) -> Reading:
    """Every row. Raises AnalysisError naming line and column."""
    lines = list(document.lines())
    if len(lines) < 3:
        raise AnalysisError(f"{document.name}: no run below the two header lines of CARM.")
    columns = [c.strip() for c in lines[1][1].split(",")]
    if absent := [c for c in _NEEDED if c not in columns]:
        raise document.error(f"no column {', '.join(absent)}; the second header line of CARM names them.", 2)
    witnesses = [w for number, line in lines[2:] if line.strip() for w in _row(document, number, line, columns)]
    return Reading("carm", document.name, witnesses=tuple(witnesses), findings=document.findings)


def _row(document: Document, line: int, text: str, columns: list[str]) -> Iterator[Witness]:
    fields = [f.strip() for f in text.rstrip("\n").split(",")]
    if len(fields) < len(columns):
        raise document.cut_off(len(fields), len(columns), line)
    at = {name: i for i, name in reversed(list(enumerate(columns)))}
    rates = [i for i, c in enumerate(columns) if c.lower() == "gflop/s"]
    values = [giga_at(document, fields[i], line, i + 1) for i, c in enumerate(columns) if c == "GB/s"]
    about = f"CARM {fields[at['ISA']]}, {fields[at['Threads']]} threads, {fields[at['Loads']]} loads {fields[at['Stores']]} stores"
    origin = Origin(document.name, line)
    for level, value in zip(LEVELS, values, strict=False):
        yield Witness(f"{about}: {level}", "bandwidth", value, origin, level=level, op=_op(fields[at["Loads"]], fields[at["Stores"]]))
    precision = PRECISIONS.get(fields[at["Precision"]], fields[at["Precision"]])
    # The first rate is that of the instruction named in the row, the second always that of FMA.
    ops = [fields[at["FP Inst."]] if "FP Inst." in at else "add", "fma"]
    for op, index in zip(ops, rates, strict=False):
        yield Witness(
            f"{about}: {precision} {op}", "compute", giga_at(document, fields[index], line, index + 1), origin, precision=precision, op=op
        )


def _op(loads: str, stores: str) -> str:
    return "read" if stores == "0" else "write" if loads == "0" else "triad" if loads == "2" else "copy"
