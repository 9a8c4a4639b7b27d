"""Intel Advisor: ``--report=roofs`` (ceilings) and ``--report=survey --show-all-columns`` (loops), CSV or text.

Roofs are in byte/s and FLOP/s, and those of one thread, of one node and of all cores stand in one list. Survey
numbers are in GB and GFLOP (1e9) of a loop itself; per-level traffic is there only with --enable-cache-simulation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ert.errors import AnalysisError
from ert.points.aggregate import skipped_by_name
from ert.points.csv_rows import Row, guess_delimiter, rows, split_fields
from ert.points.document import Document
from ert.points.model import UNKNOWN, Collected, KernelPoint, Origin, Reading, ReadOptions, Skipped, Witness
from ert.points.numerals import number_at
from ert.units import GIGA

_ROOF = re.compile(
    r'^"?(?P<name>[A-Za-z][^,"\n]*?)"?(?:,\s*"?|\s{2,})(?P<value>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"?(?:,\s*"?|\s+)(?P<kind>memory|compute)\b.*$'
)
_LEVEL = re.compile(r"^(?:GTI|SLM|CARM|L\d|DRAM|HBM|MCDRAM)\b")
_LEVELS = {"DRAM": "DRAM", "HBM": "DRAM", "MCDRAM": "DRAM", "SLM": "shared", "CARM": "L1", "L1": "L1", "L2": "L2", "L3": "L3"}
_PEAK = re.compile(r"^(?P<precision>DP|SP|HP|Int8|Int16|Int32|Int64) Vector (?P<op>FMA|Add)", re.IGNORECASE)
_PRECISIONS = {"dp": "fp64", "sp": "fp32", "hp": "fp16", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64"}
_NAME = "Function Call Sites and Loops"
_TRAFFIC = {"L1": "Self Memory GB", "L2": "Self L2 GB", "L3": "Self L3 GB", "DRAM": "Self DRAM GB"}
_TYPES = {"Float64": "fp64", "Float32": "fp32", "Float16": "fp16", "BFloat16": "bf16"}


def recognises(document: Document) -> bool:
    """True for a list of roofs or a survey with Advisor's own column names."""
    return _NAME in document.head or any(_ROOF.match(line) for _, line in _first_lines(document))


def read(document: Document, options: ReadOptions) -> Reading:
    """Roofs as witnesses, loops as kernels. Raises AnalysisError naming line and column."""
    if _NAME in document.text:
        return _read_survey(document, options)
    witnesses = [_witness(document, number, found) for number, line in document.lines() if (found := _ROOF.match(line))]
    if not witnesses:
        raise AnalysisError(f"{document.name}: no roofs and no survey found. Make one with `advisor --report=roofs --format=csv`.")
    return Reading("advisor", document.name, witnesses=tuple(witnesses), findings=document.findings)


def _first_lines(document: Document) -> list[tuple[int, str]]:
    return list(zip(range(1, 20), document.head.splitlines(), strict=False))


def _witness(document: Document, line: int, found: re.Match[str]) -> Witness:
    name, value, origin = found["name"].strip(), float(found["value"]) or None, Origin(document.name, line)
    scope = re.search(r"\((.+)\)", name)
    limited = f"{scope[1]}, not the whole machine" if scope else None
    if found["kind"] == "memory":
        level = _LEVEL.match(name)
        known = _LEVELS.get(level[0]) if level else None
        reason = limited or (None if known else f"{name} is no memory level of ours")
        return Witness(f"Advisor {name}", "bandwidth", value, origin, level=known, op="read", not_comparable=reason)
    peak = _PEAK.match(name)
    if peak is None:
        return Witness(f"Advisor {name}", "compute", value, origin, precision=UNKNOWN, not_comparable="its precision is not stated")
    precision = _PRECISIONS[peak["precision"].lower()]
    return Witness(f"Advisor {name}", "compute", value, origin, precision=precision, op=peak["op"].lower(), not_comparable=limited)


def _read_survey(document: Document, options: ReadOptions) -> Reading:
    start, header = next((n, line) for n, line in document.lines() if _NAME in line)
    delimiter = guess_delimiter(header)
    columns = [c.strip() for c in split_fields(header.rstrip("\n"), delimiter)]
    at = {name: i for i, name in reversed(list(enumerate(columns)))}
    collected = Collected("advisor", document.name, findings=list(document.findings))
    for row in rows(document, delimiter, start=start + 1):
        if not row.whole or len(row.fields) < len(columns):
            raise document.cut_off(len(row.fields), len(columns), row.line)
        loop = _loop(document, row, at, options)
        collected.points.append(loop) if isinstance(loop, KernelPoint) else collected.skipped.append(loop)
    collected.skipped = skipped_by_name(collected.skipped)
    if not collected.points and not collected.skipped:
        raise AnalysisError(f"{document.name}: 0 kernels: the survey's header is there and no loop below it.")
    return collected.reading()


def _loop(document: Document, row: Row, at: Mapping[str, int], options: ReadOptions) -> KernelPoint | Skipped:
    def number(column: str) -> float | None:
        if column not in at:
            return None
        text = row.fields[at[column]].strip().removesuffix("s")
        if text.startswith("<"):
            return None
        return number_at(document, text, row.line, f"{at[column] + 1} ({column})", options.decimal or "point")

    name, origin = row.fields[at[_NAME]].strip(), Origin(document.name, row.line)
    gflop, gflops = number("Self GFLOP"), number("Self GFLOPS")
    # Advisor's rate is over elapsed time, so F over it is the time of this work on all threads together.
    time_s = gflop / gflops if gflop and gflops else number("Self Elapsed Time") or number("Self Time")
    if not time_s:
        return Skipped(name, "no time of its own: Self Elapsed Time is empty", origin)
    levels = {level: value * GIGA for level, column in _TRAFFIC.items() if (value := number(column)) is not None}
    return KernelPoint(
        name=name,
        time_s=time_s,
        flops=_work(gflop, row.fields[at["Data Types"]] if "Data Types" in at else "", options),
        bytes=levels,
        origin=origin,
        missing=() if gflop is not None else ("Self GFLOP (collect with --flop)",),
        family="advisor",
    )


def _work(gflop: float | None, types: str, options: ReadOptions) -> dict[str, float | None] | None:
    """The FLOPs under the one floating-point type of the loop; of several, nobody knows the shares."""
    if gflop is None:
        return None
    found: Sequence[str] = sorted({precision for word, precision in _TYPES.items() if re.search(rf"\b{word}\b", types)})
    key = found[0] if len(found) == 1 else options.precision or UNKNOWN
    return {key: gflop * GIGA} if gflop else {}
