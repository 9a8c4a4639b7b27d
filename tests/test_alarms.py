"""ert.alarms: which nights are raised, by simulation and on sixty nights of one card."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ert.alarm_state import ENVIRONMENT, IMPROVEMENT, REGRESSION, STEP_KINDS, SUSPECT, THROTTLED, Judgement, Nights
from ert.alarms import judge
from ert.history_rules import shipped_rules

RULES = shipped_rules()
DRIFT = Path(__file__).parent / "data" / "history" / "drift.csv"
METRICS = ("dram", "fp64", "l2", "fp16_tensor")
Floats = NDArray[np.float64]


def judged(log_value: Floats, *, excused: object = None, changed: object = None, **more: object) -> Judgement:
    """One series (n,) or many (s, n)."""
    values = np.atleast_2d(log_value)
    no = np.zeros(values.shape, np.bool_)
    return judge(
        Nights(
            values,
            np.zeros(values.shape),
            no if excused is None else np.atleast_2d(excused),
            no if changed is None else np.atleast_2d(changed),
            **more,
        ),
        RULES,
    )


def normal(shape: int | tuple[int, ...], sigma: float, seed: int = 1) -> Floats:
    return sigma * np.random.default_rng(seed).standard_normal(shape)


def at(mask: object) -> list[int]:
    return [int(i) for i in np.flatnonzero(mask)]


def healthy(tails: str, shape: tuple[int, ...], sigma: float, generator: np.random.Generator) -> Floats:
    """Noise of this standard deviation: normal, or with the tails of Student's t of five degrees."""
    return sigma * (generator.standard_normal(shape) if tails == "normal" else generator.standard_t(5, shape) / np.sqrt(5 / 3))


def said(found: Judgement) -> NDArray[np.bool_]:
    """Whatever is said of a night, but that it is only to be measured again."""
    return np.isin(found.kind, [REGRESSION, IMPROVEMENT]) | np.isfinite(found.drift_change)


def measured_again(values: Floats, found: Judgement, *, tails: str, sigma: float, generator: np.random.Generator) -> Judgement:
    """What `ert nightly` says: a suspect night is measured twice more, and the median counts for it and for the nights after it."""
    values, settled = values.copy(), np.zeros(values.shape, np.bool_)
    while (suspect := (found.kind == SUSPECT) & ~settled).any():
        rows = np.flatnonzero(suspect.any(axis=1))
        nights = suspect[rows].argmax(axis=1)
        again = healthy(tails, (2, rows.size), sigma, generator)
        values[rows, nights] = np.median([values[rows, nights], *again], axis=0)
        settled[rows, nights] = True
        found = judged(values)
    return found


@pytest.mark.parametrize("tails", ["normal", "student"])
@pytest.mark.parametrize("sigma", [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05])
def test_of_ten_thousand_healthy_nights_at_most_one_is_an_alarm(tails: str, sigma: float) -> None:
    generator = np.random.default_rng(2027)
    marked = nights = 0
    for shape in ((3000, 30), (750, 90), (170, 365)):
        found = judged(healthy(tails, shape, sigma, generator))
        marked += said(found).sum()
        nights += np.isfinite(found.expected).sum()
    assert marked <= 1e-4 * nights


@pytest.mark.parametrize(("tails", "sigma"), [("normal", 0.005), ("student", 0.002), ("student", 0.005)])
def test_nor_is_one_in_ten_thousand_still_suspect_when_it_has_been_measured_again(tails: str, sigma: float) -> None:
    generator = np.random.default_rng(2028)
    values = healthy(tails, (1500, 60), sigma, generator)
    found = measured_again(values, judged(values), tails=tails, sigma=sigma, generator=generator)
    assert (said(found) | (found.kind == SUSPECT)).sum() <= 1e-4 * np.isfinite(found.expected).sum()


@pytest.mark.parametrize("baseline", [14, 30, 60])
def test_a_loss_of_3_percent_in_noise_of_half_a_percent_is_found_within_3_nights(baseline: int) -> None:
    values = normal((4000, baseline + 10), 0.005, seed=baseline)
    values[:, baseline:] += np.log(0.97)
    lost = judged(values).kind == REGRESSION
    assert lost[:, baseline : baseline + 3].any(axis=1).mean() >= 0.99
    assert lost[:, baseline + 4 :].mean() >= 0.99


@pytest.mark.parametrize("per_night", [0.0005, 0.001, 0.002, 0.004])
def test_a_slow_loss_is_found_before_it_is_4_percent(per_night: float) -> None:
    values = normal((500, 130), 0.005, seed=3) + np.log1p(-per_night) * np.maximum(np.arange(130) - 29, 0)
    found = judged(values)
    raised = np.isfinite(found.drift_change) | (found.kind == REGRESSION)
    first = raised.argmax(axis=1)
    assert raised.any(axis=1).all()
    assert ((first - 29) * per_night <= 0.04).mean() >= 0.99


def test_a_slide_too_slow_for_a_step_is_called_drift() -> None:
    values = normal((500, 70), 0.004, seed=4) + np.log1p(-0.001) * np.arange(70)
    found = judged(values)
    drift = np.where(np.isfinite(found.drift_change).any(axis=1), np.isfinite(found.drift_change).argmax(axis=1), 99)
    step = np.where((found.kind == REGRESSION).any(axis=1), (found.kind == REGRESSION).argmax(axis=1), 99)
    assert (drift < step).mean() > 0.9


def a_series(*changes: tuple[int, float], nights: int = 60, sigma: float = 0.004) -> Floats:
    """Quiet nights; from each (night, factor) on the level is that factor."""
    values = normal(nights, sigma, seed=7)
    for night, factor in changes:
        values[night:] += np.log(factor)
    return values


def test_one_bad_night_is_suspect_and_moves_nothing() -> None:
    values = a_series()
    spoiled = values.copy()
    spoiled[30] += np.log(0.8)
    found, before = judged(spoiled), judged(values)
    assert at(found.kind[0]) == [30]
    assert STEP_KINDS[found.kind[0, 30] - 1] == "suspect"
    assert np.expm1(found.change[0, 30]) == pytest.approx(-0.2, abs=0.015)
    assert np.abs(found.expected[0, 31:] - before.expected[0, 31:]).max() < 0.001


def test_two_bad_nights_in_a_row_are_still_no_loss() -> None:
    values = a_series()
    values[30:32] += np.log(0.8)
    assert [int(k) for k in judged(values).kind[0, 30:33]] == [SUSPECT, SUSPECT, 0]


def test_a_loss_is_raised_in_its_third_night_and_until_the_end_against_the_old_baseline() -> None:
    found = judged(a_series((30, 0.96)))
    assert at(found.kind[0] == REGRESSION) == list(range(32, 60))
    assert set(found.since[0, 32:]) == {30}
    assert np.expm1(found.change[0, 32:]).mean() == pytest.approx(-0.04, abs=0.003)


def test_a_loss_that_is_mended_is_raised_no_more() -> None:
    found = judged(a_series((30, 0.96), (45, 1 / 0.96)))
    raised = at(found.kind[0] == REGRESSION)
    assert raised[0] == 32
    assert 44 <= raised[-1] <= 46
    assert not np.isfinite(found.drift_change).any()


def test_a_gain_is_reported_once_in_its_sixth_night_and_is_the_standard_from_then_on() -> None:
    found = judged(a_series((30, 1.05), (45, 0.96)))
    assert at(found.kind[0] == IMPROVEMENT) == [35]
    assert found.since[0, 35] == 30
    assert np.exp(found.expected[0, 36]) == pytest.approx(1.05, abs=0.004)
    assert at(found.kind[0] == REGRESSION)[0] == 47


def test_a_gain_of_three_nights_is_no_standard_whose_end_would_be_a_loss() -> None:
    found = judged(a_series((30, 1.03), (33, 1 / 1.03)))
    assert set(found.kind[0]) <= {0, SUSPECT}
    assert np.abs(found.expected[0, 36:]).max() < 0.006


def test_the_nights_of_a_loss_are_no_part_of_the_baseline_it_is_measured_by() -> None:
    values = a_series((30, 0.98))
    found = judged(values)
    assert at(found.kind[0] == REGRESSION)[0] == 32
    assert set(found.expected[0, 33:]) == {found.expected[0, 33]}
    assert found.expected[0, 33] == pytest.approx(values[3:30].mean(), abs=1e-12)


def test_a_loss_that_ends_in_loud_noise_does_not_stay_raised_for_long() -> None:
    values = a_series((30, 0.8), (35, 1 / 0.8), sigma=0.03)
    raised = at(judged(values).kind[0] == REGRESSION)
    assert 32 <= raised[0] <= raised[-1] <= 36


def test_every_second_night_bad_is_a_loss_in_the_end() -> None:
    values = a_series()
    values[30::2] += np.log(0.95)
    assert (judged(values).kind[0, 30:44] == REGRESSION).any()


def test_throttled_nights_are_no_loss() -> None:
    values, excused = a_series(), np.zeros(60, np.bool_)
    values[30:40] += np.log(0.85)
    excused[30:40] = True
    found = judged(values, excused=excused)
    assert at(found.kind[0]) == list(range(30, 40))
    assert set(found.kind[0, 30:40]) == {THROTTLED}


def test_what_is_throttled_every_night_is_judged_all_the_same() -> None:
    found = judged(a_series((30, 0.96)), excused=np.ones(60, np.bool_))
    assert at(found.kind[0] == REGRESSION)[0] == 32


def test_a_change_with_a_driver_is_the_drivers_and_moves_the_baseline() -> None:
    changed = np.zeros(60, np.bool_)
    changed[30] = True
    found = judged(a_series((30, 1.05)), changed=changed)
    assert at(found.kind[0]) == [30, 31, 32]
    assert set(found.kind[0, 30:33]) == {ENVIRONMENT}
    assert np.exp(found.expected[0, 40]) == pytest.approx(1.05, abs=0.005)


def test_a_loss_after_the_driver_has_settled_is_a_loss() -> None:
    changed = np.zeros(60, np.bool_)
    changed[30] = True
    found = judged(a_series((40, 0.96)), changed=changed)
    assert at(found.kind[0]) == list(range(40, 60))
    assert at(found.kind[0] == REGRESSION)[0] == 42


def test_drift_goes_on_across_a_driver_that_changes_nothing() -> None:
    values = normal(70, 0.004, seed=8) + np.log1p(-0.001) * np.arange(70)
    changed = np.zeros(70, np.bool_)
    changed[25] = True
    found = judged(values, changed=changed)
    first = at(np.isfinite(found.drift_change[0]))[0]
    assert 20 <= first <= 40
    assert not found.kind.any()


def test_a_missing_night_is_no_zero() -> None:
    values = a_series()
    values[[20, 30, 31, 32, 33]] = np.nan
    found = judged(values)
    assert not found.kind.any()
    assert not np.isfinite(found.drift_change).any()


def test_nothing_is_judged_before_there_is_a_baseline() -> None:
    values = a_series(nights=12)
    values[9] += np.log(0.5)
    found = judged(values)
    assert not found.kind[0, :10].any()
    assert np.isnan(found.expected[0, : RULES.baseline.least_nights]).all()


def test_one_bad_night_while_learning_does_not_blind() -> None:
    values = a_series((30, 0.96))
    values[4] += np.log(0.7)
    assert at(judged(values).kind[0] == REGRESSION)[0] == 32


def test_a_baseline_that_a_person_sets_accepts_the_loss() -> None:
    found = judged(a_series((30, 0.96)), baselines={44: [(0, list(range(31, 45)))]})
    assert at(found.kind[0] == REGRESSION) == list(range(32, 44))
    assert np.exp(found.reference[0]) == pytest.approx(0.96, abs=0.003)


def test_a_night_with_a_wide_interval_of_its_own_proves_little() -> None:
    values = a_series()
    values[30] += np.log(0.97)
    own = np.zeros((1, 60))
    own[0, 30] = 0.02
    no = np.zeros((1, 60), np.bool_)
    assert judged(values).kind[0, 30] == SUSPECT
    assert judge(Nights(values[None], own, no, no), RULES).kind[0, 30] == 0


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.integers(12, 45))
def test_a_night_is_judged_by_the_nights_before_it_alone(seed: int, cut: int) -> None:
    generator = np.random.default_rng(seed)
    values = 0.004 * generator.standard_normal((5, 60)) + np.log(generator.choice([0.9, 0.96, 1.0, 1.0, 1.05], (5, 60)))
    values[generator.random((5, 60)) < 0.05] = np.nan
    excused, changed = generator.random((2, 5, 60)) < 0.05
    whole = judged(values, excused=excused, changed=changed)
    part = judged(values[:, :cut], excused=excused[:, :cut], changed=changed[:, :cut])
    for name in ("kind", "change", "since", "drift_change", "expected"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:, :cut])


@settings(max_examples=25)
@given(st.floats(0.01, 1e15), st.integers(0, 2**31))
def test_the_unit_of_a_ceiling_does_not_matter(factor: float, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, 0.004, (3, 60)) + np.log(np.where(np.arange(60) > 40, 0.96, 1.0))
    np.testing.assert_array_equal(judged(values).kind, judged(values + np.log(factor)).kind)


@pytest.fixture(scope="module")
def card() -> tuple[list[str], Judgement]:
    rows = list(csv.DictReader(DRIFT.open()))
    columns = ("dram_gb_per_s", "fp64_gflop_per_s", "l2_gb_per_s", "fp16_tensor_gflop_per_s")
    values = np.log([[float(row[column] or "nan") for row in rows] for column in columns])
    excused = np.array([[metric in row["throttled"].split() for row in rows] for metric in METRICS])
    changed = np.array([[i > 0 and row["driver"] != rows[i - 1]["driver"] for i, row in enumerate(rows)] for _ in METRICS])
    return [row["date"] for row in rows], judged(values, excused=excused, changed=changed)


def kinds(card: tuple[list[str], Judgement], metric: str) -> dict[str, str]:
    dates, found = card
    row = found.kind[METRICS.index(metric)]
    return {dates[i]: STEP_KINDS[row[i] - 1] for i in at(row)}


def drifts(card: tuple[list[str], Judgement], metric: str) -> list[str]:
    dates, found = card
    return [dates[i] for i in at(np.isfinite(found.drift_change[METRICS.index(metric)]))]


def test_the_cards_dram_is_suspect_once_then_lost_for_good(card: tuple[list[str], Judgement]) -> None:
    found = kinds(card, "dram")
    assert found.pop("2026-01-21") == "suspect"
    lost = [date for date, kind in found.items() if kind == "regression"]
    assert "2026-02-10" < lost[0] <= "2026-02-13"
    assert lost == [date for date in card[0] if date >= lost[0]]
    assert all(date >= "2026-02-10" for date in found)
    assert drifts(card, "dram") == []


def test_the_cards_fp64_drifts_before_it_has_lost_4_percent(card: tuple[list[str], Judgement]) -> None:
    assert kinds(card, "fp64") == {}
    raised = drifts(card, "fp64")
    assert raised[0] <= "2026-02-15"
    assert raised == [date for date in card[0] if date >= raised[0]]


def test_the_cards_l2_changed_with_the_driver(card: tuple[list[str], Judgement]) -> None:
    found = kinds(card, "l2")
    assert found["2026-01-31"] == "environment_change"
    assert set(found.values()) == {"environment_change"}
    assert all("2026-01-31" <= date <= "2026-02-03" for date in found)
    assert drifts(card, "l2") == []


def test_the_cards_tensor_cores_were_throttled_for_three_nights(card: tuple[list[str], Judgement]) -> None:
    assert kinds(card, "fp16_tensor") == dict.fromkeys(("2026-01-16", "2026-01-17", "2026-01-18"), "throttled")
    assert drifts(card, "fp16_tensor") == []
