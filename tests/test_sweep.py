"""ert.sweep: every point is visited, in random order, until it converges or the time is up; what fails is a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from engine import DEFAULT, QUICK, Silent, sweep_of, with_sampling
from fake_device import FakeDevice, FakePrepared, Machine

import ert.sweep
from ert.config import restrict
from ert.devices.base import Sample, Task
from ert.errors import ErtError, KernelError, LostError, MeasurementError
from ert.journal import Visit, read_journal

CONFIG = with_sampling(QUICK, per_visit=4, min_samples=8, max_samples=40)


def states_by_id(sweep):
    return {state.planned.id: state for state in sweep.run()}


def test_every_point_is_measured_until_it_has_converged(tmp_path):
    states = states_by_id(sweep_of(FakeDevice(Machine(noise=0.001)), tmp_path, CONFIG))
    assert {state.status for state in states.values()} == {"ok"}
    assert all(len(state.samples) >= 4 for state in states.values())
    best_read = max((s for s in states.values() if s.planned.task.level == "L1"), key=lambda s: s.work / s.samples[0].time_s)
    assert len(best_read.samples) >= 8


def test_the_journal_holds_every_sample_that_the_result_holds(tmp_path):
    sweep = sweep_of(FakeDevice(), tmp_path, CONFIG)
    states = states_by_id(sweep)
    written: dict[str, list[float]] = {}
    for visit in read_journal(tmp_path / "x.points.jsonl").visits:
        written.setdefault(visit.id, []).extend(sample.time_s for sample in visit.samples)
    assert written == {key: [sample.time_s for sample in state.samples] for key, state in states.items()}


def test_visits_are_interleaved_in_an_order_that_only_the_seed_decides(tmp_path):
    def order(name: str, seed: int) -> list[str]:
        device = FakeDevice()
        sweep_of(device, tmp_path, with_sampling(CONFIG, seed=seed), name=name).run()
        return [f"{task.kernel.name}/{task.precision}/{task.level}/{task.working_set_bytes}/{task.parameters}" for task in device.visits]

    first = order("a", 1)
    assert order("b", 1) == first
    assert order("c", 2) != first
    planned = len(set(first))
    in_first_round = first[:planned]
    assert len(set(in_first_round)) == planned  # everything once before anything twice
    assert in_first_round != sorted(in_first_round)


def test_a_slow_spell_touches_some_samples_of_many_points_and_not_all_of_one(tmp_path):
    device = FakeDevice(Machine(noise=0.02))
    sweep_of(device, tmp_path, with_sampling(CONFIG, target_relative=1e-6)).run()
    positions: dict[str, list[int]] = {}
    for position, task in enumerate(device.visits):
        positions.setdefault(f"{task.kernel.name}/{task.precision}/{task.level}/{task.working_set_bytes}", []).append(position)
    spread = max(positions.values(), key=len)
    assert max(spread) - min(spread) > len(device.visits) / 2


def test_a_point_that_fails_is_a_row_with_its_reason_and_the_sweep_goes_on(tmp_path):
    device = FakeDevice(Machine(refuses={"triad": KernelError("triad: it lies")}))
    states = states_by_id(sweep_of(device, tmp_path, CONFIG))
    failed = {key: state for key, state in states.items() if state.status != "ok"}
    assert failed
    assert {key.split("/")[0] for key in failed} == {"triad"}
    assert {(state.status, state.reason, len(state.samples)) for state in failed.values()} == {("error", "triad: it lies", 0)}
    rows = [visit for visit in read_journal(tmp_path / "x.points.jsonl").visits if visit.status != "ok"]
    assert {row.id for row in rows} == set(failed)
    assert len(rows) == len(failed)  # a failed point is not tried again


def test_a_lost_sample_ends_its_point_and_no_other(tmp_path):
    device = FakeDevice(Machine(faults={50: MeasurementError("ran 3 trips instead of 4")}))
    states = states_by_id(sweep_of(device, tmp_path, CONFIG))
    assert [state.reason for state in states.values() if state.status == "error"] == ["ran 3 trips instead of 4"]


def test_a_device_that_is_lost_makes_rows_of_what_is_left_and_keeps_the_samples_before(tmp_path):
    faults = {number: LostError("the device is gone") for number in range(900, 100000)}
    sweep = sweep_of(FakeDevice(Machine(faults=faults)), tmp_path, CONFIG)
    states = states_by_id(sweep)
    assert sweep.lost == "the device is gone"
    failed = [state for state in states.values() if state.status == "error"]
    assert {state.reason for state in failed} == {"the device is gone"}
    assert not any(state.samples for state in failed)
    short = [state for state in states.values() if state.cut_short]
    assert {state.cut_short for state in short} == {"the device is gone"}
    assert all(state.samples and state.status == "ok" for state in short)
    assert failed
    assert short


def test_an_error_nobody_foresaw_is_not_swallowed(tmp_path):
    sweep = sweep_of(FakeDevice(Machine(faults={1: ZeroDivisionError()})), tmp_path, CONFIG)
    with pytest.raises(ZeroDivisionError):
        sweep.run()


def test_a_journal_that_cannot_be_written_ends_the_sweep_with_its_error(tmp_path, monkeypatch):
    sweep = sweep_of(FakeDevice(), tmp_path, CONFIG)

    def full(visit: Visit) -> None:
        raise ErtError("x.points.jsonl: cannot be written: No space left on device.")

    monkeypatch.setattr(sweep._journal, "record", full)
    with pytest.raises(ErtError, match="No space left"):
        sweep.run()


class Clock:
    """A clock on which every look takes the same time."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def monotonic(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def test_when_the_time_is_up_every_point_has_still_been_visited_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ert.sweep, "time", Clock(3600.0))
    states = states_by_id(sweep_of(FakeDevice(Machine(noise=0.1)), tmp_path, with_sampling(CONFIG, target_relative=1e-9)))
    assert {len(state.samples) for state in states.values()} == {4}


@pytest.mark.parametrize(("ready_s", "measuring_s"), [(0.0, 30.0), (8.0, 22.0), (10.0, 20.0), (500.0, 20.0)])
def test_getting_ready_takes_its_time_from_the_budget_but_no_more_than_a_third(tmp_path, monkeypatch, ready_s, measuring_s):
    clock = Clock(0.0)
    monkeypatch.setattr(ert.sweep, "time", clock)

    class Slow(FakeDevice):
        def make_ready(self, tasks: Sequence[Task]) -> None:
            clock.now_s += ready_s

        def prepare(self, task: Task) -> FakePrepared:
            clock.now_s += 0.1
            return super().prepare(task)

    short = restrict(CONFIG, levels=["DRAM"], precisions=["fp64"])
    config = replace(with_sampling(short, target_relative=1e-9, max_samples=1_000_000), budget_s=30.0)
    sweep_of(Slow(Machine(noise=0.1)), tmp_path, config).run()
    assert clock.now_s - ready_s == pytest.approx(measuring_s, abs=0.2)


def test_disturbed_points_are_sampled_on_until_they_have_enough_quiet_samples(tmp_path):
    device = FakeDevice(Machine(disturbed_share=0.5))
    states = states_by_id(sweep_of(device, tmp_path, with_sampling(CONFIG, max_samples=200)))
    quiet = {key: int(state.sample_set(device).counted_s.size) for key, state in states.items()}
    won = [key for key, state in states.items() if key.startswith("mixed")]  # mixed points have no rival to lose against
    assert all(quiet[key] >= 8 for key in won)


def test_points_that_never_calm_leave_the_others_a_part_of_the_time(tmp_path):
    class Restless(FakeDevice):
        def disturbance(self, sample: Sample, task: Task) -> float:
            return float(task.kernel.measures == "mixed")

    device = Restless(Machine(noise=0.1))
    sweep_of(device, tmp_path, with_sampling(CONFIG, target_relative=1e-9)).run()
    kinds = [task.kernel.measures for task in device.visits]
    while_restless = device.visits[: len(kinds) - kinds[::-1].index("mixed")]
    visits = Counter(id(task) for task in while_restless if task.kernel.measures == "compute")
    assert max(visits.values()) > CONFIG.sampling.min_samples / CONFIG.sampling.per_visit


def test_a_point_that_never_calms_ends_at_the_most_samples(tmp_path):
    states = states_by_id(sweep_of(FakeDevice(Machine(disturbed_share=1.0)), tmp_path, CONFIG))
    assert all(len(state.samples) == 40 for state in states.values())


def test_candidates_that_cannot_win_are_not_sampled_on(tmp_path):
    plan_wide = replace(DEFAULT, sampling=with_sampling(DEFAULT, per_visit=4, min_samples=12, max_samples=100).sampling)
    states = states_by_id(sweep_of(FakeDevice(), tmp_path, plan_wide))
    level_reads = [s for s in states.values() if s.planned.task.level == "DRAM" and s.planned.task.kernel.op == "read"]
    assert len({len(s.samples) for s in level_reads}) == 1  # equals race to the end
    writes = {s.planned.task.level: s for s in states.values() if s.planned.task.kernel.op == "write"}
    assert writes["L1"].samples


def test_an_earlier_run_is_taken_over_and_only_what_is_missing_is_measured(tmp_path):
    first = sweep_of(FakeDevice(), tmp_path, CONFIG, name="first")
    done = states_by_id(first)
    visits = list(read_journal(tmp_path / "first.points.jsonl").visits)
    lost = visits[-1].id
    device = FakeDevice()
    second = sweep_of(device, tmp_path, CONFIG, name="second")
    assert second.reuse(visits[:-1]) >= len(done) - 1
    second.run()
    assert len(device.visits) <= 2  # the visit that was lost, and another if what it finds needs one
    assert {f"{task.kernel.name}/{task.precision}" for task in device.visits} <= {"/".join(lost.split("/")[:2])}


def test_visits_of_another_plan_and_failed_ones_are_not_taken_over(tmp_path):
    sweep = sweep_of(FakeDevice(), tmp_path, CONFIG)
    known = next(iter(sweep.states))
    assert sweep.reuse([Visit("no/such/point"), Visit(known, "error", "why")]) == 0
    assert sweep.states[known].status == "ok"


def test_progress_runs_from_nothing_to_almost_all_and_names_what_is_measured(tmp_path):
    sweep = sweep_of(FakeDevice(), tmp_path, CONFIG)
    sweep.run()
    progress = sweep._progress
    assert isinstance(progress, Silent)
    assert progress.shares[0] == 0.0
    assert all(0 <= share < 1 for share in progress.shares)
    assert set(progress.doing[1:]) <= set(sweep.states)


def said(tmp_path, monkeypatch, step_s, config):
    """What a sweep says of its progress where every look at the clock takes so long."""
    monkeypatch.setattr(ert.sweep, "time", Clock(step_s))
    sweep = sweep_of(FakeDevice(), tmp_path, config)
    sweep.run()
    assert isinstance(sweep._progress, Silent)
    return sweep._progress


@pytest.mark.parametrize("step_s", [0.0001, 0.01, 1.0])
@pytest.mark.parametrize("sustain_s", [0.0, 2.0])
def test_progress_never_goes_back(tmp_path, monkeypatch, step_s, sustain_s):
    progress = said(tmp_path, monkeypatch, step_s, with_sampling(CONFIG, sustain_s=sustain_s))
    assert progress.shares == sorted(progress.shares)


def test_a_first_round_that_takes_longer_than_the_budget_is_told_by_its_points(tmp_path, monkeypatch):
    progress = said(tmp_path, monkeypatch, 1.0, replace(CONFIG, budget_s=20.0))
    # All of it is one round, every point of which takes the same time.
    halfway, passed_s = len(progress.shares) // 2, ert.sweep.time.now_s
    assert passed_s > 100.0
    assert progress.shares[halfway] == pytest.approx(0.5, abs=0.02)
    assert progress.etas_s[halfway] == pytest.approx(passed_s / 2, rel=0.05)


def test_follow_ups_have_their_share_of_the_time_and_an_end(tmp_path, monkeypatch):
    config = with_sampling(restrict(CONFIG, levels=["DRAM"], precisions=["fp64"]), sustain_s=2.0)
    progress = said(tmp_path, monkeypatch, 0.005, config)
    followups = [number for number, doing in enumerate(progress.doing) if doing.endswith("/sustained")]
    # Two roofs: the bandwidth of DRAM and the rate of fp64.
    assert [progress.etas_s[number] for number in followups] == [4.0, 2.0]
    assert progress.shares[followups[0] - 1] < 0.9
    assert all(eta_s is None or eta_s >= 4.0 for eta_s in progress.etas_s[: followups[0]])
