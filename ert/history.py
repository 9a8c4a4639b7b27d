"""Check a store: judge every device's night against its own history."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ert.alarm_state import Nights
from ert.alarms import judge
from ert.codec import encode
from ert.errors import AnalysisError
from ert.findings import Finding
from ert.history_baseline import Baseline, load_baselines, place
from ert.history_events import Answer, DeviceAnswer, DeviceNight, Event, Judged, answer_of, device_nights, events_of
from ert.history_index import Index, open_index
from ert.history_rules import Rules
from ert.history_series import Grid, Track, load_grid
from ert.jsontypes import Json

SCHEMA = "ert.history"
SCHEMA_VERSION = 1
# Worst first.
ANSWERS: tuple[Answer, ...] = ("look here", "not comparable", "fine")


@dataclass(frozen=True, slots=True)
class History:
    """A store, read and judged."""

    store: Path
    index: Index
    judged: Judged
    baselines: tuple[Baseline, ...]
    findings: tuple[Finding, ...]

    @property
    def grid(self) -> Grid:
        return self.judged.grid

    @property
    def devices(self) -> list[tuple[str, str]]:
        """(host, device), sorted."""
        return sorted({(track.host, track.device) for track in self.grid.tracks})


@dataclass(frozen=True, slots=True)
class Reading:
    """A ceiling in a night, and the rolling baseline it was judged against, None while that is being learned."""

    host: str
    device: str
    ceiling: str
    unit: str
    value: float
    baseline: float | None


@dataclass(frozen=True, slots=True)
class Check:
    """What is said of some nights; ``night`` is the last of them, and answers and readings are its."""

    night: str
    answers: tuple[DeviceAnswer, ...]
    readings: tuple[Reading, ...]
    events: tuple[Event, ...]
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Answer:
        """The worst answer of any device."""
        answers = {each.answer for each in self.answers}
        return next((answer for answer in ANSWERS if answer in answers), "fine")

    @property
    def is_alarming(self) -> bool:
        return self.verdict == "look here"

    def to_dict(self) -> dict[str, Json]:
        """The document of ``ert history check --json``."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "night": self.night,
            "verdict": self.verdict,
            "devices": encode(self.answers),
            "events": encode(self.events),
            "readings": encode(self.readings),
            "warnings": encode(self.findings),
        }


def open_history(store: Path, rules: Rules, host: str | None = None, device: str | None = None) -> History:
    """Read and judge a store, or one device of it. Raises ErtError if the folder cannot be read or holds no run."""
    index = open_index(store, host, device)
    grid = load_grid(index)
    if not grid.nights:
        first = f" {index.findings[0].message}" if index.findings else ""
        raise AnalysisError(f"--store {store}: holds no run yet.{first} `ert nightly --store {store}` adds one.")
    devices = sorted({(track.host, track.device) for track in grid.tracks})
    baselines, unreadable = load_baselines(store, devices)
    placed, without = place(grid, baselines, rules.baseline.least_nights)
    nights = Nights(grid.log_value, grid.own_sigma, grid.excused, grid.changed[grid.track_of], placed)
    judged = Judged(grid, judge(nights, rules), rules)
    return History(store, index, judged, tuple(baselines), (*index.findings, *unreadable, *without))


def check(history: History, night: datetime.date | None = None, since: datetime.date | None = None) -> Check:
    """The events of a night (the last one by default), or of all nights from ``since`` up to it. Raises AnalysisError outside the store."""
    nights = history.grid.nights
    last = night or nights[-1]
    if not nights[0] <= last <= nights[-1]:
        raise AnalysisError(f"--night {last}: the store has nights from {nights[0]} to {nights[-1]}.")
    if since and since > last:
        raise AnalysisError(f"--since {since}: is after the night that is judged, {last}.")
    first = max(since, nights[0]) if since else last
    found = [(each, events_of(history.judged, each)) for each in device_nights(history.index, first, last, history.judged.rules)]
    tonight = [(each, events) for each, events in found if each.night == last]
    return Check(
        night=last.isoformat(),
        answers=tuple(answer_of(history.judged, each, events) for each, events in tonight),
        readings=tuple(reading for each, _ in tonight for reading in readings_of(history.judged, each)),
        events=tuple(event for _, events in found for event in events),
        findings=history.findings,
    )


def readings_of(judged: Judged, night: DeviceNight) -> Iterator[Reading]:
    """The ceilings of a device in a night."""
    if night.series is None:
        return
    grid, column = judged.grid, (night.night - judged.grid.nights[0]).days
    for row in judged.rows_of(Track(night.host, night.device, night.series)):
        value, expected = float(grid.value[row, column]), judged.judgement.expected[row, column]
        if np.isfinite(value):
            baseline = float(np.exp(expected)) if np.isfinite(expected) else None
            yield Reading(night.host, night.device, grid.series[row].ceiling, grid.series[row].unit, value, baseline)
