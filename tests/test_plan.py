"""ert.plan: axes crossed with what a device says of itself."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from fake_device import GIB, KIB, MIB, FakeDevice, Machine
from hypothesis import given
from hypothesis import strategies as st

from ert.config import SHIPPED, SweepConfig, load_config, restrict
from ert.devices.base import LevelFacts
from ert.errors import ConfigError
from ert.kernels import load_kernels
from ert.nvcompile import Target, unmet_requirement
from ert.plan import combinations, curve_sizes, largest_working_set, latency_size, level_sizes, make_plan

DEFAULT = load_config("default")
KERNELS = load_kernels("cpu")


def with_curve(config: SweepConfig, **changes: object) -> SweepConfig:
    return replace(config, curve=replace(config.curve, **changes))


@given(st.integers(1, 2**24), st.integers(1, 2**20), st.integers(1, 12))
def test_curve_sizes_run_from_end_to_end_in_equal_ratios(smallest, factor, per_octave):
    largest = smallest * factor
    sizes = curve_sizes(smallest, largest, per_octave)
    assert sizes[0] == smallest
    assert sizes[-1] == largest
    assert sizes == sorted(sizes)
    if smallest >= 4096:
        assert len(set(sizes)) == len(sizes) or factor == 1
        ratios = [b / a for a, b in itertools.pairwise(sizes)]
        assert max(ratios) / min(ratios) < 1.001


def test_curve_sizes_of_one_octave_by_hand():
    assert curve_sizes(4096, 16384, 2) == [4096, 5793, 8192, 11585, 16384]


def test_every_point_has_an_id_of_its_own_that_says_what_it_measures():
    plan = make_plan(FakeDevice(), DEFAULT)
    ids = [point.id for point in plan.points]
    assert len(ids) == len(set(ids))
    assert "fma/fp64/registers/chains=10" in ids
    assert f"mixed/fp32/DRAM/{GIB}/flops=64" in ids
    assert f"read/fp64/curve/{8 * KIB}/streams=1/prefetch_bytes=0" in ids


def test_the_same_question_has_the_same_id_in_every_sweep():
    whole = {point.id for point in make_plan(FakeDevice(), DEFAULT).points}
    part = {point.id for point in make_plan(FakeDevice(), restrict(DEFAULT, precisions=["fp64"], levels=["L2"])).points}
    assert part < whole


def test_the_curve_reaches_sixteen_times_the_last_cache_or_the_bytes_asked_for():
    levels = FakeDevice().levels()
    assert largest_working_set(levels, DEFAULT) == GIB
    assert largest_working_set(levels, with_curve(DEFAULT, largest_bytes=MIB)) == 16 * 32 * MIB


def test_a_working_set_beyond_memory_is_cut_and_said():
    machine = Machine(capacities={"L1": 64 * KIB, "L2": MIB, "L3": 32 * MIB, "DRAM": 700 * MIB})
    plan = make_plan(FakeDevice(machine), DEFAULT)
    assert max(point.task.working_set_bytes or 0 for point in plan.points) == 700 * MIB
    (finding,) = plan.findings
    assert finding.code == "working_set_cut"
    assert finding.value == 700 * MIB
    assert f"{GIB} bytes, is beyond the memory a sweep may take and was cut to {700 * MIB} bytes" in finding.message
    assert "largest_bytes" in (finding.remedy or "")


@pytest.mark.parametrize("wanted", [2**31, 2**31 + 1, 2**32, 4 * 10**9, 2**48])
def test_a_working_set_of_ones_own_beyond_memory_is_refused_with_both_numbers_and_one_within_is_planned_to_the_byte(wanted):
    config = with_curve(DEFAULT, largest_bytes=wanted)
    capacities = {"L1": 64 * KIB, "L2": MIB, "L3": 32 * MIB}
    enough = FakeDevice(Machine(capacities={**capacities, "DRAM": wanted}))
    assert max(point.task.working_set_bytes or 0 for point in make_plan(enough, config).points) == wanted
    scarce = FakeDevice(Machine(capacities={**capacities, "DRAM": wanted - 1}))
    with pytest.raises(ConfigError) as caught:
        make_plan(scarce, config)
    assert f"[curve] largest_bytes = {wanted} is beyond the {wanted - 1} bytes that a sweep may take here (planted)" in str(caught.value)
    assert "Lower it, leave it out, or free memory." in str(caught.value)
    # Nothing of memory is asked for here.
    assert make_plan(scarce, restrict(config, levels=["L2"])).points


def test_a_chase_stays_within_the_offsets_of_its_kernel():
    """Where nobody says how large the last cache is, all of memory would be walked."""
    every = [LevelFacts("L1", 64 * KIB, "x"), LevelFacts("DRAM", 2**40, "x")]
    assert latency_size(every[-1], [replace(every[0], capacity_bytes=None), every[-1]], 1, 2**40) == 2**31
    assert latency_size(every[-1], every, 1, 2**40) == 8 * 64 * KIB


@pytest.mark.parametrize("memory", [0, 4096])
def test_no_memory_at_all_is_zero_working_sets(memory):
    machine = Machine(capacities={"L1": 64 * KIB, "DRAM": memory})
    with pytest.raises(ConfigError, match=f"0 working sets to measure: .* more than the largest working set, {memory} bytes"):
        make_plan(FakeDevice(machine), DEFAULT)


def test_a_smallest_working_set_that_all_cores_together_take_beyond_memory_is_refused():
    config = with_curve(DEFAULT, smallest_bytes_per_core=6 * GIB, largest_bytes=7 * GIB)
    with pytest.raises(ConfigError, match="0 working sets to measure"):
        make_plan(FakeDevice(), config)


def test_working_sets_of_a_level_lie_between_three_times_the_one_above_and_half_its_own_size():
    every = FakeDevice().levels()
    for level, above in zip(every[1:-1], every, strict=False):
        sizes = level_sizes(level, every, DEFAULT, GIB)
        assert len(sizes) == len(DEFAULT.level_positions)
        assert all(3 * (above.capacity_bytes or 0) <= size <= (level.capacity_bytes or 0) / 2 for size in sizes)


def test_a_level_hardly_bigger_than_the_one_above_is_met_in_the_middle():
    every = [LevelFacts("L1", 64 * KIB, ""), LevelFacts("L2", 128 * KIB, ""), LevelFacts("DRAM", GIB, "")]
    (size,) = level_sizes(every[1], every, DEFAULT, GIB)
    assert 64 * KIB < size < 128 * KIB


def test_a_cache_whose_size_nobody_tells_has_no_points_of_its_own():
    every = [LevelFacts("L1", None, ""), LevelFacts("DRAM", GIB, "")]
    assert level_sizes(every[0], every, DEFAULT, GIB) == []


def test_one_level_asks_for_its_part_of_the_curve_only():
    plan = make_plan(FakeDevice(), restrict(DEFAULT, levels=["L2"]))
    curve = [point.task.working_set_bytes or 0 for point in plan.points if point.is_curve]
    assert min(curve) >= 16 * KIB  # a quarter of L1
    assert max(curve) <= 4 * MIB  # four times L2
    assert {point.task.level for point in plan.points} == {"L2", None}


def test_what_the_device_cannot_run_is_listed_once_with_the_reason():
    plan = make_plan(FakeDevice(), DEFAULT)
    absent = {(point.task.kernel.name, point.task.precision): reason for point, reason in plan.unsupported}
    assert absent == {
        ("dot", "bf16"): "the planted machine has no bf16 arithmetic",
        ("dot", "int8"): "the planted machine has no int8 arithmetic",
        ("fma", "fp16"): "the planted machine has no fp16 arithmetic",
    }


def test_a_device_that_can_run_nothing_of_what_was_asked_is_refused_with_the_count():
    only_compute = {"fma": KERNELS["fma"]}
    config = restrict(DEFAULT, precisions=["fp64"])
    with pytest.raises(ConfigError, match="0 of 4 points match --precision, --level and this device"):
        make_plan(FakeDevice(Machine(rates={"fp32": 1e9})), config, only_compute)


def test_a_precision_that_no_kernel_of_this_kind_measures_is_said_and_costs_nothing_else():
    plan = make_plan(FakeDevice(), restrict(DEFAULT, precisions=["tf32", "fp64"]))
    (finding,) = plan.findings
    assert finding.code == "precision_absent"
    assert "--precision tf32: no kernel for cpu devices measures it" in finding.message
    assert "fp64, fp32" in (finding.remedy or "")
    assert "fma/fp64/registers/chains=10" in {point.id for point in plan.points}


def test_a_level_this_device_lacks_is_refused_with_those_it_has():
    with pytest.raises(ConfigError, match="--level shared: this device has L1, L2, L3, DRAM"):
        make_plan(FakeDevice(), restrict(DEFAULT, levels=["shared"]))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"fmaa": {"ERT_CHAINS": (4,)}}, r"\[kernels\]: there is no kernel 'fmaa'. Did you mean 'fma'\?"),
        ({"fma": {"ERT_CHIANS": (4,)}}, r"\[kernels.fma\] ERT_CHIANS is unknown. Did you mean 'ERT_CHAINS'\?"),
        ({"fma": {"ERT_CHAINS": (4, 7)}}, r"ERT_CHAINS = 7 is not declared by the kernel. Declared: 4, 8, 10, 12"),
    ],
)
def test_a_kernel_parameter_or_value_that_is_not_there_is_refused(values, said):
    with pytest.raises(ConfigError, match=said):
        make_plan(FakeDevice(), replace(DEFAULT, kernel_values=values))


def curve_sizes_of(plan, kernel):
    return {point.task.working_set_bytes for point in plan.points if point.is_curve and point.task.kernel.name == kernel}


def test_the_curve_leaves_out_what_a_kernel_cannot_hold_on_the_device():
    every = curve_sizes_of(make_plan(FakeDevice(), DEFAULT), "read")
    held = curve_sizes_of(make_plan(FakeDevice(Machine(least_bytes={"read": 32 * KIB})), DEFAULT), "read")
    assert min(every) == 8 * KIB
    assert held == {size for size in every if size >= 32 * KIB}


def test_a_curve_that_a_person_lets_begin_elsewhere_keeps_every_size_they_asked_for():
    device = FakeDevice(Machine(least_bytes={"read": 32 * KIB}))
    assert min(curve_sizes_of(make_plan(device, with_curve(DEFAULT, smallest_bytes_per_core=2 * KIB)), "read")) == 4 * KIB


def test_a_curve_kernel_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match=r"\[curve\] kernels: there is no kernel 'raed'. Did you mean 'read'\?"):
        make_plan(FakeDevice(), with_curve(DEFAULT, kernels=("raed",)))


def test_parameters_of_another_devices_kernels_are_left_alone():
    make_plan(FakeDevice(), replace(DEFAULT, kernel_values={"wgmma": {"ERT_NOTHING": (1,)}}))


def test_non_temporal_stores_are_tried_only_where_they_make_sense():
    assert [c["ERT_NONTEMPORAL"] for c in combinations(KERNELS["write"], DEFAULT, "L1")] == [0]
    assert [c["ERT_NONTEMPORAL"] for c in combinations(KERNELS["write"], DEFAULT, "DRAM")] == [0, 1]


def test_values_chosen_by_the_sweep_replace_the_declared_ones():
    config = replace(DEFAULT, kernel_values={"fma": {"ERT_CHAINS": (10,)}})
    assert combinations(KERNELS["fma"], config, None) == [{"ERT_CHAINS": 10}]


@pytest.mark.parametrize(("chosen", "swept"), [({}, False), ({"fma": {}}, False), ({"trial": {}}, True)])
def test_an_experimental_kernel_is_swept_only_where_the_sweep_names_it(chosen, swept):
    kernels = {**KERNELS, "trial": replace(KERNELS["fma"], name="trial", experimental=True)}
    plan = make_plan(FakeDevice(), replace(DEFAULT, kernel_values=chosen), kernels)
    assert any(point.task.kernel.name == "trial" for point in plan.points) is swept


def test_bandwidth_is_measured_once_whatever_precisions_are_asked_for():
    plan = make_plan(FakeDevice(), restrict(DEFAULT, precisions=["fp32"]))
    assert {p.task.precision for p in plan.points if p.task.kernel.measures == "bandwidth"} == {"fp64"}
    assert {p.task.precision for p in plan.points if p.task.kernel.measures != "bandwidth"} == {"fp32"}


# What the drivers of an H200 and an A100 say: L1 of all SMs together, L2, memory.
H200 = (LevelFacts("L1", 132 * 256 * KIB, ""), LevelFacts("L2", 60 * MIB, ""), LevelFacts("DRAM", 100 * GIB, ""))
A100 = (LevelFacts("L1", 108 * 192 * KIB, ""), LevelFacts("L2", 40 * MIB, ""), LevelFacts("DRAM", 60 * GIB, ""))


@pytest.mark.parametrize("levels", [H200, A100], ids=["H200", "A100"])
def test_kernels_that_go_past_l1_measure_l2_well_inside_its_near_half(levels):
    # Beyond some 20 MB the far half of these L2s serves part of it.
    sizes = level_sizes(levels[1], levels, DEFAULT, GIB, ("L2", "DRAM"))
    assert len(sizes) == 2
    assert all(levels[1].capacity_bytes / 8 <= size <= 20e6 for size in sizes)


def test_a_kernel_that_uses_l1_measures_l2_between_both():
    (size,) = level_sizes(H200[1], H200, DEFAULT, GIB, ("L1", "L2", "DRAM"))
    assert H200[0].capacity_bytes < size < H200[1].capacity_bytes


def test_one_thread_chases_through_its_own_l1_a_shared_l2_and_far_beyond_it():
    l1, l2, dram = (latency_size(level, H200, 132, GIB) for level in H200)
    assert l1 == 128 * KIB
    assert 3 * 256 * KIB < l2 < 30 * MIB
    assert dram == 8 * 60 * MIB
    assert latency_size(H200[2], H200, 132, 100 * MIB) == 100 * MIB


def test_a_level_of_unknown_size_is_not_chased_through():
    levels = (LevelFacts("L1", None, ""), LevelFacts("L2", 60 * MIB, ""), LevelFacts("DRAM", GIB, ""))
    assert latency_size(levels[0], levels, 132, GIB) is None
    assert latency_size(levels[1], levels, 132, GIB) == 30 * MIB


@given(l1=st.integers(10, 20), ratio=st.integers(1, 12), cores=st.integers(1, 256))
def test_a_chased_size_never_exceeds_half_of_its_cache(l1, ratio, cores):
    levels = (LevelFacts("L1", cores * 2**l1, ""), LevelFacts("L2", 2 ** (l1 + ratio), ""), LevelFacts("DRAM", 2**40, ""))
    assert latency_size(levels[0], levels, cores, 2**40) == 2 ** (l1 - 1)
    assert 0 < latency_size(levels[1], levels, cores, 2**40) <= 2 ** (l1 + ratio - 1)


class PlannedGpu:
    """What a plan asks of a GPU."""

    kind, threads = "cuda", 132

    def levels(self):
        return H200

    def unsupported_reason(self, kernel, precision):
        return unmet_requirement(kernel, precision, Target("sm_90a"))

    def least_bytes(self, task):
        return 0


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_sweep_serves_gpus_and_cpus(name):
    for device in (PlannedGpu(), FakeDevice()):
        plan = make_plan(device, load_config(name))
        assert {p.task.kernel.measures for p in plan.points} >= {"bandwidth", "compute", "mixed"}
        for point in plan.points:
            declared = point.task.kernel.parameters
            assert all(value in (*declared[key].values, declared[key].default) for key, value in point.task.parameters.items())


def test_a_value_that_only_another_kind_of_device_has_leaves_the_default():
    config = replace(DEFAULT, kernel_values={"fma": {"ERT_CHAINS": (10,)}, "read": {"ERT_PREFETCH_BYTES": (0,)}})
    fma = load_kernels("cuda")["fma"]
    assert 10 not in fma.parameters["ERT_CHAINS"].values
    assert {c["ERT_CHAINS"] for c in combinations(fma, config, None)} == {fma.parameters["ERT_CHAINS"].default}
    assert make_plan(PlannedGpu(), config).points
