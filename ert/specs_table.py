"""Spec sheets and their ridge points, as tables for a terminal and as JSON documents. Nothing here prints."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.codec import encode
from ert.columns import precision_name
from ert.jsontypes import Json
from ert.precisions import precision_rank, rate_unit
from ert.spec_ridges import Ridges
from ert.spec_sheet import Sheet, SheetNumber, Source
from ert.units import with_prefix


def sheets_list(sheets: Sequence[Sheet]) -> RenderableType:
    """One line per sheet: name, product, DRAM bandwidth, how many numbers, when they were checked, where they come from."""
    table = _table("name", "product", "DRAM", "numbers", "checked", "first source")
    for sheet in sheets:
        dram = sheet.number("DRAM bandwidth")
        source = sheet.numbers[0].source
        rate = with_prefix(dram.dense_value, "B/s") if dram else "-"
        cells = (sheet.name, sheet.product, rate, _count(sheet), source.checked or "-", source.cited)
        table.add_row(*map(Text, cells))
    return table


def _count(sheet: Sheet) -> str:
    """How many numbers, and how many of them no public text was found for."""
    unconfirmed = sum(number.unconfirmed is not None for number in sheet.numbers)
    return f"{len(sheet.numbers)}, {unconfirmed} unconfirmed" if unconfirmed else str(len(sheet.numbers))


def sheet_report(sheet: Sheet) -> RenderableType:
    """Every number of one sheet with its conditions, then its sources."""
    sources = list(dict.fromkeys(n.source for n in sheet.numbers))
    table = _table("number", "printed", "dense, per device", "conditions", "source")
    for number in sheet.numbers:
        cells = (number.what, number.amount.printed, _per_device(number), _conditions(number), f"[{sources.index(number.source) + 1}]")
        table.add_row(*map(Text, cells))
    heading = Text.assemble((sheet.name, "bold"), f": {sheet.product} ({sheet.vendor}), read from {sheet.file}")
    if sheet.note:
        heading.append(f"\n{sheet.note}")
    lines = [line for i, source in enumerate(sources, start=1) for line in _source_lines(i, source)]
    return Group(heading, Text(), table, Text(), Text("\n".join(lines)))


def _source_lines(i: int, source: Source) -> list[str]:
    """The document, and the public text its numbers were compared with."""
    lines = [f"[{i}] {source.cited}", f"    {source.where}"]
    if source.checked:
        lines += [f"    checked {source.checked} against", *(f"      {text}" for text in source.seen)]
    return lines


def _per_device(number: SheetNumber) -> str:
    rate = rate_unit(number.precision or "")
    return with_prefix(number.dense_value, {"bandwidth": "B/s", "rate": rate}.get(number.amount.quantity, "B"))


def _conditions(number: SheetNumber) -> str:
    said = [number.scope if number.devices == 1 else f"{number.scope} of {number.devices}"]
    if number.path == "tensor":
        said.append("sparse" if number.is_sparse else "dense")
    if number.clock or number.clock_hz:
        said.append(" ".join(filter(None, (number.clock, f"{number.clock_hz / 1e6:.0f} MHz" if number.clock_hz else None))))
    unconfirmed = f"unconfirmed: {number.unconfirmed}" if number.unconfirmed else None
    return ", ".join(filter(None, (*said, number.note, unconfirmed)))


def ridges_table(ridges: Sequence[Ridges], width: int) -> RenderableType:
    """One line per product, one column per precision and path that any of them has; in several tables where one is too wide."""
    keys = sorted({key for found in ridges for key in found.points}, key=lambda key: (precision_rank(key[0]), key[0], key[1] != "vector"))
    per_table = max(1, (width - _fixed_width(ridges)) // _RIDGE_WIDTH)
    parts: list[RenderableType] = [Text("Ridge points against DRAM, FLOP/byte (integer precisions: op/byte); dense rates", style="bold")]
    for start in range(0, len(keys), per_table):
        parts += [Text(), _some_ridges(ridges, keys[start : start + per_table])]
    return Group(*parts)


# Between two columns: the padding and the frame's divider, both blank.
_GAP = 2
# A ridge point or half of a column's title.
_RIDGE_WIDTH = len("tensor") + _GAP


def _fixed_width(ridges: Sequence[Ridges]) -> int:
    """Characters that product, year, origin and bandwidth take in every table."""
    columns = zip(*(_fixed_cells(found) for found in ridges), strict=True)
    return sum(max(map(len, column)) + _GAP for column in columns)


def _fixed_cells(found: Ridges) -> tuple[str, str, str, str]:
    return found.name, str(found.year or "-"), found.origin, with_prefix(found.bandwidth_bytes_per_s, "B/s")


def _some_ridges(ridges: Sequence[Ridges], keys: Sequence[tuple[str, str]]) -> Table:
    titles = (precision_name(*key).replace(" ", "\n") for key in keys)
    table = _table("product", "year", "from", "DRAM", *titles, no_wrap=True)
    for found in ridges:
        values = (f"{found.points[key]:.3g}" if key in found.points else "-" for key in keys)
        table.add_row(*map(Text, (*_fixed_cells(found), *values)))
    return table


def _table(*columns: str, no_wrap: bool = False) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, no_wrap=no_wrap or i == 0, overflow="fold")
    return table


def sheets_document(sheets: Sequence[Sheet]) -> dict[str, Json]:
    """Every number as printed and per device, for other programs."""
    return {"schema": "ert.specs", "schema_version": 1, "sheets": [_sheet(sheet) for sheet in sheets]}


def _sheet(sheet: Sheet) -> Json:
    fields = encode(sheet)
    assert isinstance(fields, dict)  # encode of a dataclass
    numbers: dict[str, Json] = {"numbers": [_number(number) for number in sheet.numbers]}
    return fields | numbers


def _number(number: SheetNumber) -> Json:
    fields = encode(number)
    assert isinstance(fields, dict)  # encode of a dataclass
    derived: dict[str, Json] = {"what": number.what, "dense_value_per_device": number.dense_value}
    return derived | fields


def ridges_document(ridges: Sequence[Ridges]) -> dict[str, Json]:
    """The ridge points, FLOP/byte."""
    rows: list[Json] = [
        {
            "name": found.name,
            "origin": found.origin,
            "announced": found.year,
            "bandwidth_bytes_per_s": found.bandwidth_bytes_per_s,
            "ridges": [{"precision": p, "path": path, "flop_per_byte": value} for (p, path), value in found.points.items()],
        }
        for found in ridges
    ]
    return {"schema": "ert.ridges", "schema_version": 1, "rows": rows}
