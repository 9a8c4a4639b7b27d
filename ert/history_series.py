"""From the tables of the store to what can be judged: one row per ceiling of a device, one column per night."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ert.fingerprint import EXCUSES, Change, changes
from ert.history_index import Index
from ert.history_stats import Bools, Floats


@dataclass(frozen=True, slots=True, order=True)
class Track:
    """Runs that may stand in one history: one device of one host, swept one way; ``series`` is their fingerprint."""

    host: str
    device: str
    series: str


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """One ceiling of one track."""

    track: Track
    ceiling: str
    unit: str


@dataclass(frozen=True, slots=True)
class Grid:
    """Everything of some devices, every night from the first to the last; rows as ``series``.

    value      of the night: median of its runs, so that a night measured three times is one night; NaN without one
    log_value  its natural logarithm
    own_sigma  relative standard error from the runs' own intervals, 0 without one
    excused    most of the night's runs carry a flag of EXCUSES;  slowed_by: (row, night) -> the reasons that the device gave
    clock_hz   NaN where it was not measured
    ran        (tracks, nights): the track was measured in the night;  changed: in other surroundings than the time before
    changes    (track row, night) -> what changed
    """

    nights: tuple[datetime.date, ...]
    tracks: tuple[Track, ...]
    row_of: Mapping[Track, int]
    series: tuple[Series, ...]
    track_of: NDArray[np.int64]
    value: Floats
    log_value: Floats
    own_sigma: Floats
    excused: Bools
    slowed_by: Mapping[tuple[int, int], tuple[str, ...]]
    clock_hz: Floats
    ran: Bools
    changed: Bools
    changes: Mapping[tuple[int, int], tuple[Change, ...]]


# Half a 95 % interval is 1.96 standard errors of a normal value.
_VALUES = f"""
WITH night_values AS (
    SELECT host, device, series, ceiling, any_value(unit) AS unit, night, median(value) AS value,
           coalesce(median((ci_hi - ci_lo) / 2 / value), 0) / 1.96 AS own_sigma,
           avg(list_has_any(flags, {list(EXCUSES)})::INT) > 0.5 AS excused, median(clock_hz) AS clock_hz
    FROM ceilings GROUP BY host, device, series, ceiling, night)
SELECT dense_rank() OVER (ORDER BY host, device, series, ceiling) - 1 AS row, date_diff('day', ?::DATE, night) AS night,
       value, own_sigma, excused, clock_hz
FROM night_values
"""
_SLOWED = """
WITH reasons AS (
    SELECT dense_rank() OVER (ORDER BY host, device, series, ceiling) - 1 AS row, date_diff('day', ?::DATE, night) AS night, slowed_by
    FROM ceilings)
SELECT row, night, list_sort(list_distinct(flatten(list(slowed_by)))) FROM reasons WHERE len(slowed_by) > 0 GROUP BY row, night
"""
_SERIES = "SELECT host, device, series, ceiling, any_value(unit) FROM ceilings GROUP BY ALL ORDER BY host, device, series, ceiling"
# Repeats were made in the same surroundings as what they repeat.
_TRACK_NIGHTS = """
SELECT dense_rank() OVER (ORDER BY host, device, series) - 1 AS row, date_diff('day', ?::DATE, night) AS night,
       arg_max(environment, created) AS environment
FROM runs WHERE problem IS NULL GROUP BY host, device, series, night
"""


def load_grid(index: Index) -> Grid:
    """The nights of everything in the index."""
    first, last = cast(tuple[datetime.date | None, datetime.date | None], index.query("SELECT min(night), max(night) FROM runs")[0])
    if first is None or last is None:
        return _empty()
    count = (last - first).days + 1
    tracks = tuple(Track(*row) for row in cast(list[tuple[str, str, str]], index.query(_tracks_sql())))
    series = tuple(Series(Track(h, d, s), c, u) for h, d, s, c, u in cast(list[tuple[str, str, str, str, str]], index.query(_SERIES)))
    row_of = {track: row for row, track in enumerate(tracks)}
    found = index.connection.execute(_VALUES, [first]).fetchnumpy()
    ran, changed, what = _surroundings(index, first, (len(tracks), count))

    def grid(name: str, blank: float) -> Floats:
        table = np.full((len(series), count), blank)
        table[found["row"], found["night"]] = np.ma.filled(np.ma.asarray(found[name], dtype=np.float64), blank)
        return table

    value = grid("value", np.nan)
    return Grid(
        nights=tuple(first + datetime.timedelta(days=i) for i in range(count)),
        tracks=tracks,
        row_of=row_of,
        series=series,
        track_of=np.array([row_of[s.track] for s in series], dtype=np.int64),
        value=value,
        log_value=np.log(value),
        own_sigma=grid("own_sigma", 0.0),
        excused=grid("excused", 0.0) > 0,
        slowed_by={(row, night): tuple(words) for row, night, words in cast(list[tuple[int, int, list[str]]], index.query(_SLOWED, first))},
        clock_hz=grid("clock_hz", np.nan),
        ran=ran,
        changed=changed,
        changes=what,
    )


def _tracks_sql() -> str:
    return "SELECT DISTINCT host, device, series FROM runs WHERE problem IS NULL ORDER BY ALL"


def _surroundings(
    index: Index, first: datetime.date, shape: tuple[int, int]
) -> tuple[Bools, Bools, dict[tuple[int, int], tuple[Change, ...]]]:
    """(ran, changed, what changed): each night of a track against the track's night before."""
    ran = np.zeros(shape, np.bool_)
    changed = np.zeros(shape, np.bool_)
    what = {}
    nights = index.connection.execute(_TRACK_NIGHTS, [first]).fetchnumpy()
    ran[nights["row"], nights["night"]] = True
    sql = (
        f"WITH t AS ({_TRACK_NIGHTS}), l AS (SELECT *, lag(environment) OVER (PARTITION BY row ORDER BY night) AS before FROM t) "
        "SELECT row, night, before, environment FROM l WHERE before <> environment"
    )
    for row, night, before, after in cast(list[tuple[int, int, str, str]], index.query(sql, first)):
        differing = changes(json.loads(before), json.loads(after))
        if differing:
            changed[row, night] = True
            what[row, night] = differing
    return ran, changed, what


def _empty() -> Grid:
    nothing, no = np.zeros((0, 0)), np.zeros((0, 0), np.bool_)
    return Grid((), (), {}, (), np.zeros(0, np.int64), nothing, nothing, nothing, no, {}, nothing, no, no, {})
