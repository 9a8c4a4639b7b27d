"""``likwid-perfctr -O`` -> one kernel per region. Several tables in one file, padded with commas to one width, without quotes.

F and D are sums over the hardware threads (a socket's memory counters appear on one thread only, so a single
thread's own operational intensity means nothing); t is the longest of the threads. MBytes are 1e6 bytes.
Source: printcsv in src/applications/likwid.lua of RRZE-HPC/likwid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ert.errors import AnalysisError
from ert.points.document import Document
from ert.points.model import Collected, KernelPoint, Origin, Reading, ReadOptions, Skipped
from ert.points.numerals import number_at
from ert.units import GIGA, MEGA, with_prefix

_TABLE = re.compile(r"^Group \d+ (?P<kind>Raw|Metric)(?P<stat> STAT)?$")
_RUNTIME = re.compile(r"^Runtime \(RDTSC\) \[s\]")
_FLOPS = {
    "fp64": re.compile(r"^DP \[?MFLOPS?/s\]?", re.IGNORECASE),
    "fp32": re.compile(r"^SP \[?MFLOPS?/s\]?", re.IGNORECASE),
    "fp16": re.compile(r"^HP \[?MFLOPS?/s\]?", re.IGNORECASE),
}
_LEVELS = {"DRAM": "(?:Memory|DRAM|HBM)", "L3": "L3", "L2": "L2", "L1": "L1D?"}
_VOLUME = {level: re.compile(rf"^{name} data volume \[GBytes\]") for level, name in _LEVELS.items()}
_BANDWIDTH = {level: re.compile(rf"^{name} bandwidth \[MBytes/s\]") for level, name in _LEVELS.items()}
# No node moves a petabyte or computes an exaflop per second; a counter that wrapped around does (likwid issue 262).
_PLAUSIBLE_BYTES_PER_S, _PLAUSIBLE_FLOP_PER_S = 1e15, 1e18


@dataclass(slots=True)
class _Table:
    """One table: its region, whether it is the per-thread metrics or their statistics, and its rows by metric name."""

    region: str
    group: str
    is_stat: bool
    line: int
    header: list[str] = field(default_factory=list)
    rows: dict[str, tuple[int, list[str]]] = field(default_factory=dict)


def recognises(document: Document) -> bool:
    """True for the marks of likwid's CSV, also of versions that had no TABLE lines."""
    return re.search(r"^(TABLE,.*Group \d+ |STRUCT,Info,|Metric,(HWThread|Core) \d)", document.head, re.MULTILINE) is not None


def read(document: Document, options: ReadOptions) -> Reading:
    """Every region. Raises AnalysisError for a value that is no number, or if there is no metric table."""
    tables = [t for t in _tables(document) if t.rows]
    if not tables:
        raise AnalysisError(f"{document.name}: no metric table found. likwid-perfctr needs -g GROUP with metrics (MEM_DP, L3, ...) and -O.")
    collected = Collected("likwid", document.name, findings=list(document.findings))
    for region in dict.fromkeys(t.region for t in tables):
        mine = [t for t in tables if t.region == region]
        point = _point(document, region, mine)
        collected.points.append(point) if isinstance(point, KernelPoint) else collected.skipped.append(point)
    return collected.reading()


def _tables(document: Document) -> Iterator[_Table]:
    """Metric tables; raw counters and the STRUCT blocks are passed over."""
    current: _Table | None = None
    for number, line in document.lines():
        fields = line.rstrip("\n").split(",")
        while fields and not fields[-1].strip():
            fields.pop()
        if not fields:
            continue
        if fields[0] in ("TABLE", "STRUCT"):
            if current is not None:
                yield current
            current = _titled(fields, number)
        elif fields[0] == "Metric" and (current is None or current.header):
            # Versions without TABLE lines: the header of the next table ends the last one.
            if current is not None:
                yield current
            current = _Table("whole run", "", "Sum" in fields, number, fields)
        elif current is not None:
            _add(current, number, fields)
    if current is not None:
        yield current


def _titled(fields: Sequence[str], line: int) -> _Table | None:
    """``TABLE,[Region NAME,]Group N Metric[ STAT],GROUP,rows``; a region's name may hold commas of its own."""
    for index, text in enumerate(fields):
        if found := _TABLE.match(text):
            region = ",".join(fields[1:index]).removeprefix("Region ") or "whole run"
            group = fields[index + 1] if len(fields) > index + 1 else ""
            return _Table(region, group, bool(found["stat"]), line) if found["kind"] == "Metric" else None
    return None


def _add(table: _Table, number: int, fields: list[str]) -> None:
    if not table.header:
        table.header = fields
    else:
        table.rows[fields[0].removesuffix(" STAT")] = (number, fields[1:])


def _point(document: Document, region: str, tables: Sequence[_Table]) -> KernelPoint | Skipped:
    found = _Region(document, tables)
    origin = Origin(document.name, tables[0].line)
    runtime = next((t for table in tables if (t := found.row(table, _RUNTIME, "Max")) is not None), None)
    if not runtime:
        return Skipped(region, "no runtime: 'Runtime (RDTSC) [s]' could not be read", origin)
    rates = {key: rate * MEGA for key, pattern in _FLOPS.items() if (rate := found.rate(pattern)) is not None}
    levels = {level: traffic for level in _LEVELS if (traffic := found.traffic(level, runtime)) is not None}
    if reason := _implausible(rates, {f"{level} traffic": amount / runtime for level, amount in levels.items()} | found.bandwidths()):
        return Skipped(region, reason, origin)
    return KernelPoint(
        name=region,
        time_s=runtime,
        flops={key: rate * runtime for key, rate in rates.items() if rate > 0} if rates or found.saw_flops else None,
        bytes=levels,
        origin=origin,
        label=None,
        missing=tuple(found.missing) + (() if rates or found.saw_flops else ("FLOPs: use a group that counts them, such as MEM_DP",)),
        family="likwid",
    )


def _implausible(rates: dict[str, float], bandwidths: dict[str, float]) -> str | None:
    for what, value in bandwidths.items():
        if value > _PLAUSIBLE_BYTES_PER_S:
            return f"implausible: {what} of {value:.7g} B/s; a counter wrapped around. Measure the region again"
    for key, value in rates.items():
        if value > _PLAUSIBLE_FLOP_PER_S:
            return f"implausible: {with_prefix(value, 'FLOP/s')} of {key}; a counter wrapped around. Measure the region again"
    return None


class _Region:
    """The metrics of one region over all its groups: the statistics table where there is one, else the threads added up."""

    def __init__(self, document: Document, tables: Sequence[_Table]) -> None:
        self._document = document
        self._tables = sorted(tables, key=lambda t: not t.is_stat)
        self.missing: list[str] = []
        self.saw_flops = False

    def row(self, table: _Table, pattern: re.Pattern[str], how: str) -> float | None:
        """One metric of one table; ``how`` is Sum or Max over the threads. None if absent or unreadable."""
        for name, (line, texts) in table.rows.items():
            if pattern.match(name):
                return self._over_threads(table, line, texts, how)
        return None

    def _over_threads(self, table: _Table, line: int, texts: list[str], how: str) -> float | None:
        if table.is_stat:
            index = table.header.index(how) - 1 if how in table.header else 0
            texts = texts[index : index + 1]
        values = [number_at(self._document, text, line, column) for column, text in enumerate(texts, start=2)]
        known = [v for v in values if v is not None]
        if not known or len(known) < len(values):
            return None
        return max(known) if how == "Max" else sum(known)

    def rate(self, pattern: re.Pattern[str]) -> float | None:
        """A sum over the threads, per second, in the metric's own unit."""
        return self._sum(pattern, is_flops=True)

    def _sum(self, pattern: re.Pattern[str], *, is_flops: bool = False) -> float | None:
        values = [self.row(table, pattern, "Sum") for table in self._tables]
        value = next((v for v in values if v is not None), None)
        seen = next((name for table in self._tables for name in table.rows if pattern.match(name)), None)
        self.saw_flops = self.saw_flops or (is_flops and seen is not None)
        if value is None and seen is not None:
            self.missing.append(seen)
        return value

    def traffic(self, level: str, runtime_s: float) -> float | None:
        """Bytes at a level: its data volume, else bandwidth x time. A group with its own runtime counts by its rate."""
        for table in self._tables:
            volume = self._volume_rate(table, level)
            if volume is not None:
                return volume * runtime_s
        bandwidth = self._sum(_BANDWIDTH[level])
        return None if bandwidth is None else bandwidth * MEGA * runtime_s

    def _volume_rate(self, table: _Table, level: str) -> float | None:
        """Bytes per second, so that groups measured one after the other can stand in one row."""
        volume = self.row(table, _VOLUME[level], "Sum")
        own = self.row(table, _RUNTIME, "Max")
        return None if volume is None or not own else volume * GIGA / own

    def bandwidths(self) -> dict[str, float]:
        """What the file itself prints as bandwidth, to be checked for sense."""
        printed = {level: [self.row(t, _BANDWIDTH[level], "Sum") for t in self._tables] for level in _LEVELS}
        return {
            f"{level} printed": max(known) * MEGA for level, values in printed.items() if (known := [v for v in values if v is not None])
        }
