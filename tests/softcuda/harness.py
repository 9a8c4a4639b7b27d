"""Runs kernels on the soft driver inside this process, through PyCUDA, and counts what they did."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ert.cuda_launch import Expected, Launch, find_difference
from ert.cuda_operands import OPERAND_BYTES, operand_table, random_bits
from ert.kernels import Kernel
from ert.nvcompile import Nvcc, Target, compile_kernel, entry_name, macros
from ert.precisions import PRECISIONS
from ert.references_cuda import expected
from ert.sass_check import vector_bytes
from softcuda.build import cache_folder, driver_folder
from softcuda.build_pycuda import site_folder
from softcuda.soft_nvcc import ARCHITECTURES, digest

# One device of every family, so that one process can run them all.
FAMILIES = {75: "sm_75", 80: "sm_80", 89: "sm_89", 90: "sm_90a", 100: "sm_100a", 120: "sm_120a"}
# One more, modelled, so that of a large launch it runs the first, the last and a few blocks between.
LARGE_DEVICE = "cc=90,sms=2,mem=1e11,overhead=1e-6"
# As enumerated in softcuda_abi.h.
COUNTERS = (
    *("fp64", "fp32", "fp16", "bf16", "int32", "int8"),
    *("mma_fp64", "mma_tf32", "mma_fp16", "mma_bf16", "mma_fp8", "mma_int8"),
    *("lone_fp64", "lone_fp32", "lone_fp16", "lone_bf16"),
    *("loads", "stores", "load_bytes", "store_bytes", "cached_bytes", "shared_bytes"),
)
_RESULT_BYTES_PER_THREAD = 2048
KERNEL_FOLDER = Path(__file__).parents[2] / "kernels_cu"


def soft_compiler() -> Nvcc:
    path = driver_folder() / "bin" / "nvcc"
    return Nvcc(path, f"nvcc 13.0.0-soft-{digest()}", tuple(f"sm_{a}" for a in ARCHITECTURES))


@cache
def library() -> ctypes.CDLL:
    """The soft driver, loaded so that PyCUDA finds it under the name libcuda.so.1."""
    os.environ["SOFTCUDA_DEVICES"] = ";".join([*(f"cc={cc},sms=2,mem=1e9" for cc in FAMILIES), LARGE_DEVICE])
    # Not RTLD_GLOBAL: NVRTC in the same process must not find the C++ library that comes with it.
    return ctypes.CDLL(str(driver_folder() / "libcuda.so.1"))


@cache
def pycuda_driver() -> ModuleType:
    """pycuda.driver on the soft driver, initialised."""
    library()
    sys.path.insert(0, str(site_folder()))
    from pycuda import driver  # noqa: PLC0415  (only once the soft driver is there)

    driver.init()
    return driver


@cache
def context_of(device: int) -> object:
    return pycuda_driver().Device(device).retain_primary_context()


@contextmanager
def current(device: int) -> Iterator[ModuleType]:
    """The driver, with the primary context of a device current."""
    context_of(device).push()
    try:
        yield pycuda_driver()
    finally:
        pycuda_driver().Context.pop()


def counters() -> dict[str, int]:
    """What the last launch did."""
    values = (ctypes.c_uint64 * len(COUNTERS))()
    library().softcuda_counters(values)
    return dict(zip(COUNTERS, values, strict=True))


@dataclass(frozen=True)
class Ran:
    """A launch, what it must have left behind, what it did leave (the expected buffer's bytes), and what was counted."""

    launch: Launch
    wanted: Expected
    got: NDArray[np.uint8]
    counted: Mapping[str, int]

    @property
    def difference(self) -> str | None:
        return find_difference(self.wanted, self.got)


def image_of(kernel: Kernel, precision: str, target: Target, parameters: Mapping[str, int]) -> bytes:
    definitions = macros(kernel, precision, parameters, vector_bytes(target.architecture))
    return compile_kernel(kernel, definitions, target, soft_compiler(), cache_folder() / "images")


@cache
def image_of_file(path: Path) -> bytes:
    """Of a file that is no kernel of the catalogue, for Hopper."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        works, said = soft_compiler().run(path, Target("sm_90a"), [f"-I{KERNEL_FOLDER}"], image)
        assert works, said
        return image.read_bytes()


def run(
    kernel: Kernel,
    precision: str,
    target: Target,
    parameters: Mapping[str, int] | None = None,
    *,
    blocks: int = 3,
    trips: int = 2,
    repeats: int = 3,
) -> Ran:
    """Launch a kernel on arrays of exactly the size it needs, filled with seeded random numbers."""
    every = {**kernel.defaults(), **(parameters or {})}
    width = vector_bytes(target.architecture)
    threads = blocks * every["ERT_THREADS"]
    size = array_bytes(kernel, every, width, blocks, trips)
    generator = np.random.default_rng(7)
    element = PRECISIONS[precision].bytes
    arrays = [random_bits(size // element, precision, generator).view(np.uint8) for _ in range(kernel.arrays if size else 0)]
    if kernel.op == "chase":
        arrays = [cycle_of_lines(size, generator)]
    operands = operand_table(kernel, precision, seed=3)
    launch = Launch(kernel, precision, every, width, blocks, trips, repeats, operands, arrays)
    image = image_of(kernel, precision, target, every)
    got, counted = _launch(image, entry_name(kernel, precision), target, launch, threads * _RESULT_BYTES_PER_THREAD)
    wanted = expected(launch)
    return Ran(launch, wanted, got[wanted.buffer], counted)


def array_bytes(kernel: Kernel, parameters: Mapping[str, int], width: int, blocks: int, trips: int) -> int:
    """Of one array, so that the launch walks it once in a repeat; 0 for kernels that touch none."""
    if kernel.op == "chase":
        return 1 << 16
    if not set(kernel.levels) - {"shared"}:
        return 0
    covers_all = 1 if kernel.name == "read_l2_shared" else blocks
    return width * parameters["ERT_UNROLL"] * parameters["ERT_THREADS"] * covers_all * trips


def cycle_of_lines(size: int, generator: np.random.Generator) -> NDArray[np.uint8]:
    """Every 128-byte line holds the offset of the next in a random cycle through all of them."""
    order = generator.permutation(size // 128).astype(np.uint32) * np.uint32(128)
    lines = np.zeros((size // 128, 32), np.uint32)
    lines[order // 128, 0] = np.roll(order, -1)
    return lines.view(np.uint8).ravel()


def _launch(
    image: bytes, entry: str, target: Target, launch: Launch, result_bytes: int
) -> tuple[dict[str, NDArray[np.uint8]], dict[str, int]]:
    before = {
        "operands": launch.operands,
        "results": np.full(result_bytes, 0xFF, np.uint8),
        **dict(zip("abc", launch.arrays, strict=False)),
    }
    with current(list(FAMILIES.values()).index(target.architecture)) as driver:
        function = driver.module_from_buffer(image).get_function(entry)
        function.prepare("PPPPPQQ")
        buffers = {name: driver.to_device(array) for name, array in before.items()}
        order = [int(buffers[name]) if name in buffers else 0 for name in ("operands", "results", "a", "b", "c")]
        function.prepared_call((launch.blocks, 1), (launch["THREADS"], 1, 1), *order, launch.trips, launch.repeats)
        driver.Context.synchronize()
        counted = counters()
        after = {name: np.empty_like(array) for name, array in before.items()}
        for name, array in after.items():
            driver.memcpy_dtoh(array, buffers[name])
    return after, counted


def end_of_large_array(kernel: Kernel, blocks: int, tile_bytes: int) -> NDArray[np.uint32]:
    """Write an array of ``blocks`` tiles and read back the last 16 bytes of it, (4,)."""
    target = Target("sm_90a")
    with current(len(FAMILIES)) as driver:
        function = driver.module_from_buffer(image_of(kernel, "fp32", target, kernel.defaults())).get_function(entry_name(kernel, "fp32"))
        function.prepare("PPPPPQQ")
        operands, array = driver.to_device(operand_table(kernel, "fp32", seed=3)), driver.mem_alloc(blocks * tile_bytes)
        results = driver.mem_alloc(8 * blocks)
        function.prepared_call((blocks, 1), (kernel.defaults()["ERT_THREADS"], 1, 1), int(operands), int(results), int(array), 0, 0, 1, 1)
        driver.Context.synchronize()
        end = np.empty(4, np.uint32)
        driver.memcpy_dtoh(end, int(array) + blocks * tile_bytes - end.nbytes)
    return end


__all__ = ["COUNTERS", "FAMILIES", "OPERAND_BYTES", "find_difference", "operand_table", "run"]
