"""Ceilings over candidates: no winner's curse, honest intervals, a word where only one candidate reaches it."""

from __future__ import annotations

import numpy as np
import pytest

from ert.errors import AnalysisError
from ert.fit.compute import fit_ceiling

pytestmark = pytest.mark.filterwarnings("error")


def draw(rng, rates, samples, noise):
    return {name: rate * np.exp(noise * rng.standard_normal(samples)) for name, rate in rates.items()}


def test_many_equal_candidates_do_not_push_the_ceiling_up():
    rng = np.random.default_rng(1)
    fits, winners = [], []
    for _ in range(200):
        candidates = draw(rng, {f"chains={k}": 1e12 for k in range(20)}, 20, 0.03)
        fits.append(fit_ceiling(candidates).value_per_s)
        winners.append(max(np.median(r) for r in candidates.values()))
    # The largest of twenty medians is high by about 1.87 standard errors of one, 1.25 * 3 % / sqrt(20) = 0.84 %.
    assert np.mean(winners) / 1e12 - 1 > 0.012
    assert np.mean(fits) / 1e12 - 1 == pytest.approx(0.0, abs=0.002)


def test_interval_covers_the_rate_of_the_best_candidate_in_95_percent_of_draws():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(1000):
        fit = fit_ceiling(draw(rng, {"chains=4": 0.8e12, "chains=8": 1e12, "chains=16": 1e12, "chains=32": 0.9e12}, 20, 0.01))
        hits += fit.ci95[0] <= 1e12 <= fit.ci95[1]
    assert 0.93 <= hits / 1000 <= 0.97


def test_plateau_names_every_candidate_that_reaches_the_ceiling():
    fit = fit_ceiling(draw(np.random.default_rng(3), {"4": 0.8e12, "8": 1e12, "16": 1.001e12, "32": 0.95e12}, 30, 0.001))
    assert fit.best == "16"
    assert fit.plateau == ("8", "16")
    assert fit.warnings == ()


def test_ceiling_that_only_one_candidate_reaches_is_marked():
    (finding,) = fit_ceiling(draw(np.random.default_rng(4), {"4": 0.5e12, "8": 1e12}, 30, 0.001)).warnings
    assert finding.code == "lone_best"
    assert finding.value == pytest.approx(0.5, abs=0.01)


def test_one_candidate_is_its_median_and_needs_no_plateau():
    fit = fit_ceiling({"only": [1.0, 2.0, 3.0]})
    assert (fit.value_per_s, fit.ci95, fit.best, fit.plateau, fit.warnings) == (2.0, None, "only", ("only",), ())


def test_few_samples_have_a_value_and_no_interval():
    fit = fit_ceiling({"a": [1.0, 1.1], "b": [2.0, 2.0]})
    assert (fit.value_per_s, fit.ci95, fit.best) == (2.0, None, "b")


@pytest.mark.parametrize("candidates", [{}, {"a": []}, {"a": [1.0, float("nan")]}, {"a": [1.0, 0.0]}, {"a": [float("inf")]}])
def test_what_was_not_measured_is_refused(candidates):
    with pytest.raises(AnalysisError, match="candidate"):
        fit_ceiling(candidates)
