"""Reading spec sheets: the shipped ones in configs/specs, one per product and form factor, and people's own.

A sheet that leaves out a unit, a source or a condition is refused with file, line and field.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import cast

from ert.errors import ConfigError, UsageError
from ert.files import is_folder, parse_json, read_text
from ert.levels import LEVELS
from ert.precisions import PRECISIONS
from ert.spec_sheet import Clock, Identity, Scope, Sheet, SheetNumber, Source
from ert.spec_short import is_short_form, parse_short_sheet
from ert.spec_units import Amount, Quantity, parse_amount
from ert.strict_table import StrictTable, parse_toml_table

KINDS = ("cuda", "rocm", "cpu")
SCOPES = ("gpu", "die", "board", "node", "socket")
_SECTIONS: dict[str, Quantity] = {"compute": "rate", "bandwidth": "bandwidth", "capacity": "capacity"}
_TOP_REQUIRED = {"name", "product", "vendor", "kind", "scope", "match", "sources"}
_TOP_KEYS = _TOP_REQUIRED | {"note", "announced", "mig_slices", *_SECTIONS}
_MATCH_KEYS = {"names", "pattern", "compute_capability", "sm_count", "memory_bus_bits"}
_NUMBER_KEYS = {"value", "source", "scope", "devices", "note", "unconfirmed"}
_SOURCE_KEYS = {"title", "where", "date"}
_NAMES_OF_AMOUNTS = {name.casefold() for name in (*LEVELS, *PRECISIONS)}


@cache
def shipped_sheets() -> Mapping[str, Sheet]:
    """Every shipped sheet by name, in the order of the file names. Raises ConfigError at the first bad one."""
    folder = resources.files("ert.configs").joinpath("specs")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return by_name([parse_sheet(f.read_text(encoding="utf-8"), f"configs/specs/{f.name}") for f in files])


def by_name(sheets: list[Sheet]) -> Mapping[str, Sheet]:
    """The sheets by name. Raises ConfigError naming both files if two carry one name or one device's name."""
    owners: dict[str, Sheet] = {}
    for sheet in sheets:
        if (other := owners.setdefault(sheet.name.casefold(), sheet)) is not sheet:
            raise ConfigError(f"{sheet.file}: name: '{sheet.name}' is also the name of {other.file}.")
    return {sheet.name: sheet for sheet in sheets}


def find_sheet(name_or_file: str) -> Sheet:
    """The sheet of ``--spec``: a shipped name, else a file. Raises UsageError with the nearest names if it is neither."""
    sheets = {name.casefold(): sheet for name, sheet in shipped_sheets().items()}
    if sheet := sheets.get(name_or_file.casefold()):
        return sheet
    if name_or_file and is_folder(name_or_file):
        raise UsageError(f"{name_or_file} is a folder: name the file of a sheet, or a sheet. `ert specs` lists all {len(sheets)}.")
    if name_or_file and (Path(name_or_file).suffix in {".toml", ".json"} or Path(name_or_file).exists()):
        return read_sheet(name_or_file)
    wanted = name_or_file.casefold()
    near = [name for name in sheets if name.startswith(wanted)] or get_close_matches(wanted, sheets, n=3, cutoff=0.4)
    hint = f" Near: {', '.join(sheets[name].name for name in near)}." if near and wanted else ""
    raise UsageError(f"no spec sheet is called '{name_or_file}', and it is no file.{hint} `ert specs` lists all {len(sheets)}.")


def read_sheet(path: str) -> Sheet:
    """A sheet of one's own, TOML or JSON, in the full or the short form. Raises ConfigError naming file, line and field."""
    return parse_sheet(read_text(path), path)


def looks_like_sheet(keys: Collection[str]) -> bool:
    """Whether a table of these keys is meant as a sheet, in the full or the short form."""
    if {"match", "sources"} <= set(keys):
        return True
    return bool({"device", "name"} & set(keys)) and any(key.casefold().partition("_")[0] in _NAMES_OF_AMOUNTS for key in keys)


def parse_sheet(text: str, file: str) -> Sheet:
    """The text of a sheet; JSON if the file's name says so, else TOML. Raises ConfigError naming file, line and field."""
    table = _json_table(text, file) if file.endswith(".json") else parse_toml_table(text, file)
    if is_short_form(table):
        return parse_short_sheet(table)
    table.check_keys(_TOP_KEYS, _TOP_REQUIRED)
    sources = {key: _source(table.table("sources").table(key)) for key in table.table("sources").values}
    numbers = tuple(_numbers(table, sources))
    if not numbers:
        raise table.refuse("compute", f"the sheet holds no number; give some under {', '.join(_SECTIONS)}.")
    return Sheet(
        name=table.string("name"),
        product=table.string("product"),
        vendor=table.string("vendor"),
        kind=table.choice("kind", KINDS),
        identity=_identity(table.table("match")),
        numbers=numbers,
        announced=table.whole("announced") if "announced" in table.values else None,
        mig_slices=table.whole("mig_slices") if "mig_slices" in table.values else None,
        note=table.optional_string("note"),
        file=table.file,
    )


def _json_table(text: str, file: str) -> StrictTable:
    values = parse_json(text, file)
    if not isinstance(values, dict):
        raise ConfigError(f"{file}: a spec sheet is an object, not {type(values).__name__}.")
    return StrictTable(file, "", values, text, 0, len(text))


def _source(table: StrictTable) -> Source:
    # A day without the text that was read then proves nothing, nor does a text without its day.
    evidence = {"checked", "seen"} if {"checked", "seen"} & set(table.values) else set()
    table.check_keys(_SOURCE_KEYS | evidence, _SOURCE_KEYS | evidence)
    return Source(
        title=table.string("title"),
        where=table.string("where"),
        date=table.string("date"),
        checked=_day(table, "checked") if evidence else None,
        seen=table.strings("seen") if evidence else (),
    )


def _day(table: StrictTable, field: str) -> str:
    text = table.string(field)
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise table.refuse(field, f"must be a day such as 2026-11-30, not '{text}'.") from error


def _identity(table: StrictTable) -> Identity:
    table.check_keys(_MATCH_KEYS)
    return Identity(
        names=table.strings("names") if "names" in table.values else (),
        pattern=table.pattern("pattern") if "pattern" in table.values else None,
        compute_capability=table.optional_string("compute_capability"),
        sm_count=table.whole("sm_count") if "sm_count" in table.values else None,
        memory_bus_bits=table.whole("memory_bus_bits") if "memory_bus_bits" in table.values else None,
    )


def _numbers(sheet: StrictTable, sources: Mapping[str, Source]) -> Iterator[SheetNumber]:
    seen = set()
    for section in _SECTIONS:
        for row in sheet.tables(section) if section in sheet.values else ():
            number = _rate(row, sheet, sources) if section == "compute" else _of_level(row, section, sheet, sources)
            if number.what in seen:
                raise row.refuse("value", f"{number.what} stands twice in this sheet.")
            seen.add(number.what)
            yield number


def _rate(row: StrictTable, sheet: StrictTable, sources: Mapping[str, Source]) -> SheetNumber:
    required = {"precision", "path", "clock", "value", "source"}
    if row.values.get("path") == "tensor":
        # Whether a tensor rate counts the zeros of 2:4 sparsity is a factor of 2, so it must be said.
        required.add("density")
    row.check_keys(required | _NUMBER_KEYS | {"density", "at"}, required)
    return replace(
        _plain(row, "rate", sheet, sources),
        precision=row.choice("precision", tuple(PRECISIONS)),
        path=row.choice("path", ("vector", "tensor")),
        is_sparse="density" in row.values and row.choice("density", ("dense", "sparse")) == "sparse",
        clock=cast(Clock, row.choice("clock", ("boost", "base"))),
        clock_hz=_amount(row, "at", "frequency").value if "at" in row.values else None,
    )


def _of_level(row: StrictTable, section: str, sheet: StrictTable, sources: Mapping[str, Source]) -> SheetNumber:
    required = {"level", "value", "source"}
    row.check_keys(required | _NUMBER_KEYS, required)
    return replace(_plain(row, _SECTIONS[section], sheet, sources), level=row.choice("level", tuple(LEVELS)))


def _plain(row: StrictTable, quantity: Quantity, sheet: StrictTable, sources: Mapping[str, Source]) -> SheetNumber:
    """What every number has: amount, scope, source."""
    key = row.string("source")
    if key not in sources:
        raise row.refuse("source", f"'{key}' does not stand under [sources]. There: {', '.join(sources) or 'none'}.")
    return SheetNumber(
        amount=_amount(row, "value", quantity),
        source=sources[key],
        scope=cast(Scope, (row if "scope" in row.values else sheet).choice("scope", SCOPES)),
        devices=row.whole("devices") if "devices" in row.values else 1,
        note=row.optional_string("note"),
        unconfirmed=row.optional_string("unconfirmed"),
    )


def _amount(row: StrictTable, field: str, quantity: Quantity) -> Amount:
    try:
        found = parse_amount(row.string(field))
    except ConfigError as error:
        raise row.refuse(field, str(error)) from error
    if found.quantity != quantity:
        raise row.refuse(field, f"'{found.printed}' is a {found.quantity}, not a {quantity}.")
    return found
