"""The value of a level: unbiased by what disturbs it, and an interval that holds the planted value as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

from ert.fit.levels import Curve, fit_levels
from ert.fit.plateaus import Plateau
from ert.fit.rows import Sizes
from ert.fit.value import sustained
from tests.support.curves import sigmoid_curve

pytestmark = pytest.mark.filterwarnings("error")


def plateau_of(n):
    return Plateau(np.arange(n), octave=0.0, log_rate=0.0, slope=0.0, first=0.0, last=1.0)


def value_of(log_rate):
    n = len(log_rate)
    return sustained(Sizes(np.arange(n) / 8.0, np.asarray(log_rate)), plateau_of(n))


@pytest.mark.parametrize("n", [4, 5, 7, 10, 30])
def test_interval_of_one_level_covers_its_value_whatever_the_number_of_sizes(n):
    rng = np.random.default_rng(n)
    hits = 0
    for _ in range(1000):
        low, high = value_of(0.01 * rng.standard_normal(n)).ci95
        hits += low <= 1.0 <= high
    # The standard error of a share of 0.95 over 1000 draws is 0.007; exact is 0.95.
    assert 0.92 <= hits / 1000 <= 0.98


CURVES = {
    # values, ends in octaves, ramp width, octaves, rows of a size, noise, share of stalls
    "one row of each size, 1 % noise": ([12e12, 4e12, 1.5e12], [17.0, 19.5], 0.05, (14.0, 23.0), 1, 0.01, 0.0),
    "five rows, 3 % noise, 8 % stalls": ([4e12, 1.5e12], [18.0], 0.05, (14.0, 22.0), 5, 0.03, 0.08),
}


@pytest.mark.parametrize("name", CURVES)
def test_intervals_of_a_whole_fit_cover_the_planted_values_in_93_to_97_percent_of_1000_draws(name):
    values, ends, width, octaves, repeats, noise, stalls = CURVES[name]
    x, y = sigmoid_curve(values, ends=ends, width=width, octaves=octaves, step=0.125)
    x, y = np.repeat(x, repeats), np.repeat(y, repeats)
    rng = np.random.default_rng(11)
    hits = np.zeros(len(values))
    for _ in range(1000):
        rows = y + noise * rng.standard_normal(y.size)
        stalled = rng.random(y.size) < stalls
        rows[stalled] -= np.log(rng.uniform(1.5, 4.0, int(stalled.sum())))
        levels = fit_levels(Curve(2.0**x, np.exp(rows))).levels
        assert len(levels) == len(values)
        hits += [level.ci95[0] <= value <= level.ci95[1] for level, value in zip(levels, values, strict=True)]
    assert (hits / 1000 >= 0.93).all(), hits
    assert (hits / 1000 <= 0.97).all(), hits


def test_stalls_and_a_dip_do_not_move_the_value():
    rng = np.random.default_rng(3)
    log_rate = 0.01 * rng.standard_normal(60)
    log_rate[::10] -= 1.0
    log_rate[30:36] -= 0.2
    assert value_of(log_rate).value_bytes_per_s == pytest.approx(1.0, abs=0.005)


def test_decline_is_averaged_and_does_not_widen_the_interval_like_noise():
    octave = np.arange(40) / 8.0
    log_rate = np.log1p(-0.05) * octave + 0.002 * np.random.default_rng(4).standard_normal(40)
    found = sustained(Sizes(octave, log_rate), plateau_of(40))
    assert found.value_bytes_per_s == pytest.approx(0.95 ** (39 / 16), rel=0.003)
    assert found.slope == pytest.approx(np.log1p(-0.05), abs=0.005)
    # One sampling step (1/8 octave) at either end is 0.6 %; the standard deviation of the decline itself is 7 %.
    assert np.log(found.ci95[1] / found.ci95[0]) / 2 < 0.02


def test_correlated_wiggles_widen_the_interval():
    rng = np.random.default_rng(5)
    calm = rng.standard_normal(80)
    wiggly = np.convolve(rng.standard_normal(89), np.ones(10) / np.sqrt(10), mode="valid")

    def width(noise):
        low, high = value_of(0.01 * noise / noise.std()).ci95
        return np.log(high / low)

    assert width(wiggly) > 1.5 * width(calm)


def test_first_and_last_sizes_of_a_level_do_not_pull_it_down():
    log_rate = np.concatenate([[-0.02], np.zeros(10), [-0.02]])
    assert value_of(log_rate).value_bytes_per_s == pytest.approx(1.0, abs=1e-9)
