"""What is judged night by night, what is remembered of every series meanwhile, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ert.history_rules import Rules
from ert.history_stats import Bools, Floats, Ints, Spread

StepKind = Literal["suspect", "regression", "improvement", "throttled", "environment_change"]
# Position + 1 is the code of a kind in ``Judgement.kind``; 0 is a night with nothing to say.
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
SUSPECT, REGRESSION, IMPROVEMENT, THROTTLED, ENVIRONMENT = range(1, 6)

# The rolling baseline ends this many nights before tonight: a loss is raised in its third night, before its first is a part of it.
DELAY = 2


@dataclass(frozen=True, slots=True)
class Nights:
    """What there is to judge, (series, nights), oldest first.

    log_value  natural logarithm of the ceiling, NaN where there is none
    own_sigma  relative standard error the run itself gives, 0 where it gives none
    excused    the device says that something slowed it (throttling, another program)
    changed    the surroundings differ from those of the series' night before
    baselines  night -> (series, nights) pairs: from this night on, these nights are reference and rolling baseline
    """

    log_value: Floats
    own_sigma: Floats
    excused: Bools
    changed: Bools
    baselines: Mapping[int, Sequence[tuple[int, Sequence[int]]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Per series and night. Changes are natural logarithms of ratios, NaN where there is none; ``since`` is a night.

    kind, change, since          a step against the rolling baseline; kind 0 for none, else ``STEP_KINDS[kind - 1]``
    drift_change, drift_since    against the reference, while it is raised
    expected                     the rolling baseline the night was compared with, NaN while it is being learned
    reference                    (series,), after the last night; NaN while there is none
    """

    kind: NDArray[np.int8]
    change: Floats
    since: Ints
    drift_change: Floats
    drift_since: Ints
    expected: Floats
    reference: Floats

    @classmethod
    def empty(cls, shape: tuple[int, int]) -> Judgement:
        """Nothing to say of any night."""

        def nan() -> Floats:
            return np.full(shape, np.nan)

        return cls(
            np.zeros(shape, np.int8), nan(), np.zeros(shape, np.int64), nan(), np.zeros(shape, np.int64), nan(), np.full(shape[0], np.nan)
        )


@dataclass(slots=True)
class RunningSum:
    """One side of the CUSUM, (series,): its value, the nights it has been above 0, and the first of them."""

    sign: float
    value: Floats
    nights: Ints
    since: Ints

    def add(self, rows: Bools, z: Floats, slack_z: float, most: float, night: int) -> None:
        self.since[rows & (self.value == 0)] = night
        self.value[rows] = np.clip(self.value + self.sign * z - slack_z, 0.0, most)[rows]
        self.nights[rows] = np.where(self.value > 0, self.nights + 1, 0)[rows]

    def clear(self, rows: Bools | int) -> None:
        self.value[rows] = 0.0
        self.nights[rows] = 0


@dataclass(slots=True)
class State:
    """What is remembered of each series from one night to the next.

    trail     the last ordinary nights, the baseline among them;  recent: the last judged ones;  settled: since a change of surroundings
    loss      size of the loss that is raised, as a log ratio
    """

    trail: Floats
    recent: Floats
    settled: Floats
    ready: Bools
    excused_share: Floats
    reference: Floats
    reference_nights: Ints
    settle_left: Ints
    settle_since: Ints
    settling: Bools
    low: RunningSum
    high: RunningSum
    is_lost: Bools
    loss: Floats
    is_drifting: Bools
    drift_since: Ints

    @classmethod
    def new(cls, series: int, rules: Rules) -> State:
        def nan(width: int) -> Floats:
            return np.full((series, width), np.nan)

        def whole() -> Ints:
            return np.zeros(series, np.int64)

        def no() -> Bools:
            return np.zeros(series, np.bool_)

        return cls(
            trail=nan(rules.baseline.rolling_nights + DELAY),
            recent=nan(rules.drift.nights),
            settled=nan(rules.nights.settle),
            ready=no(),
            excused_share=np.zeros(series),
            reference=np.full(series, np.nan),
            reference_nights=whole(),
            settle_left=whole(),
            settle_since=whole(),
            settling=no(),
            low=RunningSum(-1.0, np.zeros(series), whole(), whole()),
            high=RunningSum(1.0, np.zeros(series), whole(), whole()),
            is_lost=no(),
            loss=np.zeros(series),
            is_drifting=no(),
            drift_since=whole(),
        )

    def start_afresh(self, series: int, values: Floats) -> None:
        """Take ``values`` (n,) as reference and rolling baseline, and forget everything else."""
        for buffer in (self.trail, self.recent, self.settled):
            buffer[series] = np.nan
        for flag in (self.is_lost, self.is_drifting):
            flag[series] = False
        self.low.clear(series)
        self.high.clear(series)
        self.settle_left[series] = 0
        last = values[-self.trail.shape[1] :]
        self.trail[series, -last.size :] = last
        self.reference[series], self.reference_nights[series] = values.mean(), values.size
        self.ready[series] = True


@dataclass(frozen=True, slots=True)
class Tonight:
    """One night against what is expected; all (series,).

    away, z  from the rolling baseline, as a log ratio and in standard deviations; 0 where nothing can be judged
    sigma    of the baseline, not below what is believed
    """

    number: int
    value: Floats
    away: Floats
    z: Floats
    spread: Spread
    sigma: Floats
    is_low: Bools
    is_high: Bools
    excused: Bools
    judged: Bools

    def is_far(self, z: float) -> Bools:
        return (np.abs(self.z) > z) & (self.is_low | self.is_high)
