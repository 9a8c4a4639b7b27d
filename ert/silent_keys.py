"""Keys of the ceilings file that stand there only where they say something: most points and ceilings have none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ert.jsontypes import Json

# key -> the value that says nothing
_SILENT: dict[str, Json] = {
    "diagnostics": [],
    "memory_clock_hz": [],
    "power_w": [],
    "temperature_c": [],
    "burst": None,
    "operands": "random",
    "sustain_s": None,
}
_LISTS = ("bandwidth_ceilings", "compute_ceilings", "points")


def without_silent(document: Mapping[str, Json]) -> dict[str, Json]:
    """The document without them; a reader fills in what is absent."""
    found = _speaking(document)
    return {key: [_speaking(_table(row)) for row in cast(list[Json], value)] if key in _LISTS else value for key, value in found.items()}


def _speaking(table: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in table.items() if key not in _SILENT or value not in (None, _SILENT[key])}


def _table(row: Json) -> dict[str, Json]:
    return cast(dict[str, Json], row)
