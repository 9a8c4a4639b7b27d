"""Nsight Compute CSV (``--csv`` with ``--page raw`` or ``details``, 2019 to today) -> kernels."""

from __future__ import annotations

import re

from ert.errors import AnalysisError
from ert.findings import Finding
from ert.points.aggregate import by_name, skipped_by_name
from ert.points.document import Document
from ert.points.model import Collected, Decimal, KernelPoint, Reading, ReadOptions
from ert.points.ncu_launch import Plan, plan, to_point
from ert.points.ncu_layout import Layout, cells_of, find_header, read_layout
from ert.points.ncu_metrics import NERSC, STOCK, is_wanted
from ert.points.numerals import is_ambiguous

_TOOL_LINE = re.compile(r"^==(ERROR|WARNING)== ?(.*)$", re.MULTILINE)
_PERMISSION = (
    "{name}: ERR_NVGPUCTRPERM: the profiler had no permission to read the GPU's performance counters. Load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0, or profile as root or with CAP_SYS_ADMIN."
)


def recognises(document: Document) -> bool:
    """True for a CSV with ncu's columns, and for ncu output that never got that far."""
    return find_header(document) is not None or re.search(r"^==(PROF|ERROR|WARNING)== ", document.head, re.MULTILINE) is not None


def read(document: Document, options: ReadOptions) -> Reading:
    """Every kernel of the file, its launches summed unless ``per_launch``.

    Raises AnalysisError if there is no CSV or no kernel in it (with ncu's own error), if a value is no number,
    or if nothing proves whether ``117.344`` is a thousand or a thousandth.
    """
    header = find_header(document)
    if header is None:
        raise _no_csv(document)
    layout = read_layout(document, header, is_wanted)
    decimal = options.decimal or layout.decimal or _undecided(document, layout)
    collected = Collected("ncu", document.name, skipped=list(layout.damaged), findings=[*document.findings, *_errors(document)])
    points: list[KernelPoint] = []
    for table in layout.tables:
        chosen = plan(table)
        collected.findings += _family_findings(document, chosen, has_units=table.has_units or not table.launches)
        for launch in table.launches:
            point = to_point(document, decimal, chosen, launch)
            points.append(point) if isinstance(point, KernelPoint) else collected.skipped.append(point)
    if not points and not collected.skipped:
        raise AnalysisError(f"{document.name}: 0 kernels: the header is there and no launch below it.{_said(document)}")
    collected.points = points if options.per_launch else by_name(points)
    collected.skipped = skipped_by_name(collected.skipped)
    return collected.reading()


def _no_csv(document: Document) -> AnalysisError:
    if "ERR_NVGPUCTRPERM" in document.text:
        return AnalysisError(_PERMISSION.format(name=document.name))
    return AnalysisError(f"{document.name}: no ncu CSV found.{_said(document)} Make one with `ncu --csv --page raw ... > FILE`.")


def _said(document: Document) -> str:
    """ncu's first own error or warning, for the reader of ours."""
    found = _TOOL_LINE.search(document.text)
    return f" ncu said: {found[2].strip()}" if found else ""


def _errors(document: Document) -> list[Finding]:
    if "ERR_NVGPUCTRPERM" in document.text:
        return [Finding("profiler_error", _PERMISSION.format(name=document.name))]
    if "==ERROR==" not in document.text:
        return []
    return [
        Finding("profiler_error", f"{document.name}: ncu said: {m[2].strip()}")
        for m in _TOOL_LINE.finditer(document.text)
        if m[1] == "ERROR"
    ]


def _undecided(document: Document, layout: Layout) -> Decimal:
    for cell in cells_of(layout):
        if is_ambiguous(cell.text):
            raise document.error(
                f"'{cell.text}' can be a thousand or a thousandth, and no other number of the file proves which. "
                "Say --decimal point or --decimal comma.",
                cell.line,
                cell.column,
            )
    return "point"


def _family_findings(document: Document, chosen: Plan, *, has_units: bool) -> list[Finding]:
    findings: list[Finding] = []
    if chosen.dropped:
        other = STOCK if chosen.family == NERSC else NERSC
        findings.append(
            Finding(
                "traffic_families",
                f"{document.name}: {', '.join(chosen.dropped)} is left out: it was collected with the metrics of the {other}, "
                f"the other levels with those of {chosen.family}, and their AIs are not comparable",
                remedy="Collect lts__t_bytes.sum and l1tex__t_bytes.sum for every level.",
            )
        )
    elif chosen.family == STOCK:
        findings.append(
            Finding(
                "traffic_families",
                f"{document.name}: L1 and L2 traffic come from the roofline sections shipped with ncu (L1 write-back, L2 to crossbar), "
                "not from *__t_bytes: their AIs are not comparable with NERSC's method",
            )
        )
    if not has_units:
        findings.append(Finding("no_units", f"{document.name}: there is no row of units: base units assumed (ns, byte)"))
    return findings
