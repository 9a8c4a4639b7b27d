"""Run a plan: visit all points in random order, round after round, until each has converged or the time is up.

Every visit takes a few samples and is on disk before the next one starts. Visiting in rounds spreads each
point's samples over the whole run, so that a slow spell of the machine touches a few samples of every
point instead of all samples of one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ert.config import SweepConfig
from ert.counting import counted_by_core, in_fastest_visits, times_by_core
from ert.devices.base import Device, Sample
from ert.errors import ErtError, LostError, UnsupportedError
from ert.followup import count_roofs, roof_candidates, worth_zeros
from ert.journal import Journal, Visit
from ert.measure import calibrate, visit, visit_sustained
from ert.plan import Plan, PlannedPoint, on_zeros, sustained
from ert.stopping import SampleSet, is_in_need, why_stop

# A first visit must not wait: on a machine that is never quiet every point still gets its samples.
_FIRST_PATIENCE_S = 0.002
# Quiet spells come and go within milliseconds; a visit that waits longer only keeps the others from being seen.
_LAST_PATIENCE_S = 0.005
# A candidate whose best sample is this far below the median of another one will not become the ceiling.
_HOPELESS_SHARE = 0.9
_LEAST_VISITS = 2
# Compiling, and having memory from a host that must find it first, are in the budget up to this share: so that a sweep takes what it
# says, and one that has to compile for long is no sweep without samples.
_MOST_READY_SHARE = 1 / 3
# Of so many rounds one goes to all unfinished points, the others to those in need.
_WHOLE_ROUND = 4
# Before this share of a run is over nothing is said of when it ends, and before the end it is never all of it.
_FIRST_GUESS, _LAST_SHARE = 0.02, 0.99


class Progress(Protocol):
    """Where the run says how far it is."""

    def update(self, share: float, eta_s: float | None, doing: str) -> None:
        """share: of the whole run, 0 to 1, which never goes back; doing: what is being measured now."""
        ...


@dataclass(slots=True)
class PointState:
    """What is known of one planned point so far; ``cut_short``: why it was not visited to the end, though it has samples."""

    planned: PlannedPoint
    status: str = "ok"
    reason: str | None = None
    cut_short: str | None = None
    working_set_bytes: int | None = None
    flops: float = 0.0
    bytes: float = 0.0
    repeats: int = 0
    samples: list[Sample] = field(default_factory=list)
    # Of each sample the number of its visit.
    visits: list[int] = field(default_factory=list)

    def add(self, found: Visit) -> None:
        if found.status != "ok" and self.samples:
            # What was measured and checked before stays measured.
            self.cut_short = found.reason
            return
        self.status, self.reason = found.status, found.reason
        if found.status == "ok":
            self.working_set_bytes, self.flops, self.bytes, self.repeats = found.working_set_bytes, found.flops, found.bytes, found.repeats
            self.visits.extend([self.visits[-1] + 1 if self.visits else 0] * len(found.samples))
            self.samples.extend(found.samples)

    @property
    def work(self) -> float:
        """What a sample does: bytes for points of a memory level, operations for the others."""
        per_repeat = self.bytes if self.planned.task.kernel.measures == "bandwidth" else self.flops
        return per_repeat * self.repeats

    def rate(self, device: Device) -> float:
        """Median work per second of the samples that count, of all where none does; 0 without samples."""
        if not self.samples:
            return 0.0
        found = self.sample_set(device)
        return self.work / float(np.median(found.counted_s if found.counted_s.size else found.time_s))

    @property
    def group(self) -> tuple[str | int | None, ...]:
        """Points of one group are candidates for the same number; a mixed point stands for itself."""
        task = self.planned.task
        kernel = task.kernel
        if kernel.measures == "mixed":
            return (self.planned.id,)
        size = task.working_set_bytes if self.planned.is_curve else None
        return (kernel.measures, kernel.op, kernel.path, task.precision, task.level, size)

    def sample_set(self, device: Device) -> SampleSet:
        task = self.planned.task
        undisturbed = [not s.throttled and not device.disturbance(s, task) > 0 for s in self.samples]
        time_s = [sample.time_s for sample in self.samples]
        threshold = device.core_threshold(task)
        by_core_s = None if threshold is None else times_by_core(self.samples, counted_by_core(self.samples, self.visits, threshold))
        return SampleSet(np.array(time_s), len(set(self.visits)), in_fastest_visits(time_s, self.visits, undisturbed), by_core_s)


class Sweep:
    """One run of a plan on a device, into a journal; ``lost``: the device's last words, if it was lost on the way."""

    def __init__(self, device: Device, plan: Plan, config: SweepConfig, journal: Journal, progress: Progress) -> None:
        self._device, self._config, self._journal, self._progress = device, config, journal, progress
        self.states = {point.id: PointState(point) for point in plan.points}
        self._earlier: dict[str, Visit] = {}
        self._start_s = 0.0
        self._share = 0.0
        self.lost: str | None = None
        self._followups_s = config.sampling.sustain_s * count_roofs(plan.points)

    def reuse(self, visits: Iterable[Visit]) -> int:
        """Take over the visits of an earlier run; returns how many points they cover. Points of another plan are ignored."""
        measured = [v for v in visits if v.status == "ok"]
        known = [v for v in measured if v.id in self.states]
        for earlier in known:
            self.states[earlier.id].add(earlier)
        # Follow-ups are planned when it is known what to follow up.
        self._earlier = {v.id: v for v in measured if v.id not in self.states}
        return len({v.id for v in known})

    def run(self) -> Sequence[PointState]:
        """Measure until every point is done or the budget is spent; every point is visited once in any case."""
        self._progress.update(0.0, None, "compiling kernels, filling memory")
        began_s = time.monotonic()
        self._device.make_ready([state.planned.task for state in self.states.values()])
        ready_s = time.monotonic()
        self._start_s = max(began_s, ready_s - _MOST_READY_SHARE * self._config.budget_s)
        for round_number in range(self._config.sampling.max_samples):
            todo = self._todo(round_number)
            if not todo or (round_number and self._is_time_up()):
                break
            random.Random(f"{self._config.sampling.seed}/{round_number}").shuffle(todo)
            self._visit_all(todo, is_first=not round_number)
            self._journal.sync()
        self._follow_up()
        return list(self.states.values())

    def _follow_up(self) -> None:
        """Measure again, under other conditions, what turned out to be a roof: on zeros, and after seconds of unbroken work."""
        measured, sustain_s = list(self.states.values()), self._config.sampling.sustain_s
        roofs = roof_candidates(measured, self._device) if sustain_s else []
        for state in worth_zeros(measured, self._device):
            self._measure_again(on_zeros(state.planned), sustain_s * len(roofs))
        for number, rivals in enumerate(roofs):
            highest = 0.0
            for state in rivals:
                # A slower operation is the roof only if the faster one does not sustain its rate.
                if state.rate(self._device) > highest:
                    again = self._measure_again(sustained(state.planned, sustain_s), sustain_s * (len(roofs) - number))
                    highest = max(highest, again.rate(self._device))
        self._journal.sync()

    def _measure_again(self, point: PlannedPoint, left_s: float) -> PointState:
        """One visit, unless an interrupted run has made it already. left_s: what this and the later follow-ups take."""
        state = self.states[point.id] = PointState(point)
        self._report(left_s, point.id)
        found = self._earlier.get(point.id)
        if found is None:
            found = self._visit(state, _FIRST_PATIENCE_S)
            self._journal.record(found)
        state.add(found)
        return state

    def _todo(self, round_number: int) -> list[PointState]:
        """Unfinished points with a chance; while some are in need of samples, only those.

        But for every few rounds: a machine that never calms would leave the intervals of all others wide.
        """
        found = {key: state.sample_set(self._device) for key, state in self.states.items() if state.samples}
        best = self._best_rates(found)
        unfinished = [state for key, state in self.states.items() if not self._is_done(state, found.get(key), best)]
        if round_number % _WHOLE_ROUND == 0:
            return unfinished
        rule = self._config.sampling
        return [
            state
            for state in unfinished
            if (samples := found.get(state.planned.id)) is None or is_in_need(samples, rule, is_ceiling=state.planned.is_for_a_ceiling)
        ] or unfinished

    def _best_rates(self, found: Mapping[str, SampleSet]) -> dict[tuple[str | int | None, ...], float]:
        """Of each group of candidates for one ceiling, the highest median rate of the samples that count."""
        best: dict[tuple[str | int | None, ...], float] = {}
        for key, samples in found.items():
            if samples.counted_s.size:
                state = self.states[key]
                best[state.group] = max(state.work / float(np.median(samples.counted_s)), best.get(state.group, 0.0))
        return best

    def _is_done(self, state: PointState, found: SampleSet | None, best: Mapping[tuple[str | int | None, ...], float]) -> bool:
        if state.status != "ok" or state.cut_short:
            return True
        return found is not None and (why_stop(found, self._config.sampling) is not None or _is_hopeless(state, found, best))

    def _visit_all(self, todo: Sequence[PointState], *, is_first: bool) -> None:
        for position, state in enumerate(todo):
            if state.samples and self._is_time_up():
                continue
            self._report(self._left_s(position / len(todo) if is_first else 1.0), state.planned.id)
            found = self._visit(state, self._patience_s(state, len(todo) - position))
            self._journal.record(found)
            state.add(found)

    def _patience_s(self, state: PointState, waiting: int) -> float:
        """How long this visit may wait for a quiet machine: little the first time, then its share of the time that is left."""
        if not state.samples:
            return _FIRST_PATIENCE_S
        left_s = self._config.budget_s - self._used_s()
        return min(max(left_s / waiting, _FIRST_PATIENCE_S), _LAST_PATIENCE_S)

    def _visit(self, state: PointState, patience_s: float) -> Visit:
        """One visit; what goes wrong with this point is its row, and the sweep goes on."""
        rule = self._config.sampling
        try:
            prepared = self._device.prepare(state.planned.task)
            try:
                repeats = state.repeats or calibrate(prepared, max(rule.min_time_s, prepared.least_time_s))
                if state.planned.sustain_s:
                    samples = visit_sustained(prepared, repeats, rule.min_samples, state.planned.sustain_s)
                else:
                    samples = visit(prepared, repeats, rule.per_visit, patience_s)
                size, flops, moved = prepared.working_set_bytes, prepared.flops_per_repeat, prepared.bytes_per_repeat
                return Visit(state.planned.id, "ok", None, size, flops, moved, repeats, tuple(samples))
            finally:
                prepared.close()
        except UnsupportedError as error:
            return Visit(state.planned.id, "unsupported", str(error))
        except ErtError as error:
            if isinstance(error, LostError):
                self.lost = str(error)
            return Visit(state.planned.id, "error", str(error))

    def _is_time_up(self) -> bool:
        return self._used_s() > self._config.budget_s

    def _used_s(self) -> float:
        return time.monotonic() - self._start_s

    def _left_s(self, visited: float) -> float:
        """Until the budget is spent, or until every point was visited once where that takes longer; and then the follow-ups.

        visited  share of the points that had their first visit
        """
        used_s = self._used_s()
        rounds_s = max(self._config.budget_s, used_s / visited if visited else 0.0)
        return max(rounds_s - used_s, 0.0) + self._followups_s

    def _report(self, left_s: float, doing: str) -> None:
        """The share of the time that is over; a guess that turns out too short stands still, and never goes back."""
        used_s = self._used_s()
        self._share = max(self._share, min(used_s / (used_s + left_s), _LAST_SHARE))
        self._progress.update(self._share, left_s if self._share > _FIRST_GUESS else None, doing)


def _is_hopeless(state: PointState, found: SampleSet, best: Mapping[tuple[str | int | None, ...], float]) -> bool:
    """Racing (Maron & Moore 1994): time goes to the candidates that can still win. One slow visit may be a slow state of the cache."""
    if found.visits < _LEAST_VISITS or state.group not in best:
        return False
    # Cores that wait for none are faster together than the slowest of them in any sample.
    fastest = state.work / float(min(*found.time_s, *found.counted_s))
    return fastest < _HOPELESS_SHARE * best[state.group]
