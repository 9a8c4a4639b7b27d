"""``nvbandwidth -j`` -> copies inside the device's memory, and what went over PCIe or NVLink, which is no memory roof."""

from __future__ import annotations

from dataclasses import replace

from ert.errors import SchemaError
from ert.files import parse_json
from ert.jsontypes import Json
from ert.points.document import Document
from ert.points.model import Collected, Origin, Reading, ReadOptions, Witness
from ert.points.numerals import is_missing, parse_number
from ert.units import GIGA

_LOCAL = "device_local_copy"
_INTERCONNECT = "PCIe or NVLink: never a stand-in for the device's own memory"


def recognises(document: Document) -> bool:
    """True for JSON with nvbandwidth's key."""
    return document.head.lstrip().startswith("{") and '"nvbandwidth"' in document.head and '"testcases"' in document.head


def read(document: Document, options: ReadOptions) -> Reading:
    """One witness per device and test that passed; the others have no value and their status as the reason. Raises SchemaError."""
    whole = parse_json(document.text, document.name)
    inner = whole.get("nvbandwidth") if isinstance(whole, dict) else None
    cases = inner.get("testcases") if isinstance(inner, dict) else None
    if not isinstance(cases, list):
        raise SchemaError(f"{document.name}: nvbandwidth.testcases is not a list.")
    collected = Collected("nvbandwidth", document.name, findings=list(document.findings))
    for index, case in enumerate(cases):
        if not isinstance(case, dict):
            raise SchemaError(f"{document.name}: nvbandwidth.testcases[{index}] is not an object.")
        _add(collected, case, f"nvbandwidth.testcases[{index}]")
    return collected.reading()


def _add(collected: Collected, case: dict[str, Json], where: str) -> None:
    name, status, origin = str(case.get("name")), str(case.get("status")), Origin(collected.file)
    if status != "Passed":
        reason = f"status {status}" + (f": {case['error']}" if case.get("error") else "")
        collected.witnesses.append(replace(_witness(name, None, origin, ""), device=None, not_comparable=reason))
        return
    matrix = case.get("bandwidth_matrix")
    if not isinstance(matrix, list) or not all(isinstance(row, list) for row in matrix):
        raise SchemaError(f"{collected.file}: {where}.bandwidth_matrix is not a matrix.")
    for row_number, row in enumerate(matrix):
        assert isinstance(row, list)
        for column, cell in enumerate(row):
            value = _number(cell, f"{collected.file}: {where}.bandwidth_matrix[{row_number}][{column}]")
            collected.witnesses.append(_witness(name, value, origin, f"{row_number},{column}" if len(matrix) > 1 else str(column)))


def _witness(name: str, value: float | None, origin: Origin, device: str) -> Witness:
    if name.startswith(_LOCAL):
        return Witness(f"nvbandwidth {name}", "bandwidth", value, origin, level="DRAM", op="copy", device=device)
    return Witness(f"nvbandwidth {name}", "interconnect", value, origin, not_comparable=_INTERCONNECT, device=device)


def _number(cell: Json, where: str) -> float | None:
    """GB/s as text or number -> byte/s; ``N/A`` is None."""
    text = str(cell)
    if cell is None or is_missing(text):
        return None
    try:
        return parse_number(text, "point") * GIGA
    except ValueError as error:
        raise SchemaError(f"{where}: {error}.") from error
