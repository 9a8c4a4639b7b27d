"""The ceilings file: its reading, writing and migration.

The same facts as a JSON Schema, for other programs: ``ert/schema/ceilings.schema.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from ert.ceilings.check import check
from ert.ceilings.kinds import ROOF_OP, BandwidthCeiling, ComputeCeiling
from ert.ceilings.model import SCHEMA, SCHEMA_VERSION, Ceilings
from ert.codec import decode, encode
from ert.errors import SchemaError
from ert.files import StrPath, dump_json, read_json, write_json_atomic
from ert.jsontypes import Json
from ert.silent_keys import without_silent


@dataclass(frozen=True, slots=True)
class _CeilingLists:
    """The object ``ceilings`` of the file."""

    bandwidth: tuple[BandwidthCeiling, ...]
    compute: tuple[ComputeCeiling, ...]


# version n -> the function that turns a document of version n into one of version n + 1
MIGRATIONS: dict[int, Callable[[dict[str, Json]], dict[str, Json]]] = {}


def load(path: StrPath) -> Ceilings:
    """Read a ceilings file of this or an older schema version.

    Raises SchemaError naming file and key if it is something else or newer, ErtError if it cannot be read.
    """
    return from_dict(read_json(path), str(path))


def save(ceilings: Ceilings, path: StrPath) -> None:
    """Write a ceilings file, whole or not at all. Raises SchemaError if it contradicts itself, ErtError if it cannot be written."""
    check(ceilings, str(path))
    write_json_atomic(path, to_dict(ceilings))


def ceilings_to_json(ceilings: Ceilings) -> str:
    """The text ``save`` writes: strict JSON, keys always in the same order, whole numbers without a point."""
    return dump_json(to_dict(ceilings))


def to_dict(ceilings: Ceilings) -> dict[str, Json]:
    """The document of the ceilings file, in the contract's order of keys; free facts sorted behind the named ones."""
    flat = without_silent(cast(dict[str, Json], encode(ceilings)))
    lists: dict[str, Json] = {"bandwidth": flat.pop("bandwidth_ceilings"), "compute": flat.pop("compute_ceilings")}
    document: dict[str, Json] = {"schema": SCHEMA}
    for key, value in flat.items():
        if key == "roofs":
            document["ceilings"] = lists
        document[key] = value
    for key, first in (("device", ("id", "kind", "vendor", "name", "uuid")), ("environment", ("host", "os", "python", "packages"))):
        document[key] = _ordered(cast(dict[str, Json], flat[key]), first)
    return document


def _ordered(facts: Mapping[str, Json], first: tuple[str, ...]) -> dict[str, Json]:
    keys = [k for k in first if k in facts] + sorted(k for k in facts if k not in first)
    return {key: facts[key] for key in keys}


def from_dict(document: Json, where: str) -> Ceilings:
    """The ceilings of a document, migrated to this version; ``where`` names it in errors. Raises SchemaError."""
    current = _migrated(document, where)
    lists = decode(_CeilingLists, _with_ops(current.get("ceilings")), f"{where}: ceilings")
    ceilings = replace(decode(Ceilings, current, where), bandwidth_ceilings=lists.bandwidth, compute_ceilings=lists.compute)
    check(ceilings, where)
    return ceilings


def _migrated(document: Json, where: str) -> dict[str, Json]:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        raise SchemaError(f"{where}: not a ceilings file: schema is {found!r}, not '{SCHEMA}'. `ert sweep` writes one.")
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SchemaError(f"{where}: schema_version is {version!r}; versions 1 to {SCHEMA_VERSION} are known.")
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{where}: written in schema version {version}; this ert knows versions up to {SCHEMA_VERSION}. Read it with a newer ert."
        )
    for older in range(version, SCHEMA_VERSION):
        document = MIGRATIONS[older](document)
    return {**document, "schema_version": SCHEMA_VERSION}


def _with_ops(lists: Json) -> Json:
    """Fill in the ``op`` of compute ceilings that leave it out: an entry without one is the roof's."""
    if not isinstance(lists, dict) or not isinstance(compute := lists.get("compute"), list):
        return lists
    filled: list[Json] = [{"op": ROOF_OP.get(str(c.get("path"))), **c} if isinstance(c, dict) else c for c in compute]
    return {**lists, "compute": filled}
