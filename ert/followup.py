"""Which points of a sweep are worth measuring again under other conditions, once it is known what the roofs are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ert.ceilings.kinds import ROOF_OP
from ert.devices.base import Device
from ert.plan import PlannedPoint

if TYPE_CHECKING:
    from ert.sweep import PointState


def count_roofs(points: Iterable[PlannedPoint]) -> int:
    """How many roofs a plan can find; each is measured again."""
    return len({key for point in points if (key := _roof_of(point))})


def roof_candidates(states: Iterable[PointState], device: Device) -> list[list[PointState]]:
    """For each roof, what may turn out to be it, the fastest first: of a level the best point of every operation, of a precision and
    path the best point of the operation that defines it."""
    best: dict[tuple[str, ...], dict[str, PointState]] = {}
    for state in states:
        key = _roof_of(state.planned)
        if key and state.samples:
            ops, op = best.setdefault(key, {}), state.planned.task.kernel.op
            if op not in ops or state.rate(device) > ops[op].rate(device):
                ops[op] = state
    return [sorted(ops.values(), key=lambda state: -state.rate(device)) for ops in best.values()]


def worth_zeros(states: Sequence[PointState], device: Device) -> list[PointState]:
    """The best point of every tensor roof: what its operands are decides how much power it draws, and so its clock."""
    return [rivals[0] for rivals in roof_candidates(states, device) if rivals[0].planned.task.kernel.path == "tensor"]


def _roof_of(point: PlannedPoint) -> tuple[str, ...] | None:
    """The level, or the precision and path, whose roof the point may be; None for points of a curve and mixed ones."""
    task = point.task
    kernel = task.kernel
    if kernel.measures == "bandwidth" and task.level and not point.is_curve:
        return (task.level,)
    if kernel.measures == "compute" and kernel.op == ROOF_OP[kernel.path]:
        return task.precision, kernel.path
    return None
