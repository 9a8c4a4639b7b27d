"""The rows of a CSV as curves: which columns hold what, and which rows have to be left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ert.errors import AnalysisError, SchemaError
from ert.findings import Finding
from ert.fit.measured import ReadCurve
from ert.fit.model import Bools, Curve, Floats
from ert.fit.table import Table, parse_table
from ert.fit.ticks import LEAST_TICKS, timer_tick_s, too_short
from ert.units import with_prefix

SIZE, RATE, MOVED, ORDER, OPERATION, ROW = "working_set_bytes", "bandwidth_bytes_per_s", "bytes_moved", "order", "op", "row"
TIMES = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6}
CLOCKS = {"clock_hz": 1.0, "sm_clock_hz": 1.0, "clock_mhz": 1e6, "sm_clock_mhz": 1e6}


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """bytes/s of each row (n,), the columns they come from, and seconds (n,) where there are times."""

    rate: Floats
    columns: tuple[str, ...]
    time_s: Floats | None


def curves_of_csv(text: str, source: str, clock_hz: Floats | None = None) -> tuple[list[ReadCurve], list[Finding]]:
    """The curves of a CSV text, one for each word in the column ``op``, and what was left out.

    clock_hz  core clock beside each data row, from another file

    Rows without a measurement, with a time or rate <= 0, or too short for their timer are left out and counted. Raises
    SchemaError for a missing column, text in a number or a size that is not positive, AnalysisError if no curve remains.
    """
    table = parse_table(text, source, (SIZE, RATE, MOVED, *TIMES, *CLOCKS, ORDER), (OPERATION,))
    size, rates = _sizes(table), _rates(table)
    keep, findings = _usable(table, size, rates)
    clock = _scaled(table, CLOCKS) if clock_hz is None else _fitting(clock_hz, table)
    order = _order(table)
    op = np.array(table.texts.get(OPERATION, [""] * size.size))
    curves = []
    for word in dict.fromkeys(op[keep].tolist()):
        mine = keep & (op == word)
        columns = (None if column is None else column[mine] for column in (order, clock))
        _check_count(table, size[mine], word, findings)
        curves.append(ReadCurve(word or None, Curve(size[mine], rates.rate[mine], *columns)))
    return curves, findings


def parse_clocks(text: str, source: str) -> Floats:
    """(n,) core clock in Hz of the data rows 0, 1, ... of another CSV; NaN where a row is not mentioned."""
    table = parse_table(text, source, (ROW, *CLOCKS))
    clock = _scaled(table, CLOCKS)
    if ROW not in table.numbers or clock is None:
        raise SchemaError(f"{source}: line 1: needs the columns '{ROW}' and one of {', '.join(CLOCKS)}.")
    row = table.numbers[ROW]
    bad = np.flatnonzero(~(row >= 0) | (row != np.floor(row)) | (row > 1e9))
    if bad.size:
        raise SchemaError(f"{table.place(int(bad[0]), ROW)}: {row[bad[0]]} is not a row number from 0.")
    found = np.full(int(row.max()) + 1 if row.size else 0, np.nan)
    found[row.astype(np.int64)] = clock
    return found


def _sizes(table: Table) -> Floats:
    size = _column(table, SIZE)
    bad = np.flatnonzero(~(size > 0))
    if bad.size:
        raise SchemaError(
            f"{table.place(int(bad[0]), SIZE)}: {size[bad[0]]:g} is no size of a working set, which is a positive number of bytes."
        )
    return size


def _rates(table: Table) -> _Rates:
    """Bandwidth as given, else bytes over time."""
    times = [name for name in TIMES if name in table.numbers]
    if len(times) > 1:
        raise SchemaError(f"{table.source}: line 1: the columns {' and '.join(times)} both say how long it took. Keep one.")
    time_s = table.numbers[times[0]] * TIMES[times[0]] if times else None
    if RATE in table.numbers:
        return _Rates(table.numbers[RATE], (RATE,), time_s)
    if time_s is None and MOVED in table.numbers:
        raise SchemaError(f"{table.source}: line 1: the column '{MOVED}' needs a time beside it: {', '.join(TIMES)}.")
    if time_s is None:
        raise SchemaError(f"{table.source}: line 1: the column '{RATE}' is missing, or '{MOVED}' with one of {', '.join(TIMES)}.")
    moved = _column(table, MOVED)
    return _Rates(np.divide(moved, time_s, out=np.full_like(moved, np.nan), where=time_s > 0), (MOVED, times[0]), time_s)


def _column(table: Table, name: str) -> Floats:
    if name not in table.numbers:
        raise SchemaError(f"{table.source}: line 1: the column '{name}' is missing.")
    return table.numbers[name]


def _usable(table: Table, size: Floats, rates: _Rates) -> tuple[Bools, list[Finding]]:
    """(n,) rows that count, and a finding for each reason others do not."""
    keep = np.ones(size.size, dtype=bool)
    findings = []
    for name in rates.columns:
        for reason, bad in (("not measured", np.isnan(table.numbers[name])), ("not positive", table.numbers[name] <= 0)):
            fresh = keep & bad
            if fresh.any():
                findings.append(_dropped(table, name, reason, fresh))
            keep &= ~bad
    if rates.time_s is not None and (tick := timer_tick_s(rates.time_s[~np.isnan(rates.time_s)])) is not None:
        short = keep & too_short(size, np.nan_to_num(rates.time_s), tick)
        if short.any():
            findings.append(_too_coarse(size[short], tick))
        keep &= ~short
    if not keep.any():
        raise AnalysisError(f"{table.source}: no usable row among {size.size}. {' '.join(f.message for f in findings)}")
    return keep, findings


def _dropped(table: Table, column: str, reason: str, rows: Bools) -> Finding:
    first = int(np.argmax(rows))
    message = f"{table.place(first, column)}: {reason}; {int(rows.sum())} such rows of {rows.size} are left out."
    return Finding(f"rows_{reason.replace(' ', '_')}", message, float(rows.sum()), "Measure these rows again.")


def _too_coarse(short_sizes: Floats, tick_s: float) -> Finding:
    message = (
        f"not measurable with this timer: {short_sizes.size} rows of {np.unique(short_sizes).size} sizes last less than "
        f"{LEAST_TICKS} ticks of {with_prefix(tick_s, 's')} and are left out."
    )
    return Finding("timer_too_coarse", message, float(short_sizes.size), "Repeat small working sets many times in one sample.")


def _check_count(table: Table, size: Floats, op: str, findings: list[Finding]) -> None:
    """One row, or one size, is no curve."""
    if np.unique(size).size < 2:
        left = f" after {int(sum(f.value or 0 for f in findings))} rows were left out" if findings else ""
        of_op = f" of op '{op}'" if op else ""
        raise AnalysisError(
            f"{table.source}: line {table.lines[0]}, column {SIZE}: {size.size} row{'s' * (size.size > 1)}{of_op} of one size{left}: "
            "a curve needs several sizes. Sweep the working set."
        )


def _scaled(table: Table, units: dict[str, float]) -> Floats | None:
    return next((table.numbers[name] * factor for name, factor in units.items() if name in table.numbers), None)


def _fitting(clock_hz: Floats, table: Table) -> Floats:
    rows = table.lines.size
    if clock_hz.size != rows:
        raise AnalysisError(
            f"{table.source}: has {rows} data rows, and the file of clocks speaks of {clock_hz.size}. They belong to different runs."
        )
    return clock_hz


def _order(table: Table) -> Floats | None:
    order = table.numbers.get(ORDER)
    if order is not None and np.isnan(order).any():
        raise SchemaError(f"{table.place(int(np.argmax(np.isnan(order))), ORDER)}: no position in time. Fill the column, or leave it out.")
    return order
