"""ert's own points JSON: a list of kernels, or an object with one under ``points`` or ``kernels`` (also `ert compare --json`)."""

from __future__ import annotations

import json
from collections.abc import Callable

from ert.errors import AnalysisError, SchemaError
from ert.files import parse_json
from ert.jsontypes import Json
from ert.levels import LEVELS
from ert.points.document import Document
from ert.points.fields import Fields, to_point
from ert.points.model import Collected, KernelPoint, Origin, Reading, ReadOptions

_LISTS = ("points", "kernels")
_SCHEMAS = (None, "ert.points", "ert.comparison")
_LEVELS = {level.lower(): level for level in LEVELS}


def recognises(document: Document) -> bool:
    """JSON whose objects have a time: ceilings files and other tools' JSON have none at that place."""
    if document.head.lstrip()[:1] not in ("[", "{"):
        return False
    try:
        whole = json.loads(document.text)
        kernels = _kernels(whole)
    except (ValueError, RecursionError):
        return False
    if isinstance(whole, dict) and whole.get("schema") not in _SCHEMAS:
        return False
    return bool(kernels) and all(isinstance(k, dict) and ("time_s" in k or "name" in k or "kernel" in k) for k in kernels or [])


def read(document: Document, options: ReadOptions) -> Reading:
    """Every kernel, in order. Raises AnalysisError naming file, kernel and key, SchemaError for text that is no JSON."""
    kernels = _kernels(parse_json(document.text, document.name))
    if kernels is None:
        raise SchemaError(f'{document.name}: no list of kernels: expected [{{"name": ..., "time_s": ..., "flops": ...}}, ...].')
    if not kernels:
        raise AnalysisError(f"{document.name}: 0 kernels: the list is empty.")
    collected = Collected("json", document.name, findings=list(document.findings))
    for index, kernel in enumerate(kernels):
        point = to_point(_fields(document, kernel, f"kernels[{index}]"), options)
        collected.points.append(point) if isinstance(point, KernelPoint) else collected.skipped.append(point)
    return collected.reading()


def _kernels(document: Json) -> list[Json] | None:
    if isinstance(document, dict):
        document = next((document[key] for key in _LISTS if isinstance(document.get(key), list)), None)
    return document if isinstance(document, list) else None


def _fields(document: Document, kernel: Json, where: str) -> Fields:
    def locate(column: str, message: str) -> AnalysisError:
        return document.error(f"{where}.{column}: {message}.")

    if not isinstance(kernel, dict):
        raise document.error(f"{where} is not an object.")
    cells: dict[str, str] = {}
    for key, value in kernel.items():
        if key in ("flops", "bytes") and isinstance(value, dict):
            for name, part in value.items():
                column = f"flops_{name}" if key == "flops" else f"{name.lower()}_bytes"
                cells[column] = _cell(part, column, locate)
        elif not isinstance(value, dict | list):
            cells[key.lower()] = _cell(value, key, locate)
    return Fields(cells, Origin(document.name), locate, "point")


def _cell(value: Json, column: str, locate: Callable[[str, str], AnalysisError]) -> str:
    """A JSON value as the text a CSV cell would hold; null is an empty cell."""
    if isinstance(value, bool | list | dict):
        raise locate(column, f"{json.dumps(value)[:40]} is neither a number nor a text")
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)
