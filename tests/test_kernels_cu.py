"""Every CUDA kernel on the soft driver: its numbers are NumPy's, and it does as much work as it declares."""

from dataclasses import replace

import numpy as np
import pytest
from softcuda import harness

from ert.kernels import load_kernels
from ert.nvcompile import Target, unmet_requirement
from ert.precisions import PRECISIONS
from ert.sass_check import Variant, parameter_variants, vector_bytes

KERNELS = load_kernels("cuda")
# Loads and stores of these levels go to global memory, those of the level ``shared`` do not.
GLOBAL = ("L1", "L2", "DRAM")


def home(kernel, precision):
    """The family to run a kernel on: Hopper where it can, else the first that can."""
    able = [Target(name) for name in harness.FAMILIES.values() if unmet_requirement(kernel, precision, Target(name)) is None]
    return next((target for target in able if target.architecture == "sm_90a"), able[0])


def with_other_values(variant):
    """Each parameter at its other values, but for residency, which changes no instruction, and FLOPs, of which there are many."""
    others = [v for v in parameter_variants(variant) if not set(v.parameters) & {"ERT_BLOCKS_PER_SM", "ERT_FLOPS"}]
    ends = (1, 1024) if "ERT_FLOPS" in variant.kernel.parameters else ()
    return [variant, *others, *(Variant(variant.kernel, variant.precision, {"ERT_FLOPS": flops}) for flops in ends)]


DEFAULTS = [Variant(kernel, precision) for kernel in KERNELS.values() for precision in kernel.precisions]
EVERY = [variant for default in DEFAULTS for variant in with_other_values(default)]


def run(variant, **options):
    return harness.run(variant.kernel, variant.precision, home(variant.kernel, variant.precision), variant.parameters, **options)


@pytest.mark.parametrize("variant", EVERY, ids=str)
def test_results_are_those_of_numpy(variant):
    assert run(variant).difference is None


@pytest.mark.parametrize("flops", [1, 2, 8, 64, 128, 1024])
@pytest.mark.parametrize("name", ["mixed", "mixed_read"])
def test_mixed_kernels_do_any_declared_number_of_operations(name, flops):
    ran = harness.run(KERNELS[name], "fp32", Target("sm_90a"), {"ERT_FLOPS": flops}, blocks=1, trips=1)
    assert ran.difference is None
    elements = ran.launch.arrays[0].size // 4
    assert ran.counted["fp32"] == flops * elements * ran.launch.repeats


@pytest.mark.parametrize("name", ["read", "copy", "triad", "mixed"])
def test_wide_vectors_of_blackwell_give_the_same_numbers(name):
    ran = harness.run(KERNELS[name], "fp32", Target("sm_120a"))
    assert ran.launch.vector_bytes == 32
    assert ran.difference is None


@pytest.mark.parametrize("variant", EVERY, ids=str)
def test_executed_flops_and_bytes_are_the_declared_ones(variant):
    """What two more repeats add: that leaves out what a launch does once, such as fetching operands."""
    kernel, precision = variant.kernel, variant.precision
    few, many = (run(variant, repeats=n) for n in (1, 3))
    width = vector_bytes(home(kernel, precision).architecture)
    facts = kernel.trip_facts(few.launch.parameters, element_bytes=PRECISIONS[precision].bytes, vector_bytes=width)
    trips = 1 if kernel.measures == "compute" else few.launch.trips
    times = 2 * trips * few.launch.threads
    added = {name: many.counted[name] - few.counted[name] for name in harness.COUNTERS}
    flops = {name: added[name] for name in harness.COUNTERS[: harness.COUNTERS.index("lone_fp64")] if added[name]}
    assert sum(flops.values()) == facts.flops * times
    assert set(flops) <= {precision, f"mma_{precision}"}
    if set(kernel.levels) & set(GLOBAL):
        assert (added["load_bytes"], added["store_bytes"]) == (facts.bytes_loaded * times, facts.bytes_stored * times)
    else:
        assert added["shared_bytes"] == facts.bytes * times
        assert (added["load_bytes"], added["store_bytes"]) == (0, 0)


@pytest.mark.parametrize(("name", "share"), [("read", 1), ("mixed_read", 1), ("read_l2", 0), ("read_l2_shared", 0), ("copy", 0)])
def test_only_the_kernels_that_want_l1_load_through_it(name, share):
    few, many = (harness.run(KERNELS[name], "fp32", Target("sm_90a"), repeats=n) for n in (1, 3))
    assert many.counted["cached_bytes"] - few.counted["cached_bytes"] == share * (many.counted["load_bytes"] - few.counted["load_bytes"])


@pytest.mark.parametrize(
    ("name", "precision", "size"),
    [
        ("read_shared", "fp32", "ERT_UNROLL * ERT_THREADS"),
        ("write_shared", "fp32", "ERT_UNROLL * ERT_THREADS"),
        ("copy_shared", "fp32", "2 * ERT_UNROLL * ERT_THREADS"),
        ("wgmma", "bf16", "ERT_STEPS * TILE_BYTES / 4"),
    ],
)
def test_a_kernel_whose_shared_memory_is_one_element_short_is_stopped(name, precision, size):
    short = replace(KERNELS[name], source=KERNELS[name].source.replace(f"[{size}];", f"[{size} - 1];"))
    assert short.source != KERNELS[name].source
    with pytest.raises(harness.pycuda_driver().Error, match="illegal memory access"):
        harness.run(short, precision, Target("sm_90a"))
    harness.library().cuDevicePrimaryCtxReset_v2(list(harness.FAMILIES).index(90))


def test_a_result_that_is_wrong_in_one_bit_is_noticed():
    ran = harness.run(KERNELS["read"], "fp32", Target("sm_90a"))
    ran.got[41] ^= 1
    assert "1 of 768 values of 'results' are wrong; the first is number 10" in ran.difference


def test_a_tensor_result_that_is_not_a_number_is_noticed():
    ran = harness.run(KERNELS["mma"], "bf16", Target("sm_90a"))
    ran.got[:4] = np.array([np.nan], np.float32).view(np.uint8)
    assert "first is number 0: nan instead of" in ran.difference


@pytest.mark.parametrize("repeats", [2, 4])
def test_a_wrong_number_of_repeats_is_noticed(repeats):
    """The kernels that sum or accumulate tell how often they ran."""
    for name, precision in (("read", "fp32"), ("wgmma", "int8"), ("fma", "int32")):
        if precision in KERNELS[name].precisions:
            right = harness.run(KERNELS[name], precision, Target("sm_90a"), repeats=3)
            wrong = harness.run(KERNELS[name], precision, Target("sm_90a"), repeats=repeats)
            assert harness.find_difference(right.wanted, wrong.got) is not None


def test_indices_beyond_32_bits_reach_the_end_of_a_large_array():
    """4.3e9 fp32 elements: 17 GB, of which only the pages that are written exist here."""
    kernel = KERNELS["write"]
    threads = kernel.defaults()["ERT_THREADS"]
    tile_bytes = kernel.defaults()["ERT_UNROLL"] * threads * 16
    blocks = 2**32 * 4 // tile_bytes + 3
    table = harness.operand_table(kernel, "fp32", seed=3)[: harness.OPERAND_BYTES].view(np.uint32).reshape(-1, 4)
    wanted = table[(blocks * threads - 1) % len(table)]
    assert (harness.end_of_large_array(kernel, blocks, tile_bytes) == wanted).all()
