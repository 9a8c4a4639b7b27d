"""Names of levels from device facts and from position."""

from __future__ import annotations

import numpy as np
import pytest

from ert.errors import SchemaError
from ert.fit.facts import capacity_facts
from ert.fit.levels import CapacityFact, Curve, fit_levels
from ert.fit.names import names_by_position, names_from_facts
from tests.support.curves import step_curve

KIB, MIB = 2**10, 2**20
CPU = (CapacityFact("L1", 64 * KIB), CapacityFact("L2", MIB), CapacityFact("L3", 32 * MIB), CapacityFact("DRAM", None))
GPU = (CapacityFact("L1", 25 * MIB), CapacityFact("L2", 40 * MIB), CapacityFact("DRAM", None))


def names(spans, facts):
    return names_from_facts([(float(low), float(high)) for low, high in spans], facts)


def test_cpu_levels_are_named_by_the_sizes_they_cover():
    spans = [(8 * KIB, 60 * KIB), (80 * KIB, 700 * KIB), (2 * MIB, 20 * MIB), (64 * MIB, 1024 * MIB)]
    assert names(spans, CPU) == ["L1", "L2", "L3", "DRAM"]


def test_l3_that_neighbours_use_up_ends_early_and_keeps_its_name():
    spans = [(8 * KIB, 60 * KIB), (80 * KIB, 700 * KIB), (1.5 * MIB, 8 * MIB), (24 * MIB, 1024 * MIB)]
    assert names(spans, CPU) == ["L1", "L2", "L3", "DRAM"]


def test_a_curve_without_the_fast_levels_starts_with_the_slow_names():
    assert names([(4 * MIB, 20 * MIB), (64 * MIB, 1024 * MIB)], CPU) == ["L3", "DRAM"]


def test_gpu_levels_whose_caches_end_at_half_their_size_are_named():
    # An A100: 192 KiB x 108 of L1, 40 MiB of L2 in two halves; the L2 plateau ends near 28 MB.
    assert names([(2 * MIB, 18 * MIB), (22 * MIB, 28 * MIB), (60 * MIB, 4096 * MIB)], GPU) == ["L1", "L2", "DRAM"]


def test_cache_of_unknown_size_takes_its_place_between_the_known_ones():
    facts = (CapacityFact("L1", None), CapacityFact("L2", 40 * MIB), CapacityFact("DRAM", None))
    assert names([(64 * KIB, 8 * MIB), (10 * MIB, 36 * MIB), (100 * MIB, 4096 * MIB)], facts) == ["L1", "L2", "DRAM"]


def test_more_levels_than_caches_leaves_one_without_a_name():
    spans = [(8 * MIB, 16 * MIB), (18 * MIB, 24 * MIB), (30 * MIB, 38 * MIB), (100 * MIB, 4096 * MIB)]
    assert names(spans, GPU) == ["L1", None, "L2", "DRAM"]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (1, ["DRAM"]),
        (2, ["L1", "DRAM"]),
        (3, ["L1", "L2", "DRAM"]),
        (4, ["L1", "L2", "L3", "DRAM"]),
        (5, ["L1", "L2", "L3", None, "DRAM"]),
    ],
)
def test_position_names_caches_from_l1_on_and_the_slowest_memory(count, expected):
    assert names_by_position(count) == expected


def fit_of_steps(largest_octaves, facts):
    drawn = step_curve([8e12, 4e12, 1e12], octaves=[4.0, 4.0, largest_octaves], step=0.25)
    return fit_levels(Curve(drawn.working_set_bytes, drawn.bandwidth_bytes_per_s), facts)


def test_plateau_beyond_a_cache_that_the_sweep_does_not_exceed_four_times_is_not_called_dram():
    facts = (CapacityFact("L1", 2**18), CapacityFact("L2", 2**22), CapacityFact("DRAM", None))
    fit = fit_of_steps(1.9, facts)
    assert [level.name for level in fit.levels] == ["L1", "L2", None]
    assert "not_proven" in fit.levels[-1].flags
    assert [f.code for f in fit.warnings] == ["dram_not_reached"]
    assert [level.name for level in fit_of_steps(3.0, facts).levels] == ["L1", "L2", "DRAM"]


def test_facts_are_read_from_what_ert_writes_and_from_flat_keys():
    written = {"caches": [{"level": "L1", "capacity_bytes": None}, {"level": "L2", "capacity_bytes": 4096.0}]}
    assert capacity_facts(written, "d") == [CapacityFact("L1", None), CapacityFact("L2", 4096), CapacityFact("DRAM", None)]
    flat = {"l2_bytes": 52428800, "l1_bytes_per_sm": 262144, "sm_count": 100}
    assert capacity_facts(flat, "d") == [CapacityFact("L1", 26214400), CapacityFact("L2", 52428800), CapacityFact("DRAM", None)]
    assert capacity_facts({"name": "x"}, "d") == []


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ({"l2_bytes": "50 MB"}, "d: l2_bytes is '50 MB'"),
        ({"l2_bytes": -1}, "d: l2_bytes is -1"),
        ({"l1_bytes_per_sm": 1024}, "needs sm_count"),
        ({"caches": [{"capacity_bytes": 4}]}, r"d: caches\[0\] needs a 'level'"),
        ({"caches": [{"level": "L1", "capacity_bytes": True}]}, r"d: caches\[0\]: capacity_bytes is True"),
    ],
)
def test_facts_that_cannot_be_true_are_refused_by_their_place(device, message):
    with pytest.raises(SchemaError, match=message):
        capacity_facts(device, "d")


def test_levels_are_the_same_with_any_facts():
    plain = fit_of_steps(3.0, ())
    named = fit_of_steps(3.0, (CapacityFact("L3", 2**30), CapacityFact("DRAM", None)))
    assert np.array_equal([level.value_bytes_per_s for level in plain.levels], [level.value_bytes_per_s for level in named.levels])
