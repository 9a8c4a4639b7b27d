"""The acceptance test of the fit: 2000 seeded curves with planted levels, judged by rates, failures listed by kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from ert.fit.levels import Curve, Level, fit_levels
from tests.support.curves import Design, SyntheticCurve, Truth, draw_curve

pytestmark = pytest.mark.filterwarnings("error")

CURVES = 2000
EASY_NOISE, EASY_OCTAVES = 0.02, 1.0


@dataclass
class Score:
    """How many curves got the right number of levels, and how many of the found levels the right value."""

    easy: Counter[bool] = field(default_factory=Counter)
    every: Counter[bool] = field(default_factory=Counter)
    values: Counter[bool] = field(default_factory=Counter)
    covered: Counter[bool] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    seeds: dict[str, list[int]] = field(default_factory=dict)

    def add(self, seed: int, drawn: SyntheticCurve, levels: tuple[Level, ...]) -> None:
        is_right = len(levels) == len(drawn.levels)
        is_easy = drawn.noise <= EASY_NOISE and drawn.narrowest_octaves >= EASY_OCTAVES
        self.every[is_right] += 1
        if is_easy:
            self.easy[is_right] += 1
        if not is_right:
            self.fail(f"{'easy' if is_easy else 'hard'}: {len(levels) - len(drawn.levels):+d} levels", seed)
        for level in levels:
            truth = most_overlapping(level, drawn.levels)
            is_close = truth is not None and abs(level.value_bytes_per_s / truth.value_bytes_per_s - 1) < 0.03
            self.values[is_close] += 1
            self.covered[truth is not None and level.ci95[0] <= truth.value_bytes_per_s <= level.ci95[1]] += 1
            if is_right and not is_close:
                self.fail(f"{'easy' if is_easy else 'hard'}: value off by 3 %", seed)

    def fail(self, kind: str, seed: int) -> None:
        self.kinds[kind] += 1
        self.seeds.setdefault(kind, []).append(seed)

    def report(self) -> str:
        rates = (("easy", self.easy), ("all", self.every), ("values", self.values), ("covered", self.covered))
        lines = [f"{name}: {share(counter):.4f} of {counter.total()}" for name, counter in rates]
        return "\n".join([*lines, *(f"{kind}: {n} (seeds {self.seeds[kind][:8]} ...)" for kind, n in self.kinds.most_common())])


def share(counter: Counter[bool]) -> float:
    return counter[True] / counter.total()


def most_overlapping(level: Level, planted: tuple[Truth, ...]) -> Truth | None:
    """The planted level that shares most octaves with this one."""
    low, high = level.working_set_bytes
    shared = [np.log(min(high, t.working_set_bytes[1]) / max(low, t.working_set_bytes[0])) for t in planted]
    return planted[int(np.argmax(shared))] if max(shared) > 0 else None


def scored(seeds: range, design: Design) -> Score:
    score = Score()
    for seed in seeds:
        drawn = draw_curve(seed, design)
        score.add(seed, drawn, fit_levels(Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s)).levels)
    return score


def test_2000_seeded_curves_reach_the_rates_asked_for(capsys):
    score = scored(range(CURVES), Design())
    with capsys.disabled():
        print(f"\n{score.report()}")
    assert share(score.easy) >= 0.98, score.report()
    assert share(score.every) >= 0.93, score.report()
    assert share(score.values) >= 0.98, score.report()


def test_sweeps_with_three_sizes_an_octave_and_many_samples_find_every_level():
    # What a quick sweep measures: few sizes, each sampled often; four sizes are 1.3 octaves there.
    design = Design(points_per_octave=(3.0, 3.0), plateau_octaves=(1.7, 6.0), ramp_octaves=(0.1, 1.5), repeats=(10, 30), dip_chance=0.0)
    score = scored(range(CURVES, CURVES + 150), design)
    assert share(score.every) >= 0.98, score.report()
    assert share(score.values) >= 0.98, score.report()
