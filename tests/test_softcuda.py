"""The soft driver itself: it fails like a GPU, counts, catches what is out of bounds, and its virtual clock keeps the planted ceilings."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from softcuda import harness
from softcuda.devices import A100_LIKE, H200_LIKE, environment
from softcuda.soft_nvcc import ARCHITECTURES, for_host_compiler

from ert.kernels import load_kernels
from ert.nvcompile import Target, entry_name

KERNELS = load_kernels("cuda")
HOPPER = list(harness.FAMILIES).index(90)
LARGE = len(harness.FAMILIES)


@pytest.fixture
def driver():
    """pycuda.driver with a Hopper device current and no faults planted; a context that broke is reset afterwards."""
    with harness.current(HOPPER) as current:
        yield current
        harness.library().softcuda_faults(b"")
    harness.library().cuDevicePrimaryCtxReset_v2(HOPPER)


def copy_function(driver):
    kernel = KERNELS["copy"]
    function = driver.module_from_buffer(harness.image_of(kernel, "fp32", Target("sm_90a"), kernel.defaults())).get_function(
        entry_name(kernel, "fp32")
    )
    function.prepare("PPPPPQQ")
    return function


TILE = KERNELS["copy"].defaults()["ERT_UNROLL"] * KERNELS["copy"].defaults()["ERT_THREADS"] * 16
THREADS = KERNELS["copy"].defaults()["ERT_THREADS"]


def launch_copy(driver, array_bytes=TILE, trips=1):
    a, b, results = (driver.mem_alloc(size) for size in (array_bytes, array_bytes, 64))
    copy_function(driver).prepared_call((1, 1), (THREADS, 1, 1), 0, int(results), int(a), int(b), 0, trips, 1)
    return a, b, results


def test_an_access_beyond_an_array_stops_the_kernel_with_the_thread_that_did_it(driver, capfd):
    launch_copy(driver, array_bytes=TILE - 16)
    with pytest.raises(driver.Error, match="illegal memory access"):
        driver.Context.synchronize()
    assert "illegal read of 16 bytes at 0x" in (said := capfd.readouterr().err)
    assert f"in ert_copy_fp32, block (0,0,0) thread ({THREADS - 1},0,0)" in said


def launch_planted(driver, name, at, *, array_bytes=4096):
    """What a kernel of out_of_bounds.cu leaves in its 32 results; its array lies between two others."""
    function = driver.module_from_buffer(harness.image_of_file(PLANTED)).get_function(name)
    results, _below, array, _above = (driver.mem_alloc(size) for size in (128, array_bytes, array_bytes, array_bytes))
    driver.memset_d32(results, 0, 32)
    function(results, array, np.int32(at), block=(32, 1, 1), grid=(1, 1), shared=128)
    driver.Context.synchronize()
    held = np.empty(32, np.float32)
    driver.memcpy_dtoh(held, results)
    return held


PLANTED = Path(__file__).parent / "softcuda" / "out_of_bounds.cu"
SHARED = ("read_static", "write_static", "read_dynamic", "write_dynamic", "read_shared_128", "write_shared_128")


@pytest.mark.parametrize("name", ["read_global", "write_global", *SHARED])
def test_an_access_inside_is_allowed(driver, name):
    launch_planted(driver, name, 0)


@pytest.mark.parametrize(("at", "is_first"), [(1, False), (-1, True)], ids=["beyond", "before"])
@pytest.mark.parametrize("name", SHARED)
def test_an_access_one_element_outside_shared_memory_is_an_illegal_address(driver, capfd, name, at, is_first):
    size, threads = (16, 8) if name.endswith("128") else (4, 32)
    with pytest.raises(driver.Error, match="illegal memory access"):
        launch_planted(driver, name, at)
    said = capfd.readouterr().err
    assert f"softcuda: illegal {name.split('_')[0]} of {size} bytes at 0x" in said
    assert f"in {name}, block (0,0,0) thread ({0 if is_first else threads - 1},0,0)" in said


@pytest.mark.parametrize("name", ["read_global", "write_global"])
@pytest.mark.parametrize("at", [1024, -1])
def test_an_array_does_not_run_into_the_one_that_was_allocated_beside_it(driver, name, at):
    with pytest.raises(driver.Error, match="illegal memory access"):
        launch_planted(driver, name, at)


def test_shared_memory_is_poisoned_for_every_block(driver):
    for _ in range(2):
        assert np.isnan(launch_planted(driver, "read_unwritten", 0)).all()


def test_the_tensor_cores_fetch_nothing_beyond_their_tiles(driver):
    launch_planted(driver, "multiply_tiles", 0)
    with pytest.raises(driver.Error, match="illegal memory access"):
        launch_planted(driver, "multiply_tiles", 1)


def test_an_instruction_for_shared_memory_reaches_no_other(driver):
    launch_planted(driver, "read_shared_elsewhere", 0)
    with pytest.raises(driver.Error, match="illegal memory access"):
        launch_planted(driver, "read_shared_elsewhere", 1)


@pytest.mark.parametrize("name", ["read_128", "write_128", "assign_128"])
def test_a_wide_access_that_begins_inside_and_ends_outside_is_an_illegal_address(driver, name):
    launch_planted(driver, name, 48, array_bytes=64)
    with pytest.raises(driver.Error, match="illegal memory access"):
        launch_planted(driver, name, 48, array_bytes=56)


@pytest.mark.parametrize("name", ["read_128", "write_128", "assign_128"])
def test_a_wide_access_that_is_not_aligned_is_a_misaligned_address(driver, capfd, name):
    with pytest.raises(driver.Error, match="misaligned address"):
        launch_planted(driver, name, 8)
    assert f"which is not a multiple of 16, in {name}, block (0,0,0) thread (0,0,0)" in capfd.readouterr().err


def test_a_large_launch_of_which_only_a_part_runs_is_stopped_where_it_would_leave_its_array():
    write, threads, blocks, trips = KERNELS["write"], KERNELS["write"].defaults()["ERT_THREADS"], 64, 100
    with harness.current(LARGE) as driver:
        image = harness.image_of(write, "fp32", Target("sm_90a"), write.defaults())
        function = driver.module_from_buffer(image).get_function(entry_name(write, "fp32"))
        function.prepare("PPPPPQQ")
        needed_bytes = write.defaults()["ERT_UNROLL"] * threads * 16 * blocks * trips
        operands = driver.to_device(harness.operand_table(write, "fp32", seed=3))
        results, right, short = (driver.mem_alloc(size) for size in (8 * blocks, needed_bytes, needed_bytes - 128))
        function.prepared_call((blocks, 1), (threads, 1, 1), int(operands), int(results), int(right), 0, 0, trips, 10)
        driver.Context.synchronize()
        function.prepared_call((blocks, 1), (threads, 1, 1), int(operands), int(results), int(short), 0, 0, trips, 10)
        with pytest.raises(driver.Error, match="illegal memory access"):
            driver.Context.synchronize()
        harness.library().cuDevicePrimaryCtxReset_v2(LARGE)


def test_an_error_sticks_until_the_primary_context_is_reset(driver):
    harness.library().softcuda_faults(f"failed@{harness.library().softcuda_launches() + 1}".encode())
    launch_copy(driver)
    for _ in range(2):
        with pytest.raises(driver.Error, match="unspecified launch failure"):
            driver.Context.synchronize()
    harness.library().cuDevicePrimaryCtxReset_v2(HOPPER)
    driver.Context.synchronize()


def test_a_refused_launch_leaves_the_context_healthy(driver):
    harness.library().softcuda_faults(f"refused@{harness.library().softcuda_launches() + 1}".encode())
    with pytest.raises(driver.Error, match="too many resources"):
        launch_copy(driver)
    driver.Context.synchronize()


def test_memory_is_poisoned_until_it_is_written(driver):
    array = driver.mem_alloc(64)
    held = np.zeros(16, np.float32)
    driver.memcpy_dtoh(held, array)
    assert np.isnan(held).all()


def test_more_memory_than_there_is_is_refused(driver):
    with pytest.raises(driver.MemoryError):
        driver.mem_alloc(2 * 10**9)


def test_copies_beyond_an_array_are_refused(driver):
    array = driver.mem_alloc(64)
    with pytest.raises(driver.Error, match="invalid argument"):
        driver.memcpy_htod(array, np.zeros(65, np.uint8))


def test_a_cubin_of_a_real_gpu_is_refused(driver):
    real = bytes.fromhex("7f454c46020101330700000000000000") + (2).to_bytes(2, "little") + (190).to_bytes(2, "little") + bytes(100)
    with pytest.raises(driver.Error, match="no kernel image"):
        driver.module_from_buffer(real)


def test_an_image_for_another_family_is_refused(driver):
    kernel = KERNELS["copy"]
    with pytest.raises(driver.Error, match="no kernel image"):
        driver.module_from_buffer(harness.image_of(kernel, "fp32", Target("sm_80"), kernel.defaults()))


def test_a_name_that_is_not_in_the_module_is_refused(driver):
    image = harness.image_of(KERNELS["copy"], "fp32", Target("sm_90a"), KERNELS["copy"].defaults())
    with pytest.raises(driver.Error, match="not found"):
        driver.module_from_buffer(image).get_function("ert_nothing")


def test_variables_of_shared_memory_are_placed_by_the_driver_and_kernels_are_described():
    text = for_host_compiler('extern "C" __global__ void ert_x(int n) { __shared__ float s[4], t[2][8]; }')
    assert "soft_type_s &s = *(soft_type_s *)__soft_state.shared(&soft_key_s," in text
    assert "typedef float soft_type_t[2][8];" in text
    assert 'soft_describe("ert_x", &ert_x)' in text
    assert "__global__" not in text
    assert "__shared__" not in text


def test_a_declaration_in_shared_memory_that_cannot_be_placed_is_refused():
    with pytest.raises(SystemExit, match="cannot place '__shared__ float s = 1;'"):
        for_host_compiler("__shared__ float s = 1;")


def test_the_soft_compiler_answers_like_nvcc():
    nvcc = harness.soft_compiler()
    said = subprocess.run([nvcc.path, "--version"], capture_output=True, text=True, check=True).stdout
    assert nvcc.version.removeprefix("nvcc ") in said
    listed = subprocess.run([nvcc.path, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
    assert listed == [f"sm_{a}" for a in ARCHITECTURES]


# In a process of its own: what a device says, and the virtual clock
def ask(question, devices, **options):
    """Run Python in a process that sees the soft devices; it prints JSON."""
    code = f"import json, pycuda.driver as d\nd.init()\n{question}"
    done = subprocess.run([sys.executable, "-c", code], env=environment(devices, **options), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_device_says_what_was_planted():
    question = (
        "v = d.Device(0); print(json.dumps([v.name(), v.compute_capability(), v.total_memory(), v.pci_bus_id(), v.multiprocessor_count]))"
    )
    assert ask(question, [H200_LIKE]) == ["H200-like soft device", [9, 0], 141 * 10**9, "0000:65:00.0", 132]


@pytest.mark.parametrize(
    ("visible", "names"),
    [("1", ["B"]), ("1,0", ["B", "A"]), ("GPU-bbbb", ["B"]), ("1,-1,0", ["B"]), ("GPU-aaaaaaaa-0000,1", ["A", "B"])],
)
def test_visible_devices_are_counted_as_the_driver_does(visible, names):
    devices = [two("A", "aaaaaaaa"), two("B", "bbbbbbbb")]
    code = "import json, pycuda.driver as d\nd.init()\nprint(json.dumps([d.Device(i).name() for i in range(d.Device.count())]))"
    given = environment(devices) | {"CUDA_VISIBLE_DEVICES": visible}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == names


def two(name, start):
    return type(A100_LIKE)(name, A100_LIKE.says, A100_LIKE.ceilings, f"{start}-0000-0000-0000-000000000000", f"0000:{start[:2]}:00.0")


TIMED = Path(__file__).parent / "softcuda" / "timed_launch.py"


@pytest.mark.parametrize(
    ("kernel", "precision", "key", "trips", "repeats"),
    [
        ("read", "fp32", "l1bw", 1, 400),  # 64 KiB per SM
        ("read_l2", "fp32", "l2bw", 2, 400),  # 14 MB of 40
        ("read_l2", "fp32", "dram", 40, 4),  # 283 MB
        ("write", "fp32", "dram_write", 40, 4),
        ("read_shared", "fp32", "smembw", 8, 400),
        ("fma", "fp64", "fp64", 1, 400),
        ("fma", "bf16", "bf16", 1, 400),
        ("mma", "int8", "mma_int8", 1, 4000),
    ],
)
def test_the_virtual_clock_keeps_the_planted_ceilings(kernel, precision, key, trips, repeats):
    """Time by hand: work over the planted rate, and the planted overhead on top."""
    command = [sys.executable, TIMED, kernel, precision, str(trips), str(repeats)]
    done = subprocess.run(command, env=environment([A100_LIKE]), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    work = told["bytes"] if key in ("l1bw", "l2bw", "dram", "dram_write", "smembw") else told["flops"]
    assert told["time_s"] == pytest.approx(work / A100_LIKE.ceilings[key] + A100_LIKE.ceilings["overhead"], rel=2e-3)
