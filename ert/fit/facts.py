"""What a device says about its caches, from the object other files store it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ert.errors import SchemaError
from ert.fit.model import CapacityFact
from ert.fit.names import MEMORY
from ert.jsontypes import Json
from ert.levels import FAST_TO_SLOW

_CACHES = [name for name in FAST_TO_SLOW if name.startswith("L")]


def capacity_facts(device: Mapping[str, Json], where: str) -> list[CapacityFact]:
    """The caches of a device, fast to slow, then memory; empty if it says nothing about caches.

    Understood: ``caches`` or ``levels``, a list of ``{"level" or "name", "capacity_bytes"}`` for the whole device, as ert writes it;
    else ``l1_bytes``, ``l2_bytes``, ``l3_bytes``, each also as ``l1_bytes_per_sm`` (or ``_per_core``) times ``sm_count`` (``cores``).
    Raises SchemaError naming ``where`` and the key for a capacity that is not a positive number.
    """
    listed = device.get("caches", device.get("levels"))
    caches = _listed(listed, where) if isinstance(listed, list) else _flat(device, where)
    return [*caches, CapacityFact(MEMORY, None)] if caches else []


def _listed(rows: Sequence[Json], where: str) -> list[CapacityFact]:
    found = []
    for index, row in enumerate(rows):
        name = row.get("level", row.get("name")) if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(name, str):
            raise SchemaError(f"{where}: caches[{index}] needs a 'level' and a 'capacity_bytes'.")
        if name != MEMORY:
            found.append(CapacityFact(name, _capacity(row.get("capacity_bytes"), f"{where}: caches[{index}]: capacity_bytes")))
    return found


def _flat(device: Mapping[str, Json], where: str) -> list[CapacityFact]:
    found = []
    for name in _CACHES:
        key = f"{name.lower()}_bytes"
        whole = _capacity(device.get(key), f"{where}: {key}")
        for each, count in (("per_sm", "sm_count"), ("per_core", "cores")):
            part = _capacity(device.get(f"{key}_{each}"), f"{where}: {key}_{each}")
            if whole is None and part is not None:
                copies = _capacity(device.get(count), f"{where}: {count}")
                if copies is None:
                    raise SchemaError(f"{where}: {key}_{each} needs {count} beside it: working sets count for the whole device.")
                whole = part * copies
        if whole is not None:
            found.append(CapacityFact(name, whole))
    return found


def _capacity(value: Json, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise SchemaError(f"{where} is {value!r}; it must be a positive number, or null where nobody says.")
    return round(value)
