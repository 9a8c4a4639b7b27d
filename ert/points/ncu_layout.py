"""Where things stand in a Nsight Compute CSV: the wide raw page, the long details page and the per-kernel summary.

Columns are found by name, so the columns that versions add (Kernel Time, Block Size, NVTX ranges, Rule Name)
do not matter. ==PROF== lines and the program's own output may stand anywhere between the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import NamedTuple

from ert.points.csv_rows import Row, guess_delimiter, rows, split_fields
from ert.points.document import Document
from ert.points.model import Decimal, Origin, Skipped
from ert.points.ncu_units import is_count
from ert.points.numerals import decimal_evidence, whole_number_evidence

NAME = "Kernel Name"
METRIC = "Metric Name"
# A program's own output seldom holds so many quoted fields in one line.
_TORN_FIELDS = 3


class Cell(NamedTuple):
    """One printed value, its unit as printed, and where it stands."""

    text: str
    unit: str
    line: int
    column: int


@dataclass(slots=True)
class Launch:
    """One launch, or ``invocations`` of them in a per-kernel summary.

    cells  metric -> printed value; metrics with a display name only are keyed ``Section|Name``
    """

    name: str
    id: str
    line: int
    compute_capability: str
    cells: dict[str, Cell] = field(default_factory=dict)
    invocations: str = "1"


@dataclass(slots=True)
class Table:
    """All launches of one CSV block (several runs may be appended to one file), and what was collected for any of them."""

    launches: list[Launch] = field(default_factory=list)
    collected: set[str] = field(default_factory=set)
    has_units: bool = True


@dataclass(slots=True)
class Layout:
    """What a file holds: its blocks, the rows that cannot be read, and what its numbers prove about the decimal sign."""

    tables: list[Table] = field(default_factory=list)
    damaged: list[Skipped] = field(default_factory=list)
    decimal: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """Where the columns are named. ``is_quoted``: ncu quotes every field; a spreadsheet may have taken the quotes away."""

    line: int
    delimiter: str
    names: tuple[str, ...]
    is_quoted: bool

    @property
    def columns(self) -> Mapping[str, int]:
        return {name: i for i, name in reversed(list(enumerate(self.names)))}


def header_of(line: str) -> tuple[str, tuple[str, ...]] | None:
    """(delimiter, column names) if this line is the header of a Nsight Compute CSV."""
    if NAME not in line:
        return None
    delimiter = guess_delimiter(line)
    names = tuple(n.strip().strip('"') for n in split_fields(line.strip().lstrip("\ufeff"), delimiter))
    known = NAME in names and ("ID" in names or METRIC in names)
    return (delimiter, names) if known else None


def find_header(document: Document) -> Header | None:
    """The first header line of the file."""
    position = document.text.find(NAME)
    while position >= 0:
        number, line = document.line_at(position)
        if found := header_of(line):
            return Header(number, *found, is_quoted=line.lstrip("\ufeff ").startswith('"'))
        position = document.text.find(NAME, position + len(NAME))
    return None


def read_layout(document: Document, header: Header, wanted: Callable[[str], bool]) -> Layout:
    """Every launch of the file with the cells of the wanted metrics."""
    layout = Layout()
    block = _Block(document, header, wanted)
    for row in rows(document, header.delimiter, start=header.line + 1, is_noise=lambda line: _is_noise(line, header)):
        if NAME in row.fields and (again := header_of(header.delimiter.join(row.fields))):
            layout.tables.append(block.table)
            block = _Block(document, replace(header, line=row.line, names=again[1]), wanted)
        elif reason := block.add(row):
            layout.damaged.append(Skipped(block.name_of(row), reason, Origin(document.name, row.line)))
        layout.decimal = layout.decimal or block.decimal
    layout.tables.append(block.table)
    return layout


def _is_noise(line: str, header: Header) -> bool:
    """True for lines between the rows. What holds several fields without beginning like a row is a torn one, not noise."""
    if line.startswith('"') or line.count(f'"{header.delimiter}"') >= _TORN_FIELDS:
        return False
    return header.is_quoted or line.startswith("==") or header.delimiter not in line


class _Block:
    """One header and the rows under it, growing a Table."""

    def __init__(self, document: Document, header: Header, wanted: Callable[[str], bool]) -> None:
        self.table = Table()
        self.decimal: Decimal | None = None
        self._document = document
        self._width = len(header.names)
        self._columns = header.columns
        self._is_long = METRIC in self._columns
        self._wanted = wanted
        self._by_key: dict[object, Launch] = {}
        self._identity = [self._columns[n] for n in ("ID", "Process ID", "Host Name", "Device") if n in self._columns]
        if "ID" not in self._columns:
            self._identity += [self._columns[n] for n in (NAME, "Block Size", "Grid Size") if n in self._columns]
        self._key = itemgetter(*self._identity)
        self._names = header.names
        self._wide = [(i, n) for i, n in enumerate(header.names) if wanted(n)]
        self._units: list[str] | None = None
        self._value = self._columns.get("Metric Value", self._columns.get("Average", self._width - 1))
        self._needed = self._value + 1 if self._is_long else self._width
        if not self._is_long:
            self.table.collected = {n for _, n in self._wide}

    def name_of(self, row: Row) -> str:
        index = self._columns[NAME]
        return row.fields[index] if row.whole and len(row.fields) > index else "(unreadable row)"

    def add(self, row: Row) -> str | None:
        """Take one row in. Returns why it cannot be read, or None."""
        fields = row.fields
        if row.whole and self._is_remark(fields):
            return None
        if len(fields) > self._width and not any(f.strip() for f in fields[self._width :]):
            fields = fields[: self._width]
        if not row.whole or len(fields) < 2:
            return "the row is cut off: its quotes do not close"
        # In the long form the columns behind the value hold advice in words, which a row may lack.
        if len(fields) > self._width or len(fields) < self._needed:
            return f"{len(fields)} columns where the header has {self._width}: the row is damaged"
        if self._is_long:
            self._add_long(Row(row.line, fields))
        elif not fields[self._columns["ID"]].strip() and not fields[self._columns[NAME]].strip():
            self._units = fields
        else:
            self._add_wide(Row(row.line, fields))
        return None

    def _is_remark(self, fields: list[str]) -> bool:
        """A line of the program's own output that happens to begin with a quote: it has neither a number first nor a row's fields."""
        return "ID" in self._columns and len(fields) <= _TORN_FIELDS and not fields[0].strip().isdecimal()

    def _add_wide(self, row: Row) -> None:
        units = self._units
        self.table.has_units = units is not None
        launch = self._launch(row)
        if self.decimal is None and units is not None:
            self._look_for_proof(row.fields, units)
        for index, name in self._wide:
            launch.cells[name] = Cell(row.fields[index], units[index] if units else "", row.line, index + 1)
        self.table.launches.append(launch)

    def _look_for_proof(self, fields: list[str], units: list[str]) -> None:
        for index, text in enumerate(fields):
            if units[index] and ("," in text or "." in text):
                self.decimal = self.decimal or evidence(text, self._names[index], units[index])

    def _add_long(self, row: Row) -> None:
        fields, at = row.fields, self._columns
        metric = fields[at[METRIC]]
        launch = self._known_launch(row)
        if not metric:
            return  # a rule: advice in words, no number
        unit = fields[at["Metric Unit"]] if "Metric Unit" in at else ""
        if self.decimal is None:
            self.decimal = evidence(fields[self._value], metric, unit)
        section = fields[at["Section Name"]] if "Section Name" in at else ""
        name = metric if self._wanted(metric) else f"{section}|{metric}"
        if not self._wanted(name):
            return
        self.table.collected.add(name)
        launch.cells.setdefault(name, Cell(fields[self._value], unit, row.line, self._value + 1))

    def _known_launch(self, row: Row) -> Launch:
        key = self._key(row.fields)
        launch = self._by_key.get(key)
        if launch is None:
            launch = self._by_key[key] = self._launch(row)
            self.table.launches.append(launch)
        return launch

    def _launch(self, row: Row) -> Launch:
        def field_named(name: str, default: str) -> str:
            return row.fields[self._columns[name]] if name in self._columns else default

        return Launch(
            name=field_named(NAME, ""),
            id=field_named("ID", ""),
            line=row.line,
            compute_capability=field_named("CC", ""),
            invocations=field_named("Invocations", "1"),
        )


def evidence(text: str, metric: str, unit: str) -> Decimal | None:
    """What one printed value proves about the decimal sign; sums of things that are counted have no fraction."""
    return whole_number_evidence(text) if metric.endswith(".sum") and is_count(unit) else decimal_evidence(text)


def cells_of(layout: Layout) -> Iterator[Cell]:
    """The cells of every launch."""
    return (cell for table in layout.tables for launch in table.launches for cell in launch.cells.values())
