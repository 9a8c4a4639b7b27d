"""A checked store as tables for a terminal. Nothing here prints; the command line does.

Texts are ASCII: they must survive any terminal and any pipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.findings import Finding
from ert.fleet import Fleet
from ert.history import Check, History
from ert.history_events import Event, summary
from ert.units import with_prefix

ANSWER_STYLES = {"look here": "bold red", "not comparable": "yellow", "fine": "green"}
# More devices than this are listed only if they are not fine.
_FEW_DEVICES = 40
_NUMBERS = ("nights", "runs", "devices", "z", "value", "median")


def check_report(check: Check) -> RenderableType:
    """One line per device, then the events; of many devices only those that are not fine."""
    answers = check.answers if len(check.answers) <= _FEW_DEVICES else [a for a in check.answers if a.answer != "fine"]
    count = f"{len(check.answers)} device{'s' * (len(check.answers) != 1)}"
    parts: list[RenderableType] = [Text(f"night {check.night}, {count}: {_counts(check)}")]
    if answers:
        table = _table("device", "host", "name", "answer")
        for a in answers:
            answer = Text(": ".join(filter(None, (a.answer, a.note))), ANSWER_STYLES[a.answer])
            table.add_row(*map(Text, (a.device, a.host, a.name)), answer)
        parts += [Text(), table]
    if check.events:
        parts += [Text(), _events_table(check.events)]
    return Group(*parts)


def _counts(check: Check) -> str:
    answers = [a.answer for a in check.answers]
    return ", ".join(f"{answers.count(each)} {each}" for each in ANSWER_STYLES if each in answers) or "none"


def _events_table(events: Iterable[Event]) -> Table:
    table = _table("night", "device", "event", "note")
    for event in events:
        style = "bold red" if event.is_alarm else ""
        table.add_row(Text(event.date), Text(event.device), Text(summary(event), style), Text(event.note if event.ceiling else ""))
    return table


def rows_report(names: Sequence[str], rows: Sequence[Sequence[object]]) -> RenderableType:
    """The answer to a query."""
    table = _table(*names)
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return table


def show_report(history: History, device: tuple[str, str], last: int, ceiling: str | None) -> RenderableType:
    """The last nights of a device: a column per ceiling, marked where a night has something to say."""
    grid, judgement = history.grid, history.judged.judgement
    rows = [i for i, s in enumerate(grid.series) if (s.track.host, s.track.device) == device and ceiling in (None, s.ceiling)]
    names = list(dict.fromkeys(grid.series[row].ceiling for row in rows))
    table = _table("night", *names)
    for column in range(max(0, len(grid.nights) - last), len(grid.nights)):
        cells = [grid.nights[column].isoformat()]
        for name in names:
            own = [row for row in rows if grid.series[row].ceiling == name and np.isfinite(grid.log_value[row, column])]
            cells.append(" ".join(_cell(history, row, column) for row in own) or "-")
        table.add_row(*map(Text, cells))
    key = "? suspect, ! regression, ~ drift, + improvement, t throttled, e changed with the environment"
    unjudged = np.isnan(judgement.expected[rows]).all() if rows else True
    return Group(table, Text(), Text("nothing is judged yet: the baseline is being learned" if unjudged else key, "dim"))


def _cell(history: History, row: int, column: int) -> str:
    grid, judgement = history.grid, history.judged.judgement
    mark = ("", "?", "!", "+", "t", "e")[int(judgement.kind[row, column])]
    mark += "~" if np.isfinite(judgement.drift_change[row, column]) else ""
    return f"{with_prefix(float(grid.value[row, column]), grid.series[row].unit)}{' ' * bool(mark)}{mark}"


def baseline_report(history: History, devices: Sequence[tuple[str, str]]) -> RenderableType:
    """Of every ceiling: the reference and where it comes from, and the rolling baseline."""
    grid, judgement = history.grid, history.judged.judgement
    chosen = {(b.host, b.device): b for b in history.baselines}
    table = _table("device", "ceiling", "reference", "rolling", "reference from")
    for row, series in enumerate(grid.series):
        key = (series.track.host, series.track.device)
        if key not in devices or np.isnan(judgement.reference[row]):
            continue
        rolling = judgement.expected[row][np.isfinite(judgement.expected[row])]
        own = chosen.get(key)
        usual = f"its first {history.judged.rules.baseline.reference_nights} nights"
        source = f"{own.nights[0]} to {own.nights[-1]}, set {own.created[:10]}{': ' * bool(own.note)}{own.note}" if own else usual
        amounts = [with_prefix(float(np.exp(value)), series.unit) for value in (judgement.reference[row], rolling[-1])]
        table.add_row(*map(Text, (key[1], series.ceiling, *amounts, source)))
    return table


def fleet_report(fleet: Fleet) -> RenderableType:
    """The fleets of a night, and who stands out."""
    fleets = _table("kind", "ceiling", "devices", "median", "spread")
    for c in fleet.ceilings:
        fleets.add_row(*map(Text, (c.name, c.ceiling, str(c.devices), with_prefix(c.median, c.unit), f"{100 * c.spread:.2f} %")))
    parts: list[RenderableType] = [Text(f"night {fleet.night}"), Text(), fleets, Text()]
    if not fleet.outliers:
        return Group(*parts, Text("no device stands out"))
    table = _table("device", "host", "ceiling", "value", "from median", "z", "since")
    for o in fleet.outliers:
        cells = (o.device, o.host, o.ceiling, with_prefix(o.value, o.unit), f"{100 * o.change:+.1f} %", f"{o.z:+.1f}", o.since)
        table.add_row(*(Text(cell, "bold red" if o.change < 0 else "") for cell in cells))
    return Group(*parts, table)


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Warnings for stderr."""
    return [f"warning: {f.message} [{f.code}]" + (f"\n         remedy: {f.remedy}" if f.remedy else "") for f in findings]


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in _NUMBERS else "left")
    return table
