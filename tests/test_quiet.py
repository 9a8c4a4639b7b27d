"""ert.quiet: the plateau several probes agree on; interference only ever lowers a probe."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.quiet import QUIET_SHARE, QuietGate, top_plateau

WIDTHS = st.lists(st.floats(0.1, 8.0), max_size=60)


def test_eight_probes_that_agree_make_a_plateau_of_their_middle():
    assert top_plateau([2.99, 3.0, 2.995, 2.99, 3.0, 3.0, 2.99, 2.995]) == pytest.approx(2.995)
    assert top_plateau([3.0] * 7) is None


def test_single_probes_above_the_plateau_are_timer_noise():
    assert top_plateau([3.9, 3.5, 3.2, *[3.0] * 8, *[1.9] * 30]) == pytest.approx(3.0)


def test_a_busy_core_seen_most_of_the_time_does_not_hide_the_plateau():
    probes = np.concatenate([np.full(12, 2.99), np.random.default_rng(1).uniform(1.5, 2.2, 500)])
    assert top_plateau(probes) == pytest.approx(2.99)


@given(WIDTHS)
def test_the_plateau_lies_within_the_probes_and_at_least_eight_are_as_high_within_a_percent(widths):
    plateau = top_plateau(widths)
    if plateau is not None:
        assert min(widths) <= plateau <= max(widths)
        assert sum(width >= 0.99 * plateau for width in widths) >= 5  # half of the eight lie at or above their median
        assert sum(width >= 0.98 * plateau for width in widths) >= 8


@given(WIDTHS, st.randoms())
def test_the_order_of_the_probes_does_not_matter(widths, random):
    shuffled = list(widths)
    random.shuffle(shuffled)
    assert top_plateau(shuffled) == top_plateau(widths)


def test_everything_is_quiet_until_a_plateau_is_known():
    gate = QuietGate()
    assert gate.reference is None
    assert gate.threshold == 0.0
    gate.learn([3.0] * 8)
    assert gate.threshold == pytest.approx(3.0 * QUIET_SHARE)


def test_the_gate_keeps_what_it_learned_through_a_busy_spell_and_rises_when_the_machine_calms():
    gate = QuietGate()
    gate.learn([2.0] * 20)
    assert gate.reference == pytest.approx(2.0)
    gate.learn([3.0] * 8)
    gate.learn([1.5] * 500)
    assert gate.reference == pytest.approx(3.0)


@given(st.lists(WIDTHS, max_size=6))
def test_the_reference_never_falls(batches):
    gate, before = QuietGate(), 0.0
    for batch in batches:
        gate.learn(batch)
        now = gate.reference or 0.0
        assert now >= before * 0.99  # a median within a plateau 1 % wide
        before = max(before, now)
