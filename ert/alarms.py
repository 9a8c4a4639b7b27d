"""Which night of which ceiling is suspect, lost, drifting, better, throttled, or changed together with its surroundings.

Every night is judged by the nights before it alone, all series at once. Three questions are asked:
- is this night unusual? z on log ratios to a rolling baseline without its outliers (Hampel 1974), as a Q chart (Quesenberry 1991);
- do the last nights add up to a loss? self-starting CUSUM (Hawkins, "Self-starting CUSUM charts for location and scale",
  The Statistician 36, 1987) of winsorized z, so that no single night can trip it (Lucas & Crosier, "Robust CUSUM", 1982). It takes
  the z for independent, and they share the errors of one short baseline: the nights of the sum must pass a test together as well;
- is the median of the last nights below the reference, which never moves by itself?
"""

from __future__ import annotations

import numpy as np

from ert.alarm_state import DELAY, ENVIRONMENT, IMPROVEMENT, REGRESSION, SUSPECT, THROTTLED, Judgement, Nights, State, Tonight
from ert.history_rules import Rules
from ert.history_stats import (
    MEDIAN_PENALTY,
    Bools,
    Difference,
    Floats,
    Ints,
    difference,
    is_slide,
    normal_z,
    push,
    row_medians,
    split,
    spread,
    without_gross,
)

# The nights whose median is the size of a change.
_LAST = 3
# A change of the surroundings moves the baselines from this z on: three nights that were asked for are not one of thousands.
_MOVED_Z = 3.0
# So few nights cannot show whether they slide; they are a loss.
_SHORT_RUN = 4
# A gain can wait, and one that is believed too soon turns the ordinary nights after it into a loss: twice the nights of a loss.
_GAIN_NIGHTS = 6
# So far from the baseline must the nights of a step be together: 1 in 20,000, on one side. Where three standard deviations of the mean
# of _LAST nights are more than ``least_change``, that guards no more: there it must be 1 in 1,000,000.
_APART_Z, _APART_IN_NOISE_Z = 3.9, 4.75


def judge(nights: Nights, rules: Rules) -> Judgement:
    """Judge every night of every series by the nights before it."""
    found = Judgement.empty(nights.log_value.shape)
    state = State.new(nights.log_value.shape[0], rules)
    for t in range(nights.log_value.shape[1]):
        for series, chosen in nights.baselines.get(t, ()):
            values = nights.log_value[series, list(chosen)]
            state.start_afresh(series, values[np.isfinite(values)])
        _begin_to_settle(state, nights.changed[:, t], t, rules)
        tonight = _compare(nights, t, state, rules)
        found.expected[:, t] = np.where(state.ready, tonight.spread.mean, np.nan)
        _mark(found, tonight, tonight.excused & tonight.is_low & (tonight.z < -rules.step.slack_z), THROTTLED)
        lost, settling = state.is_lost.copy(), state.settling
        _follow_loss(state, found, tonight, tonight.judged & lost, rules)
        _settle(state, found, tonight, tonight.judged & ~lost & settling, rules)
        _watch(state, found, tonight, tonight.judged & ~lost & ~settling, rules)
        _drift(state, found, tonight, tonight.judged & ~lost & ~state.is_lost, rules)
        _learn(state, tonight, nights.excused[:, t], rules)
    found.reference[:] = state.reference
    return found


def _begin_to_settle(state: State, changed: Bools, t: int, rules: Rules) -> None:
    """Surroundings that change while a baseline is learned start it afresh; a loss that is raised already stays one."""
    begins = changed & state.ready & ~state.is_lost
    state.settle_left[begins] = rules.nights.settle
    state.settle_since[begins] = t
    state.settling = state.settle_left > 0
    state.trail[changed & ~state.ready] = np.nan


def _compare(nights: Nights, t: int, state: State, rules: Rules) -> Tonight:
    value, least = nights.log_value[:, t], rules.step.least_change
    known = np.isfinite(value) & state.ready
    usual = spread(without_gross(state.trail[:, :-DELAY], least))
    sigma = np.fmax(usual.sigma, rules.baseline.least_noise)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.where(known, value - usual.mean, 0.0)
        error = np.hypot(np.maximum(sigma, nights.own_sigma[:, t]), sigma / np.sqrt(usual.nights))
        z = np.where(known, normal_z(away / error, usual.nights - 1), 0.0)
    # What is always throttled cannot be excused by it: its baseline is a throttled one.
    excused = nights.excused[:, t] & known & (state.excused_share <= 0.5)
    is_low, is_high = away <= np.log1p(-least), away >= np.log1p(least)
    return Tonight(t, value, away, z, usual, sigma, is_low, is_high, excused, known & ~excused)


def _mark(found: Judgement, tonight: Tonight, rows: Bools, kind: int, since: Ints | None = None) -> None:
    t = tonight.number
    found.kind[rows, t] = kind
    found.change[rows, t] = tonight.away[rows]
    found.since[rows, t] = t if since is None else since[rows]


def _follow_loss(state: State, found: Judgement, tonight: Tonight, rows: Bools, rules: Rules) -> None:
    """A loss stays raised until the median of the last nights is half way back, in size or in certainty; the baseline waits for it.

    Only nights after it was raised count, be it one: those that raised it were chosen for being low, and would keep a false alarm alive.
    """
    push(state.recent, rows, tonight.value)
    last = row_medians(state.recent[:, -rules.nights.recover :]) - tonight.spread.mean
    with np.errstate(invalid="ignore", divide="ignore"):
        error = tonight.sigma * np.sqrt(MEDIAN_PENALTY / rules.nights.recover + 1 / tonight.spread.nights)
        z = normal_z(last / error, tonight.spread.nights - 1)
    over = rows & ((last > state.loss / 2) | (z > -_APART_Z / 2))
    _mark(found, tonight, rows & ~over, REGRESSION, state.low.since)
    state.is_lost[over] = False
    state.recent[over] = np.nan
    state.low.clear(over)
    state.high.clear(over)


def _settle(state: State, found: Judgement, tonight: Tonight, rows: Bools, rules: Rules) -> None:
    """After a change of the surroundings: what changed with them is theirs, and moves both baselines."""
    _mark(found, tonight, rows & tonight.is_far(rules.step.suspect_z), ENVIRONMENT, state.settle_since)
    push(state.settled, rows, tonight.value)
    state.settle_left[rows] -= 1
    done = rows & (state.settle_left == 0)
    moved = np.where(done, np.median(state.settled, axis=1) - tonight.spread.mean, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = tonight.sigma * np.sqrt(MEDIAN_PENALTY / rules.nights.settle + 1 / tonight.spread.nights)
        is_moved = done & (np.abs(normal_z(moved / error, tonight.spread.nights - 1)) > _MOVED_Z)
    # Only a change worth a report moves the reference; many small ones would carry it away unseen.
    is_moved &= (moved <= np.log1p(-rules.step.least_change)) | (moved >= np.log1p(rules.step.least_change))
    state.reference[is_moved] += moved[is_moved]
    for buffer in (state.trail, state.recent):
        buffer[is_moved] += moved[is_moved, None]
        for night in state.settled.T:
            push(buffer, done, night)
    state.low.clear(done)
    state.high.clear(done)


def _watch(state: State, found: Judgement, tonight: Tonight, rows: Bools, rules: Rules) -> None:
    """The ordinary night."""
    step = rules.step
    push(state.trail, rows, tonight.value)
    for side in (state.low, state.high):
        # Twice the limit is certainty enough; a sum that grew without end would not come back in time.
        side.add(rows, np.clip(tonight.z, -step.clip_z, step.clip_z), step.slack_z, 2 * step.limit_z, tonight.number)
    size = np.where(rows, row_medians(state.trail[:, -_LAST:]) - tonight.spread.mean, 0.0)
    lost = _losses(state, rows & (state.low.value > step.limit_z) & (size <= np.log1p(-step.least_change)), rules)
    gained = _gains(state, rows & (state.high.value > step.limit_z) & (state.high.nights >= _GAIN_NIGHTS), rules)
    _mark(found, tonight, rows & tonight.is_far(step.suspect_z) & ~lost & ~gained, SUSPECT)
    _mark(found, tonight, lost, REGRESSION, state.low.since)
    _mark(found, tonight, gained & (size >= np.log1p(step.least_change)), IMPROVEMENT, state.high.since)
    state.is_lost |= lost
    state.loss[lost] = size[lost]
    _leave_out(state, lost)
    state.recent[lost] = np.nan
    # Whatever is gained is the new standard, also where it is too little to report.
    _move_up(state, gained, step.least_change)
    state.low.clear(gained)
    state.high.clear(gained)


def _losses(state: State, tripped: Bools, rules: Rules) -> Bools:
    """Those whose sum comes from a step. A slide is left to the reference, which sees it; the rolling baseline goes along."""
    lost = tripped.copy()
    for row in map(int, np.flatnonzero(tripped)):
        nights = int(state.low.nights[row])
        lost[row] = _is_apart(state.trail[row], nights, rules)
        if lost[row] and nights > _SHORT_RUN and is_slide(state.trail[row]):
            lost[row] = False
            state.low.clear(row)
    return lost


def _leave_out(state: State, lost: Bools) -> None:
    """The baseline of a loss ends before the loss; the last DELAY nights are no part of it anyway."""
    for row in map(int, np.flatnonzero(lost)):
        _, loss = split(state.trail[row], int(state.low.nights[row]))
        more = max(loss.size - DELAY, 0)
        state.trail[row] = np.concatenate([np.full(more, np.nan), state.trail[row, : state.trail.shape[1] - more]])


def _gains(state: State, tripped: Bools, rules: Rules) -> Bools:
    """Those whose nights are, all together, beyond any doubt: the end of a gain that was none would be raised as a loss for good."""
    gained = tripped.copy()
    for row in map(int, np.flatnonzero(tripped)):
        gained[row] = _step(-state.trail[row], int(state.high.nights[row]), rules).z < -_APART_IN_NOISE_Z
    return gained


def _is_apart(trail: Floats, nights: int, rules: Rules) -> bool:
    """Whether the last nights of a trail (w,), those of the sum or _LAST of them, lie below the others, and not by chance."""
    for step in (_step(trail, nights, rules), _step(trail, _LAST, rules)):
        in_noise = 3 * step.sigma / np.sqrt(_LAST) > rules.step.least_change
        if step.z < -(_APART_IN_NOISE_Z if in_noise else _APART_Z):
            return True
    return False


def _step(trail: Floats, last: int, rules: Rules) -> Difference:
    """From the nights before the last ones to these."""
    before, after = split(trail, last)
    return difference(without_gross(before[None], rules.step.least_change)[0], after, rules.baseline.least_noise)


def _move_up(state: State, gained: Bools, least_change: float) -> None:
    """Move the baseline of before a gain by as much."""
    for row in map(int, np.flatnonzero(gained)):
        before, after = split(state.trail[row], int(state.high.nights[row]))
        usual = np.nanmean(without_gross(before[None], least_change))
        state.trail[row, : -after.size] += np.median(after) - usual


def _drift(state: State, found: Judgement, tonight: Tonight, rows: Bools, rules: Rules) -> None:
    """The median of the last nights against the reference; raised until it is half way back, in size or in certainty."""
    # The nights of a settling came in together, at its end.
    push(state.recent, rows & ~state.settling, tonight.value)
    asked = rows & np.isfinite(state.recent).all(axis=1) & (state.reference_nights > 0)
    away = np.where(asked, np.median(state.recent, axis=1) - state.reference, 0.0)
    sigma = np.fmax(tonight.spread.successive, rules.baseline.least_noise)
    error = sigma * np.sqrt(MEDIAN_PENALTY / rules.drift.nights + 1 / np.maximum(state.reference_nights, 1))
    # Successive differences of n nights are worth two thirds of n - 1 degrees of freedom (von Neumann 1941).
    z = normal_z(away / error, (tonight.spread.nights - 1) * 2 / 3)
    begins = asked & ~state.settling & (away <= np.log1p(-rules.drift.change)) & (z < -rules.drift.z)
    goes_on = asked & state.is_drifting & (away <= np.log1p(-rules.drift.change / 2)) & (z < -rules.drift.z / 2)
    state.drift_since[begins & ~state.is_drifting] = tonight.number
    state.is_drifting[asked] = (begins | goes_on)[asked]
    raised = asked & state.is_drifting
    found.drift_change[raised, tonight.number] = away[raised]
    found.drift_since[raised, tonight.number] = state.drift_since[raised]


def _learn(state: State, tonight: Tonight, excused: Bools, rules: Rules) -> None:
    """Take in the nights of series that have no baseline yet, and fix the reference when there are enough."""
    known = np.isfinite(tonight.value)
    push(state.trail, known & ~state.ready, tonight.value)
    seen = np.isfinite(state.trail).sum(axis=1)
    state.excused_share[known] += (excused[known] - state.excused_share[known]) / np.maximum(seen[known], 1)
    state.ready |= seen >= rules.baseline.least_nights
    fixed = state.ready & (state.reference_nights == 0) & (seen >= rules.baseline.reference_nights)
    state.reference[fixed] = np.nanmean(without_gross(state.trail[fixed], rules.step.least_change), axis=1)
    state.reference_nights[fixed] = rules.baseline.reference_nights
