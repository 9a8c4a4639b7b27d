"""ert.placement: groups of core-to-core latencies, and which of them shared levels are measured in."""

from __future__ import annotations

import numpy as np

from ert.placement import Placements


def seen(*groups: tuple[float, int]) -> Placements:
    """Placements that were shown ``count`` latencies around each ``nanoseconds``, 3 % apart."""
    placements = Placements()
    generator = np.random.default_rng(7)
    for nanoseconds, count in groups:
        placements.learn(nanoseconds * 1e-9 * generator.normal(1, 0.03, count))
    return placements


def test_nothing_seen_chooses_nothing_and_lets_everything_count():
    assert Placements().chosen() is None
    assert Placements().is_chosen(1e-9)


def test_three_placements_of_a_moving_guest_are_three_groups():
    groups = seen((15.5, 200), (36, 500), (215, 300)).groups()
    assert [round(share, 1) for _, _, share in groups] == [0.2, 0.5, 0.3]
    for (low, high, _), nanoseconds in zip(groups, (15.5, 36, 215), strict=True):
        assert low < nanoseconds * 1e-9 < high


def test_the_placement_seen_most_often_is_chosen():
    placements = seen((15.5, 200), (36, 500), (215, 300))
    assert placements.is_chosen(36e-9)
    assert not placements.is_chosen(15.5e-9)
    assert not placements.is_chosen(215e-9)


def test_the_choice_follows_what_is_seen():
    placements = seen((36, 300), (215, 100))
    assert placements.is_chosen(36e-9)
    placements.learn([215e-9] * 300)
    assert placements.is_chosen(215e-9)


def test_latencies_that_are_not_positive_are_no_latencies():
    placements = Placements()
    placements.learn([0.0, -1e-9])
    assert placements.chosen() is None
