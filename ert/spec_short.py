"""The short form of a spec sheet: a few lines by hand instead of a full sheet.

    device = "My accelerator"
    dram = "2.0 TB/s"               # a level with B/s is its bandwidth, with B its capacity
    l2 = "40 MB"
    fp32_TFLOPps = 19.5             # unit in the key, or in the value: fp32 = "19.5 TFLOP/s"
    fp16_tensor = "624 TFLOP/s"
    sparsity = true                 # needed where there is a tensor rate: does it count skipped zeros?
    clock = "1410 MHz"              # the clock the rates were computed for

The same as JSON, where an amount may also be {"value": 2.0, "unit": "TB/s"}. The file itself is the source.
"""

from __future__ import annotations

import re

from ert.errors import ConfigError
from ert.levels import LEVELS
from ert.precisions import PRECISIONS
from ert.spec_sheet import NO_DATE, Identity, Sheet, SheetNumber, Source
from ert.spec_units import Amount, amount, parse_amount
from ert.strict_table import StrictTable

_FULL_FORM_KEYS = {"match", "sources", "compute", "bandwidth", "capacity"}
_LEVELS = {name.casefold(): name for name in LEVELS}
_UNITS_IN_KEYS = r"[KMGT]?i?B(?:ps)?|[MGTP]FLOP(?:ps|S)|[MGTP]OP(?:ps|S)|[MG]Hz"
_KEY = re.compile(
    rf"(?P<what>clock|{'|'.join(_LEVELS)}|(?:{'|'.join(PRECISIONS)})(?P<path>_tensor|_vector)?)(?:_(?P<unit>{_UNITS_IN_KEYS}))?",
    re.IGNORECASE,
)
_WORDS = {"device", "name", "footnote", "sparsity", "source", "kind"}


def is_short_form(table: StrictTable) -> bool:
    """True if the file has none of the sections of a full sheet."""
    return not _FULL_FORM_KEYS & set(table.values)


def parse_short_sheet(table: StrictTable) -> Sheet:
    """A short sheet. Raises ConfigError naming file, line and every field that is wrong."""
    amounts, problems = _amounts(table)
    if problems:
        raise ConfigError("\n".join(problems))
    clock = amounts.pop("clock", None)
    is_sparse = _is_sparse(table, has_tensor=any(what.endswith(" tensor") for what in amounts))
    if not {"device", "name"} & set(table.values):
        raise table.refuse("device", "is missing: what the product is called.")
    name = table.string("device" if "device" in table.values else "name")
    source = Source(table.optional_string("source") or "given by hand", table.file, NO_DATE)
    numbers = tuple(_number(what, found, source, clock, is_sparse) for what, found in amounts.items())
    if not numbers:
        raise table.refuse("dram", f"the sheet holds no number. {__doc__}")
    return Sheet(
        name=name,
        product=name,
        vendor="not stated",
        kind=table.choice("kind", ("cuda", "cpu")) if "kind" in table.values else "not stated",
        identity=Identity(names=(name,)),
        numbers=numbers,
        file=table.file,
    )


def _amounts(table: StrictTable) -> tuple[dict[str, Amount], list[str]]:
    """What -> amount, and one message for each field that is none: a person mends a sheet in one go."""
    found: dict[str, Amount] = {}
    problems = []
    for field in table.values:
        if field in _WORDS:
            continue
        try:
            what, value = _read(table, field)
            if what in found:
                raise table.refuse(field, f"{what} is given twice.")
            found[what] = value
        except ConfigError as error:
            problems.append(str(error))
    return found, problems


def _read(table: StrictTable, field: str) -> tuple[str, Amount]:
    key = _KEY.fullmatch(field)
    if not key:
        raise table.refuse(field, f"is unknown. Known: {', '.join(sorted(_WORDS | {'clock', *_LEVELS, *PRECISIONS}))}, PRECISION_tensor.")
    try:
        value = _amount(table.values[field], key["unit"])
    except ConfigError as error:
        raise table.refuse(field, str(error)) from error
    return _what(table, field, key, value), value


def _amount(value: object, key_unit: str | None) -> Amount:
    match value:
        case {"value": int(number) | float(number), "unit": str(unit), **rest} if not rest and key_unit is None:
            return amount(number, unit)
        case bool() | None:
            raise ConfigError(f"{'null' if value is None else value} is no amount; leave the field out where the sheet has no number.")
        case int(number) | float(number) if key_unit is not None:
            return amount(number, key_unit.replace("ps", "/s"))
        case int(number) | float(number):
            raise ConfigError(f"{number} has no unit; write it as a text with its unit.")
        case str(text) if key_unit is None:
            return parse_amount(text)
        case str(text):
            raise ConfigError(f"{text!r} must be a plain number, for the unit {key_unit} stands in the key.")
    raise ConfigError(f"{value!r} is no amount; write a text such as '2.0 TB/s'.")


def _what(table: StrictTable, field: str, key: re.Match[str], value: Amount) -> str:
    """``clock``, ``DRAM bandwidth``, ``fp16 tensor``: the words of SheetNumber.what."""
    what = key["what"].casefold()
    quantities = ("bandwidth", "capacity") if what in _LEVELS else ("frequency",) if what == "clock" else ("rate",)
    if value.quantity not in quantities:
        raise table.refuse(field, f"'{value.printed}' is a {value.quantity}, not a {' or '.join(quantities)}.")
    if what in _LEVELS:
        return f"{_LEVELS[what]} {value.quantity}"
    precision, _, path = what.partition("_")
    return what if what == "clock" else f"{precision} {path or 'vector'}"


def _is_sparse(table: StrictTable, *, has_tensor: bool) -> bool:
    said = table.values.get("sparsity")
    if said is not None and not isinstance(said, bool):
        raise table.refuse("sparsity", f"must be true or false, not {said!r}.")
    if said is not None:
        return said
    if "spars" in str(table.values.get("footnote", "")).casefold():
        return True
    if has_tensor:
        raise table.refuse("sparsity", "is missing: say whether the tensor rates count skipped zeros (true) or are dense (false).")
    return False


def _number(what: str, found: Amount, source: Source, clock: Amount | None, is_sparse: bool) -> SheetNumber:
    first, _, second = what.partition(" ")
    if first in LEVELS:
        return SheetNumber(amount=found, source=source, level=first)
    return SheetNumber(
        amount=found,
        source=source,
        precision=first,
        path=second,
        is_sparse=is_sparse and second == "tensor",
        clock_hz=clock.value if clock else None,
    )
