"""Another tool's measured ceilings as a ceilings file of ours, so that kernels can be judged against them too."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from ert.ceilings import Ceilings
from ert.ceilings.file import from_dict
from ert.ceilings.kinds import ROOF_OP, BandwidthCeiling, ComputeCeiling, ComputePath
from ert.ceilings.model import SCHEMA, Tool
from ert.errors import AnalysisError
from ert.files import parse_json
from ert.findings import Finding
from ert.levels import FAST_TO_SLOW
from ert.points.document import STDIN, read_document
from ert.points.formats import AUTO, parse_points, recognise
from ert.points.model import DEFAULTS, Reading, ReadOptions, Witness
from ert.timestamps import utc_text


def load_ceilings(path: str, options: ReadOptions = DEFAULTS) -> Ceilings:
    """A ceilings file of ours, or one of another tool (ERT 1.1.0, rocprof-compute, CARM, Advisor, Kerncraft, ...).

    Raises AnalysisError or SchemaError naming the file, ErtError if it cannot be read.
    """
    document = read_document(path)
    if f'"{SCHEMA}"' in document.head or (document.head.lstrip().startswith("{") and recognise(document) is None):
        return from_dict(parse_json(document.text, document.name), document.name)
    return replace(ceilings_of(parse_points(document, AUTO, options)), created=_date(path))


def _date(path: str) -> str:
    """That of the file: the formats of others record none, or each its own."""
    seconds = time.time() if path == STDIN else Path(path).stat().st_mtime
    return utc_text(datetime.fromtimestamp(seconds, UTC))


def ceilings_of(reading: Reading) -> Ceilings:
    """The witnesses of one file as ceilings; of several devices the first. Raises AnalysisError if none can be a roof."""
    usable = [w for w in reading.witnesses if w.value is not None and w.kind != "interconnect" and _is_whole_device(w)]
    devices = list(dict.fromkeys(w.device for w in usable))
    mine = [w for w in usable if w.device == devices[0]] if devices else []
    bandwidth, compute = _bandwidth_ceilings(mine), _compute_ceilings(mine)
    if not bandwidth:
        raise AnalysisError(f"{reading.file}: no bandwidth of a memory level in it, so it cannot stand for a ceilings file.")
    findings = list(reading.findings)
    if len(devices) > 1:
        others = ", ".join(str(d) for d in devices[1:])
        findings.append(
            Finding(
                "first_device", f"{reading.file}: device {devices[0]} taken; the file has also {others}", remedy="Choose with --device."
            )
        )
    return Ceilings(
        created="unknown",
        tool=Tool(reading.format, "unknown"),
        argv=(),
        device={"id": f"{reading.format}:{devices[0] or 0}", "kind": "unknown", "name": f"ceilings of {reading.format}"},
        environment={},
        config={"name": reading.file},
        bandwidth_ceilings=bandwidth,
        compute_ceilings=compute,
        warnings=tuple(findings),
    )


def _is_whole_device(witness: Witness) -> bool:
    """A rate without a precision may stand as a roof (it will only ever match work without one); part of a device may not."""
    return witness.not_comparable is None or (
        witness.kind == "compute" and witness.op is not None and "whole" not in witness.not_comparable
    )


def _best(witnesses: Iterable[Witness]) -> list[Witness]:
    """The highest of each level or precision, path and operation."""
    best: dict[tuple[str | None, ...], Witness] = {}
    for w in witnesses:
        key = (w.level, w.precision, w.path, w.op)
        if key not in best or (w.value or 0.0) > (best[key].value or 0.0):
            best[key] = w
    return list(best.values())


def _bandwidth_ceilings(witnesses: Sequence[Witness]) -> tuple[BandwidthCeiling, ...]:
    found = [
        BandwidthCeiling(level=w.level, op=w.op or "read", value=w.value, ci95=_interval(w), roof=False, kernel=w.what)
        for w in _best(w for w in witnesses if w.kind == "bandwidth")
        if w.level in FAST_TO_SLOW and w.value is not None
    ]
    roofs = {c.level: max((o for o in found if o.level == c.level), key=lambda o: o.value) for c in found}
    return tuple(replace(c, roof=c is roofs[c.level]) for c in found)


def _compute_ceilings(witnesses: Sequence[Witness]) -> tuple[ComputeCeiling, ...]:
    return tuple(
        ComputeCeiling(
            precision=w.precision,
            path=cast(ComputePath, w.path),
            op=w.op,
            value=w.value,
            ci95=_interval(w),
            roof=w.op == ROOF_OP[w.path],
            kernel=w.what,
        )
        for w in _best(w for w in witnesses if w.kind == "compute")
        if w.precision is not None and w.op is not None and w.value is not None
    )


def _interval(witness: Witness) -> tuple[float, float] | None:
    return (witness.low, witness.high) if witness.low and witness.high else None
