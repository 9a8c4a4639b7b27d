"""Kernel rows of rocprof-compute (pmc_perf.csv) and rocprof (results.csv): one row per dispatch, one column per counter.

FLOPs and traffic as rocprof-compute's roofline counts them: one VALU instruction is a wave of 64 lanes, one
MFMA "MOPS" is 512 FLOPs. Source: calc_ai() in roofline_calc.py of ROCm/rocprofiler-compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ert.errors import AnalysisError
from ert.points import rocprof_roofline
from ert.points.aggregate import by_name, skipped_by_name
from ert.points.csv_rows import Row, rows, split_fields
from ert.points.document import Document
from ert.points.model import Collected, KernelPoint, Origin, Reading, ReadOptions, Skipped, work_key
from ert.points.numerals import number_at

_NAMES = ("Kernel_Name", "KernelName", "Kernel-Name")
_STARTS = ("Start_Timestamp", "BeginNs")
_ENDS = ("End_Timestamp", "EndNs")
_NANO = 1e-9
_WAVE_LANES, _MOPS_FLOPS = 64.0, 512.0
_VALU = {"ADD": 1.0, "MUL": 1.0, "FMA": 2.0, "TRANS": 1.0}
_PRECISIONS = {"F16": "fp16", "BF16": "bf16", "F32": "fp32", "F64": "fp64", "F8": "fp8", "F6F4": "fp4", "I8": "int8", "XF32": "tf32"}
_LDS_BANKS, _BANK_BYTES = 32, 4

# Level -> alternatives of (counter, bytes each). EA0 is the name since MI300, where TCC_BUBBLE counts 128-byte reads.
_Terms = tuple[tuple[str, float], ...]
_TRAFFIC: dict[str, tuple[_Terms, ...]] = {
    "DRAM": (
        (
            ("TCC_BUBBLE_sum", 64.0),
            ("TCC_EA0_RDREQ_sum", 64.0),
            ("TCC_EA0_RDREQ_32B_sum", -32.0),
            ("TCC_EA0_WRREQ_sum", 32.0),
            ("TCC_EA0_WRREQ_64B_sum", 32.0),
        ),
        (("TCC_EA_RDREQ_sum", 64.0), ("TCC_EA_RDREQ_32B_sum", -32.0), ("TCC_EA_WRREQ_sum", 32.0), ("TCC_EA_WRREQ_64B_sum", 32.0)),
        (("FETCH_SIZE", 1024.0), ("WRITE_SIZE", 1024.0)),
        (("FetchSize", 1024.0), ("WriteSize", 1024.0)),
    ),
    "L2": (tuple((f"TCP_TCC_{kind}_REQ_sum", 64.0) for kind in ("READ", "WRITE", "ATOMIC_WITH_RET", "ATOMIC_WITHOUT_RET")),),
    "L1": ((("TCP_TOTAL_CACHE_ACCESSES_sum", 64.0),),),
    "shared": ((("SQ_LDS_IDX_ACTIVE", float(_LDS_BANKS * _BANK_BYTES)), ("SQ_LDS_BANK_CONFLICT", -float(_LDS_BANKS * _BANK_BYTES))),),
}


def recognises(document: Document) -> bool:
    """True for a roofline.csv, or a header with a kernel name and the two time stamps of a dispatch."""
    columns = _header(document)
    is_kernels = all(any(n in columns for n in names) for names in (_NAMES, _STARTS, _ENDS))
    return is_kernels or rocprof_roofline.recognises(document)


def read(document: Document, options: ReadOptions) -> Reading:
    """Kernels, their dispatches summed unless ``per_launch``; for a roofline.csv its ceilings.

    Raises AnalysisError naming line and column.
    """
    if rocprof_roofline.recognises(document):
        return rocprof_roofline.read(document, options)
    columns = _header(document)
    if not recognises(document):
        raise AnalysisError(f"{document.name}: no rocprof CSV found: expected Kernel_Name, Start_Timestamp, End_Timestamp and counters.")
    layout = _Layout(document, columns)
    collected = Collected("rocprof", document.name, findings=list(document.findings))
    points: list[KernelPoint] = []
    for row in rows(document, ",", start=2):
        point = layout.point(row)
        points.append(point) if isinstance(point, KernelPoint) else collected.skipped.append(point)
    if not points and not collected.skipped:
        raise AnalysisError(f"{document.name}: 0 kernels: the header is there and no dispatch below it.")
    collected.points = points if options.per_launch else by_name(points)
    collected.skipped = skipped_by_name(collected.skipped)
    return collected.reading()


def _header(document: Document) -> list[str]:
    return [c.strip() for c in split_fields(document.head.partition("\n")[0], ",")]


class _Layout:
    """The columns of one file and what can be computed from them."""

    def __init__(self, document: Document, columns: Sequence[str]) -> None:
        self._document = document
        self._at = {name: i for i, name in reversed(list(enumerate(columns)))}
        self._width = len(columns)
        self._name, self._start, self._end = (next(n for n in names if n in self._at) for names in (_NAMES, _STARTS, _ENDS))
        self._work = _work_terms(self._at)
        self._traffic = {
            level: terms
            for level, options in _TRAFFIC.items()
            if (terms := next((t for t in options if all(c in self._at for c, _ in t)), None))
        }

    def point(self, row: Row) -> KernelPoint | Skipped:
        """Raises AnalysisError for a row that is cut off and for text where a counter should be."""
        if len(row.fields) < self._width:
            raise self._document.cut_off(len(row.fields), self._width, row.line)
        values = _Values(self._document, row, self._at)
        origin = Origin(self._document.name, row.line, row.fields[self._at["Dispatch_ID"]] if "Dispatch_ID" in self._at else None)
        name = row.fields[self._at[self._name]]
        start, end = values.get(self._start), values.get(self._end)
        if start is None or end is None or end <= start:
            return Skipped(name, f"no duration: {self._end} is not after {self._start}", origin)
        flops = {key: values.total(terms) for key, terms in self._work.items()}
        levels = {level: values.total(terms) for level, terms in self._traffic.items()}
        if not flops:
            values.missing.append("FLOP counters (SQ_INSTS_VALU_*, SQ_INSTS_VALU_MFMA_MOPS_*)")
        return KernelPoint(
            name=name,
            time_s=(end - start) * _NANO,
            flops={key: v for key, v in flops.items() if v is None or v > 0} if flops else None,
            bytes=levels,
            origin=origin,
            missing=tuple(values.missing),
            family="rocprof",
        )


def _work_terms(at: Mapping[str, int]) -> dict[str, _Terms]:
    """Work key -> (counter, FLOPs each) for the counters that were collected."""
    work: dict[str, _Terms] = {}
    for suffix, precision in _PRECISIONS.items():
        valu = tuple((c, _WAVE_LANES * each) for op, each in _VALU.items() if (c := f"SQ_INSTS_VALU_{op}_{suffix}") in at)
        if valu:
            work[precision] = valu
        if (mops := f"SQ_INSTS_VALU_MFMA_MOPS_{suffix}") in at:
            work[work_key(precision, "tensor")] = ((mops, _MOPS_FLOPS),)
    return work


@dataclass(slots=True)
class _Values:
    """The counters of one dispatch; those that could not be read are noted."""

    document: Document
    row: Row
    at: Mapping[str, int]
    missing: list[str] = field(default_factory=list)

    def get(self, column: str) -> float | None:
        index = self.at[column]
        return number_at(self.document, self.row.fields[index], self.row.line, f"{index + 1} ({column})")

    def total(self, terms: _Terms) -> float | None:
        values = [self.get(column) for column, _ in terms]
        lacking = [column for value, (column, _) in zip(values, terms, strict=True) if value is None]
        self.missing += [column for column in lacking if column not in self.missing]
        return None if lacking else max(sum((v or 0.0) * each for v, (_, each) in zip(values, terms, strict=True)), 0.0)
