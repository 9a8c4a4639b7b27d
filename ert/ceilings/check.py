"""What a ceilings file must not contradict itself in, beyond what types can say."""

from __future__ import annotations

from collections import Counter

from ert.ceilings.kinds import Ceiling
from ert.ceilings.model import Ceilings
from ert.ceilings.point import Point
from ert.errors import SchemaError


def check(ceilings: Ceilings, where: str) -> None:
    """Raise SchemaError for two roofs of one level, an impossible rate or interval, a sample without time, an id used twice."""
    roofs_of_level = Counter({c.level: 0 for c in ceilings.bandwidth_ceilings})
    roofs_of_level.update(c.level for c in ceilings.bandwidth_ceilings if c.roof)
    for level, count in roofs_of_level.items():
        if count != 1:
            raise SchemaError(f'{where}: ceilings.bandwidth: {level} has {count} roofs; exactly one entry has "roof": true.')
    for (precision, path), count in Counter((c.precision, c.path) for c in ceilings.compute_ceilings if c.roof).items():
        if count > 1:
            raise SchemaError(f"{where}: ceilings.compute: {precision} {path} has {count} roofs; one at most.")
    for level_ceiling in ceilings.bandwidth_ceilings:
        _check_value(level_ceiling, f"{where}: ceilings.bandwidth: {level_ceiling.level} {level_ceiling.op}")
    for rate in ceilings.compute_ceilings:
        _check_value(rate, f"{where}: ceilings.compute: {rate.precision} {rate.path} {rate.op}")
    for point_id, count in Counter(p.id for p in ceilings.points).items():
        if count > 1:
            raise SchemaError(f"{where}: points: the id '{point_id}' stands {count} times.")
    for point in ceilings.points:
        _check_point(point, f"{where}: point '{point.id}'")


# Byte or operations per second: no machine of any size is faster, and none so slow that a single one takes a day.
# A number beyond is a broken file, not a measurement.
IMPOSSIBLY_FAST, IMPOSSIBLY_SLOW = 1e24, 1e-5


def _check_value(ceiling: Ceiling, where: str) -> None:
    bounds = f"above {IMPOSSIBLY_SLOW:g} and below {IMPOSSIBLY_FAST:g}"
    for name, number in (("value", ceiling.value), ("limit", ceiling.limit)):
        if number is not None and not IMPOSSIBLY_SLOW < number < IMPOSSIBLY_FAST:
            raise SchemaError(f"{where}: {name} {number} is not {bounds}: no machine has such a ceiling.")
    if ceiling.ci95 and not IMPOSSIBLY_SLOW < ceiling.ci95[0] <= ceiling.ci95[1] < IMPOSSIBLY_FAST:
        raise SchemaError(f"{where}: ci95 {list(ceiling.ci95)} is not [low, high] {bounds}.")


def _check_point(point: Point, where: str) -> None:
    if point.status == "ok" and not (point.samples_s and point.repeats >= 1):
        raise SchemaError(f"{where}: status ok needs repeats >= 1 and at least one sample.")
    if any(sample <= 0 for sample in point.samples_s):
        raise SchemaError(f"{where}: a sample is not above 0 s.")
    beside = ("clock_hz", "memory_clock_hz", "power_w", "temperature_c", "throttled")
    for name, values in ((name, getattr(point, name)) for name in beside):
        if values and len(values) != len(point.samples_s):
            raise SchemaError(f"{where}: {name} has {len(values)} entries for {len(point.samples_s)} samples.")
