"""Versions of one kernel in the order they were measured: what moved, and whether time really fell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ert.judge import Judgement

Verdict = Literal["faster", "slower", "same"]

# A profile gives one time per version and no interval; runs of one binary commonly differ by 1-2 %.
SAME_WITHIN = 0.02
MORE_FLOPS = "more_flops_not_faster"


@dataclass(frozen=True, slots=True)
class Step:
    """From one version to the next. Ratios are later over earlier; None where a counter is missing or zero.

    time_ratio  of the whole work, or of one launch where the number of launches differs (``per_launch``)
    """

    earlier: str
    later: str
    time_ratio: float
    per_launch: bool
    flops_ratio: float | None
    rate_ratio: float | None
    ai_ratio: Mapping[str, float]
    verdict: Verdict
    flags: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Trajectory:
    """name, and the indices of its versions in the list of judgements."""

    name: str
    kernels: tuple[int, ...]
    steps: tuple[Step, ...]


def trajectories(judgements: Sequence[Judgement]) -> list[Trajectory]:
    """One per kernel name that occurs more than once, in the order of the judgements."""
    groups: dict[str, list[int]] = {}
    for index, judgement in enumerate(judgements):
        groups.setdefault(judgement.point.name, []).append(index)
    return [
        Trajectory(name, tuple(group), tuple(_step(judgements[a], judgements[b], i) for i, (a, b) in enumerate(pairwise(group))))
        for name, group in groups.items()
        if len(group) > 1
    ]


def version_name(judgement: Judgement, number: int) -> str:
    """Its label, else where it was read."""
    origin = judgement.point.origin
    place = origin.file if origin.line is None else f"{origin.file}:{origin.line}"
    return judgement.point.label or f"#{number + 1} ({place})"


def _step(before: Judgement, after: Judgement, number: int) -> Step:
    per_launch = before.point.launches != after.point.launches
    counts = (before.point.launches, after.point.launches) if per_launch else (1, 1)
    time_ratio = (after.point.time_s / counts[1]) / (before.point.time_s / counts[0])
    flops_ratio = _ratio(after.point.total_flops, before.point.total_flops, counts)
    verdict: Verdict = "same" if abs(time_ratio - 1) <= SAME_WITHIN else "faster" if time_ratio < 1 else "slower"
    is_worthless = flops_ratio is not None and flops_ratio > 1 + SAME_WITHIN and verdict != "faster"
    rate_ratio = _ratio(after.rate_flop_per_s, before.rate_flop_per_s, (1, 1))
    ai_ratio = {level: ratio for level, ai in after.ai.items() if (ratio := _ratio(ai, before.ai.get(level), (1, 1))) is not None}
    return Step(
        earlier=version_name(before, number),
        later=version_name(after, number + 1),
        time_ratio=time_ratio,
        per_launch=per_launch,
        flops_ratio=flops_ratio,
        rate_ratio=rate_ratio,
        ai_ratio=ai_ratio,
        verdict=verdict,
        flags=(MORE_FLOPS,) if is_worthless else (),
        note=_note(verdict, time_ratio, rate_ratio, ai_ratio, flops_ratio if is_worthless else None),
    )


def _ratio(after: float | None, before: float | None, counts: tuple[int, int]) -> float | None:
    return (after / counts[1]) / (before / counts[0]) if after and before else None


def _note(verdict: Verdict, time_ratio: float, rate_ratio: float | None, ai_ratio: Mapping[str, float], worthless: float | None) -> str:
    moves = [f"{word} (FLOP/s x {rate_ratio:.3g})" for word in [_word(rate_ratio, "up", "down")] if word and rate_ratio]
    moves += [f"{word} on {level} (AI x {ratio:.3g})" for level, ratio in ai_ratio.items() if (word := _word(ratio, "right", "left"))]
    moved = f"moved {', '.join(moves)}" if moves else "did not move"
    speed = {
        "faster": f"time fell to {100 * time_ratio:.1f} %",
        "slower": f"time grew to {100 * time_ratio:.1f} %",
        "same": "time did not change",
    }
    note = f"{moved}; {speed[verdict]}"
    if worthless is not None:
        note += f". FLOPs grew x {worthless:.3g} and time did not fall: the better FLOP/s and AI are worth nothing"
    return note


def _word(ratio: float | None, grew: str, fell: str) -> str | None:
    if ratio is None or abs(ratio - 1) <= SAME_WITHIN:
        return None
    return grew if ratio > 1 else fell
