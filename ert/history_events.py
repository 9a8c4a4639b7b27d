"""What a person is told: events of a night, and one answer per device: fine, look here, or not comparable."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from ert.alarm_state import ENVIRONMENT, IMPROVEMENT, REGRESSION, STEP_KINDS, SUSPECT, THROTTLED, Judgement
from ert.fingerprint import changes
from ert.history_index import Index
from ert.history_rules import Rules
from ert.history_series import Grid, Track
from ert.units import with_prefix

Kind = Literal["suspect", "regression", "drift", "improvement", "throttled", "no_data", "environment_change"]
KINDS: tuple[Kind, ...] = ("suspect", "regression", "drift", "improvement", "throttled", "no_data", "environment_change")
Answer = Literal["fine", "look here", "not comparable"]

# A clock that moved less than this is the same clock.
_SAME_CLOCK = 0.01
_CLOCK_NIGHTS = 14


@dataclass(frozen=True, slots=True)
class Event:
    """One thing worth saying about one night. ``ceiling`` None: about the device; ``change`` relative to its baseline."""

    date: str
    host: str
    device: str
    ceiling: str | None
    kind: Kind
    change: float | None
    since: str | None
    note: str

    @property
    def is_alarm(self) -> bool:
        """A loss; with its reason where the surroundings are one. Noise, throttling and silence are none."""
        lost_with_change = self.kind == "environment_change" and self.change is not None and self.change < 0
        return self.kind in ("regression", "drift") or lost_with_change


@dataclass(frozen=True, slots=True)
class DeviceNight:
    """A device in one night, and the night before it was measured in; ``created``, ``path``, ``series`` None: it was not measured.

    last_*   the device's night before this one
    former   UUID of the device that had this place (host and id) until it was last seen, if this one is new there
    """

    night: datetime.date
    host: str
    device: str
    device_id: str
    name: str
    created: datetime.datetime | None
    path: str | None
    series: str | None
    facts: str | None = None
    sweep: str | None = None
    last_night: datetime.date | None = None
    last_series: str | None = None
    last_facts: str | None = None
    last_sweep: str | None = None
    former: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """The one answer of a device for a night, and why; ``measured``: UTC time of its last run in that night."""

    host: str
    device: str
    device_id: str
    name: str
    night: str
    measured: str | None
    answer: Answer
    note: str


_NIGHTS = """
WITH n AS (
    SELECT host, device, night, arg_max(device_id, created) AS device_id, arg_max(name, created) AS name,
           max(created) AS created, arg_max(path, created) AS path, arg_max(series, created) AS series, arg_max(facts, created) AS facts,
           arg_max(sweep, created) AS sweep
    FROM runs WHERE problem IS NULL AND repeat_of IS NULL GROUP BY host, device, night),
places AS (SELECT host, device_id, device, min(night) AS first, max(night) AS last FROM n GROUP BY ALL),
formers AS (
    SELECT new.host, new.device, new.first AS night, arg_max(old.device, old.last) AS former
    FROM places new JOIN places old ON new.host = old.host AND new.device_id = old.device_id AND old.last < new.first
    GROUP BY ALL),
w AS (
    SELECT *, lag(night) OVER d AS last_night, lag(series) OVER d AS last_series, lag(facts) OVER d AS last_facts,
           lag(sweep) OVER d AS last_sweep
    FROM n WINDOW d AS (PARTITION BY host, device ORDER BY night))
"""
_MEASURED = (
    _NIGHTS
    + """
SELECT w.night, w.host, w.device, w.device_id, w.name, w.created, w.path, w.series, w.facts, w.sweep,
       w.last_night, w.last_series, w.last_facts, w.last_sweep, formers.former
FROM w LEFT JOIN formers ON w.host = formers.host AND w.device = formers.device AND w.night = formers.night
WHERE w.night BETWEEN $1 AND $2
"""
)
# Silent devices whose place was taken by another one are reported there, as a swap.
_SILENT = (
    _NIGHTS
    + """
, asked AS (SELECT unnest(generate_series($1::TIMESTAMP, $2::TIMESTAMP, INTERVAL 1 DAY))::DATE AS night)
SELECT asked.night, n.host, n.device, arg_max(n.device_id, n.night), arg_max(n.name, n.night), max(n.night)
FROM asked JOIN n ON n.night < asked.night
GROUP BY asked.night, n.host, n.device
HAVING max(n.night) >= asked.night - $3::INT
   AND NOT EXISTS (SELECT 1 FROM n AS same WHERE same.host = n.host AND same.device = n.device AND same.night = asked.night)
   AND NOT EXISTS (SELECT 1 FROM formers WHERE formers.host = n.host AND formers.former = n.device AND formers.night <= asked.night)
"""
)


def device_nights(index: Index, first: datetime.date, last: datetime.date, rules: Rules) -> list[DeviceNight]:
    """Every device in every night from ``first`` to ``last``, also in nights it was silent; sorted by night, host, device."""
    rows = cast(list[tuple[datetime.date, str, str, str, str, datetime.datetime, str, str]], index.query(_MEASURED, first, last))
    measured = [DeviceNight(*row) for row in rows]
    silent = [
        DeviceNight(night, host, device, device_id, name, None, None, None, last_night=seen)
        for night, host, device, device_id, name, seen in cast(
            list[tuple[datetime.date, str, str, str, str, datetime.date]], index.query(_SILENT, first, last, rules.nights.forget)
        )
    ]
    return sorted(measured + silent, key=lambda each: (each.night, each.host, each.device))


@dataclass(frozen=True, slots=True)
class Judged:
    """A grid with its judgement."""

    grid: Grid
    judgement: Judgement
    rules: Rules

    def rows_of(self, track: Track) -> list[int]:
        """Rows of a track's ceilings. The series are sorted, so they stand together."""
        tracks = self.grid.track_of
        row = self.grid.row_of[track]
        return list(range(int(np.searchsorted(tracks, row)), int(np.searchsorted(tracks, row, side="right"))))


def events_of(judged: Judged, night: DeviceNight) -> list[Event]:
    """Everything worth saying about a device in a night."""
    if night.path is None:
        seen = night.last_night.isoformat() if night.last_night else None
        return [_event(night, "no_data", f"no run; the last one was in the night of {seen}", _next_day(night.last_night))]
    track = Track(night.host, night.device, night.series or "")
    column = (night.night - judged.grid.nights[0]).days
    rows = judged.rows_of(track)
    events = list(_device_events(judged, night, track, column))
    for row in rows:
        events += _ceiling_events(judged, night, row, column)
    return events


def _device_events(judged: Judged, night: DeviceNight, track: Track, column: int) -> Iterator[Event]:
    """What changed around the device since it was last measured."""
    today = night.night.isoformat()
    if night.former is not None:
        text = f"{night.device_id} was {night.former} before: another device, with a history of its own"
        yield _event(night, "environment_change", text, today)
    if night.last_series is not None and night.last_series != night.series:
        differing = [str(c) for c in changes(json.loads(night.last_facts or "{}"), json.loads(night.facts or "{}"))]
        if night.last_sweep != night.sweep:
            differing.append("another sweep configuration")
        yield _event(night, "environment_change", f"not comparable with the night before: {'; '.join(differing)}", today)
    what = judged.grid.changes.get((judged.grid.row_of[track], column))
    if what:
        yield _event(night, "environment_change", "; ".join(map(str, what)), today)


def _ceiling_events(judged: Judged, night: DeviceNight, row: int, column: int) -> Iterator[Event]:
    grid, judgement = judged.grid, judged.judgement
    name = grid.series[row].ceiling
    if not np.isfinite(grid.log_value[row, column]):
        since = _missing_since(judged, row, column)
        if since is not None:
            yield _event(night, "no_data", f"not in {night.path}; its points there say why", since, ceiling=name)
        return
    kind = int(judgement.kind[row, column])
    if kind:
        change, since = math.expm1(judgement.change[row, column]), grid.nights[judgement.since[row, column]].isoformat()
        yield _event(night, STEP_KINDS[kind - 1], _step_note(judged, row, column, kind), since, ceiling=name, change=change)
    if np.isfinite(judgement.drift_change[row, column]):
        change, since = math.expm1(judgement.drift_change[row, column]), grid.nights[judgement.drift_since[row, column]].isoformat()
        note = f"median of {judged.rules.drift.nights} nights against the reference"
        yield _event(night, "drift", note, since, ceiling=name, change=change)


def _step_note(judged: Judged, row: int, column: int, kind: int) -> str:
    grid, track = judged.grid, int(judged.grid.track_of[row])
    expected = with_prefix(math.exp(judged.judgement.expected[row, column]), grid.series[row].unit)
    text = {
        SUSPECT: f"one unusual night; expected {expected}",
        REGRESSION: f"a loss that lasts; expected {expected}",
        IMPROVEMENT: f"a gain that lasts, the new baseline; expected {expected}",
        THROTTLED: f"slowed by {', '.join(grid.slowed_by.get((row, column), ('the device itself',)))}; expected {expected}",
        ENVIRONMENT: f"expected {expected}",
    }[kind]
    if kind == ENVIRONMENT:
        since = int(judged.judgement.since[row, column])
        text += f"; came with {'; '.join(map(str, grid.changes.get((track, since), ()))) or 'a change of surroundings'}"
    return text + _clock_note(judged, row, column)


def _clock_note(judged: Judged, row: int, column: int) -> str:
    """A clock that moved as well is half the explanation."""
    clocks = judged.grid.clock_hz[row]
    before = clocks[max(0, column - _CLOCK_NIGHTS) : column]
    before = before[np.isfinite(before)]
    if not before.size or not np.isfinite(clocks[column]):
        return ""
    moved = clocks[column] / float(np.median(before)) - 1
    return f"; the measured clock moved by {moved:+.1%} as well" if abs(moved) > _SAME_CLOCK else ""


def _missing_since(judged: Judged, row: int, column: int) -> str | None:
    """First night of the gap a missing ceiling is in; None if it was never there, or so long ago that nobody misses it."""
    grid = judged.grid
    known = np.flatnonzero(np.isfinite(grid.log_value[row, :column]))
    if not known.size or column - known[-1] > judged.rules.nights.forget:
        return None
    ran = np.flatnonzero(grid.ran[grid.track_of[row], known[-1] + 1 :])
    return grid.nights[int(known[-1]) + 1 + int(ran[0])].isoformat()


def _event(
    night: DeviceNight, kind: Kind, note: str, since: str | None, *, ceiling: str | None = None, change: float | None = None
) -> Event:
    return Event(night.night.isoformat(), night.host, night.device, ceiling, kind, change, since, note)


def _next_day(night: datetime.date | None) -> str | None:
    return (night + datetime.timedelta(days=1)).isoformat() if night else None


def answer_of(judged: Judged, night: DeviceNight, events: Sequence[Event]) -> DeviceAnswer:
    """The device's one answer for the night."""
    answer, note = _answer(judged, night, events)
    measured = night.created.isoformat() + "Z" if night.created else None
    return DeviceAnswer(night.host, night.device, night.device_id, night.name, night.night.isoformat(), measured, answer, note)


def _answer(judged: Judged, night: DeviceNight, events: Sequence[Event]) -> tuple[Answer, str]:
    alarms = [event for event in events if event.is_alarm]
    if alarms:
        return "look here", "; ".join(map(summary, alarms))
    if night.path is None:
        return "not comparable", events[0].note
    others = [event for event in events if event.kind in ("throttled", "no_data", "environment_change")]
    if others:
        return "not comparable", "; ".join(map(summary, others))
    learning = _learning(judged, night)
    if learning:
        return "not comparable", learning
    return "fine", "; ".join(summary(event) for event in events)


def _learning(judged: Judged, night: DeviceNight) -> str:
    track = Track(night.host, night.device, night.series or "")
    column = (night.night - judged.grid.nights[0]).days
    expected = judged.judgement.expected[judged.rows_of(track), column]
    if np.isfinite(expected).any():
        return ""
    nights = int(judged.grid.ran[judged.grid.row_of[track], : column + 1].sum())
    return f"learning: night {nights}; judged after {judged.rules.baseline.least_nights}"


def summary(event: Event) -> str:
    """``DRAM read: regression -4.1 % since 2025-02-10``."""
    parts = [f"{event.ceiling}:" if event.ceiling else "", event.kind]
    if event.change is not None:
        parts.append(f"{100 * event.change:+.1f} %")
    if event.since and event.since != event.date:
        parts.append(f"since {event.since}")
    if event.ceiling is None:
        parts.append(f"({event.note})")
    return " ".join(filter(None, parts))
