"""Burst and sustained: a ceiling is what the device keeps up, with what it was in the first seconds beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ert.candidates import Candidate
from ert.ceilings.kinds import BandwidthCeiling, Ceiling, SomeCeiling
from ert.checks import is_above_limit
from ert.devices.base import CeilingKey, Device
from ert.diagnostics import Burst
from ert.limits import Limit
from ert.stats import median_ci95

# CUDA events resolve about half a microsecond, and a sample may be as short as a millisecond.
_RESOLUTION = 1e-3
# Why a device under sustained load runs slower than in the first seconds: its power limit, which is what a sustained ceiling shows.
# Every other reason is one to look at.
_EXPECTED = frozenset({"SwPowerCap"})


def settle(device: Device, ceilings: Iterable[SomeCeiling], sustained: Sequence[Candidate]) -> list[SomeCeiling]:
    """The ceilings with sustained values, where one was measured and differs by more than both intervals; the others as they are.

    A sustained value above the physical limit is as impossible as any other and changes nothing. Nor does one that another program
    disturbed: all its samples are of one moment, which says more of that program than of what the device keeps up.
    """
    measured = {_key(c): c for c in sustained if "disturbed" not in c.flags}
    found: list[SomeCeiling] = []
    for ceiling in ceilings:
        candidate = measured.get(_key_of(ceiling))
        settled = _sustained(device, ceiling, candidate) if candidate else ceiling
        found.append(ceiling if is_above_limit(settled) or not _differ(ceiling, settled) else settled)
    return found


def _sustained(device: Device, ceiling: SomeCeiling, candidate: Candidate) -> SomeCeiling:
    value, low, high = median_ci95(candidate.rates)
    limit = device.limit(_key(candidate), candidate.clock_hz)
    return replace(
        ceiling,
        value=value,
        ci95=None if low is None or high is None else (low, high),
        kernel=candidate.point.kernel,
        point_ids=(*ceiling.point_ids, candidate.point.id),
        flags=(*ceiling.flags, *(flag for flag in _flags(candidate) if flag not in ceiling.flags)),
        limit=limit.value if isinstance(limit, Limit) else None,
        limit_source=limit.source if isinstance(limit, Limit) else limit.reason,
        clock_hz=candidate.clock_hz,
        power_w=candidate.power_w,
        burst=Burst(ceiling.value, ceiling.ci95, ceiling.clock_hz, ceiling.power_w),
    )


def _flags(candidate: Candidate) -> tuple[str, ...]:
    words = {word for words in candidate.point.throttled for word in words}
    return tuple(flag for flag in candidate.flags if flag != "throttled" or words - _EXPECTED)


def _differ(ceiling: Ceiling, settled: Ceiling) -> bool:
    """Whether the intervals do not meet; a value without one says too little, and a difference that no clock resolves nothing."""
    if ceiling.ci95 is None or settled.ci95 is None or abs(settled.value / ceiling.value - 1) < _RESOLUTION:
        return False
    return bool(np.max([ceiling.ci95[0], settled.ci95[0]]) > np.min([ceiling.ci95[1], settled.ci95[1]]))


def _key(candidate: Candidate) -> CeilingKey:
    point = candidate.point
    if point.measures == "bandwidth":
        return CeilingKey(point.op, level=point.level)
    return CeilingKey(point.op, precision=point.precision, path=point.path)


def _key_of(ceiling: Ceiling) -> CeilingKey:
    if isinstance(ceiling, BandwidthCeiling):
        return CeilingKey(ceiling.op, level=ceiling.level)
    return CeilingKey(ceiling.op, precision=ceiling.precision, path=ceiling.path)
