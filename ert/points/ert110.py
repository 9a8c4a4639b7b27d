"""roofline.json of ERT 1.1.0 (LBNL) -> its measured ceilings, and the vendor's numbers beside them.

Levels are named L1 ... Ln and DRAM, fast to slow; GB/s and GFLOP/s are decimal. No precision is recorded, so the
compute ceiling has none here either. The host's name and address stay in the file they came from.
"""

from __future__ import annotations

from ert.errors import SchemaError
from ert.files import parse_json
from ert.findings import Finding
from ert.jsontypes import Json
from ert.levels import LEVELS
from ert.points.document import Document
from ert.points.model import UNKNOWN, Origin, Reading, ReadOptions, Witness
from ert.units import GIGA


def recognises(document: Document) -> bool:
    """True for JSON with ERT's two keys."""
    head = document.head
    return head.lstrip().startswith("{") and '"empirical"' in head and '"gbytes"' in head


def read(document: Document, options: ReadOptions) -> Reading:
    """Raises SchemaError naming the key that is not as ERT 1.1.0 writes it."""
    whole = parse_json(document.text, document.name)
    empirical, spec = _object(document, whole, "empirical"), _optional(whole, "spec")
    bandwidths, rates = _pairs(document, empirical, "gbytes", "empirical"), _pairs(document, empirical, "gflops", "empirical")
    spec_bandwidths, spec_rates = dict(_pairs(document, spec, "gbytes", "spec")), dict(_pairs(document, spec, "gflops", "spec"))
    origin = Origin(document.name)
    witnesses = [_bandwidth(name, value, spec_bandwidths.get(name), origin) for name, value in bandwidths]
    witnesses += [_compute(name, value, spec_rates.get(name), origin, options) for name, value in rates]
    finding = Finding(
        "precision_unknown",
        f"{document.name}: ERT 1.1.0 does not record the precision of its GFLOP/s",
        remedy="Say it with --precision if you know what the driver was built with.",
    )
    return Reading(
        "ert110", document.name, witnesses=tuple(witnesses), findings=(*document.findings, *(() if options.precision else (finding,)))
    )


def _bandwidth(name: str, value: float, spec: float | None, origin: Origin) -> Witness:
    reason = None if name in LEVELS else f"'{name}' is a level that ERT counted and ours does not name"
    level = name if name in LEVELS else None
    # Its kernel reads and writes every element once.
    return Witness(f"ERT 1.1.0 {name}", "bandwidth", value, origin, level=level, op="update", spec=spec, not_comparable=reason)


def _compute(name: str, value: float, spec: float | None, origin: Origin, options: ReadOptions) -> Witness:
    precision = options.precision or UNKNOWN
    reason = None if options.precision else "its precision is not recorded"
    return Witness(f"ERT 1.1.0 {name}", "compute", value, origin, precision=precision, op="fma", spec=spec, not_comparable=reason)


def _object(document: Document, parent: Json, key: str) -> dict[str, Json]:
    child = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(child, dict):
        raise SchemaError(f"{document.name}: '{key}' is not an object, as in the roofline.json of ERT 1.1.0.")
    return child


def _optional(parent: Json, key: str) -> dict[str, Json]:
    child = parent.get(key) if isinstance(parent, dict) else None
    return child if isinstance(child, dict) else {}


def _pairs(document: Document, parent: dict[str, Json], key: str, where: str) -> list[tuple[str, float]]:
    """``data`` of one kind, SI; metadata beside it may be anything and is not needed."""
    data = _optional(parent, key).get("data", [])
    if not isinstance(data, list):
        raise SchemaError(f"{document.name}: {where}.{key}.data is not a list of [name, value].")
    return [_pair(document, item, f"{where}.{key}.data[{i}]") for i, item in enumerate(data)]


def _pair(document: Document, item: Json, where: str) -> tuple[str, float]:
    match item:
        case [str(name), int(value) | float(value)] if not isinstance(value, bool) and value > 0:
            return name, value * GIGA
    raise SchemaError(f"{document.name}: {where} is {str(item)[:60]}, not [name, value above 0].")
