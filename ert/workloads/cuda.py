"""Known workloads on an NVIDIA GPU: own kernels through PyCUDA, and cuBLAS beside them, timed with the GPU's own events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from statistics import median
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ert.devices import Options, open_device
from ert.devices.base import LevelFacts
from ert.devices.cuda import CudaDevice
from ert.devices.cuda_driver import in_words
from ert.errors import DeviceError, KernelError, UnsupportedError
from ert.hostcc import cache_folder
from ert.kernels import Kernel, parse_kernel
from ert.nvcompile import choose_target, compile_kernel, entry_name, find_compiler, macros
from ert.precisions import PRECISIONS
from ert.workloads.cases import LIBRARY, OWN, Case, Failed, Timed, Workload
from ert.workloads.cublas import Cublas

# DRAM and L2 move sectors of this size.
LINE_BYTES = 32
GEMM_MULTIPLE = 64
SAMPLES, MIN_TIME_S = 7, 0.02
_BLOCK, _BLOCKS_PER_SM, _TILE = 256, 8, 64
_FACTOR = 1e-6
_ARRAYS = {"axpy": 2, "vecadd": 3, "gemm": 3}
# GPUs whose fp64 products run on tensor cores in cuBLAS.
_FP64_TENSOR = ((8, 0), (9, 0), (10, 0))
_CHECK_ELEMENTS = 4096

Launch = Callable[[], object]


class CudaBench:
    """One GPU. Raises DeviceError if it cannot be had or for a number of threads, KernelError without a compiler for it."""

    line_bytes = LINE_BYTES
    gemm_multiple = GEMM_MULTIPLE
    launches_each = True
    share_elements = _BLOCK

    def __init__(self, device_id: str, threads: int | None = None) -> None:
        self._device = cast(CudaDevice, open_device(device_id, Options(threads=threads)))
        self._driver = self._device.driver
        self._compiler = find_compiler(driver_api=self._device.gpu.driver_api)
        self._target = choose_target(self._device.gpu.capability, self._compiler)
        self._modules: list[object] = []
        self._cublas: Cublas | None = None

    def precisions_of(self, workload: Workload) -> tuple[str, ...]:
        return ("fp32", "fp64", "fp16", "bf16") if workload == "gemm" else ("fp32", "fp64")

    def kinds_of(self, workload: Workload, precision: str) -> tuple[str, ...]:
        if workload == "vecadd":
            return (OWN,)
        return (LIBRARY,) if precision in ("fp16", "bf16") else (OWN, LIBRARY)

    def path_of(self, case: Case) -> str:
        """What the work runs on: cuBLAS takes tensor cores for half precisions, and for fp64 where they do fp64."""
        if case.workload != "gemm" or case.by == OWN:
            return "vector"
        is_tensor = case.precision in ("fp16", "bf16") or (case.precision == "fp64" and self._device.gpu.capability in _FP64_TENSOR)
        return "tensor" if is_tensor else "vector"

    def levels(self) -> Sequence[LevelFacts]:
        return self._device.levels()

    def memory_budget_bytes(self) -> int:
        return self._device.memory.budget_bytes

    def run(self, cases: Sequence[Case]) -> Iterator[Timed | Failed]:
        """Every case in order. A case that cannot be measured is an answer, too."""
        for case in cases:
            try:
                with in_words(self._driver, f"{self._device.id}: {case.series}, {case.label}"):
                    yield self._timed(case)
            except (DeviceError, KernelError, UnsupportedError) as error:
                yield Failed(case, str(error))

    def _timed(self, case: Case) -> Timed:
        launch = self._own(case) if case.by == OWN else self._library(case)
        repeats = 1
        while (time_s := self._elapsed(launch, repeats)) < MIN_TIME_S:
            repeats = max(2 * repeats, int(1.2 * repeats * MIN_TIME_S / max(time_s, 1e-6)))
        times = tuple(self._elapsed(launch, repeats) / repeats for _ in range(SAMPLES))
        name = "own kernel" if self._cublas is None or case.by == OWN else self._cublas.name
        return Timed(case, median(times), times, name, self._device.threads)

    def _elapsed(self, launch: Launch, repeats: int) -> float:
        start, stop = self._driver.Event(), self._driver.Event()
        start.record()
        for _ in range(repeats):
            launch()
        stop.record()
        stop.synchronize()
        return 1e-3 * float(stop.time_since(start))

    def _arrays(self, case: Case) -> list[int]:
        """Device addresses of the case's arrays, filled with random numbers."""
        elements = case.size**2 if case.workload == "gemm" else case.size
        each = -(-(elements * case.element_bytes + case.offset_bytes) // 512) * 512
        start = self._device.memory.arrays(each * _ARRAYS[case.workload], case.precision)
        self._device.memory.soil()
        return [start + each * number + case.offset_bytes for number in range(_ARRAYS[case.workload])]

    def _own(self, case: Case) -> Launch:
        function = self._function(case)
        self._verify(case, function)
        return self._launch(case, function, self._arrays(case), case.size)

    def _function(self, case: Case) -> Callable[..., object]:
        kernel = _kernel(case.workload)
        definitions = macros(kernel, case.precision, {}, 16)
        image = compile_kernel(kernel, definitions, self._target, self._compiler, cache_folder()[0] / "cubins")
        module = self._driver.module_from_buffer(image)
        self._modules.append(module)
        return cast(Callable[..., object], module.get_function(entry_name(kernel, case.precision)))

    def _launch(self, case: Case, function: Callable[..., object], arrays: Sequence[int], size: int) -> Launch:
        scalar = np.dtype(PRECISIONS[case.precision].numpy).type
        pointers = [np.uint64(address) for address in arrays]
        if case.workload == "gemm":
            grid = (size // _TILE, size // _TILE)
            return lambda: function(*pointers, np.uint64(size), block=(_BLOCK, 1, 1), grid=grid)
        count = np.uint64(size // case.stride)
        grid = (min(self._device.threads * _BLOCKS_PER_SM, -(-int(count) // _BLOCK)), 1)
        if case.workload == "vecadd":
            return lambda: function(*pointers, count, block=(_BLOCK, 1, 1), grid=grid)
        return lambda: function(scalar(_FACTOR), *pointers, count, np.uint64(case.stride), block=(_BLOCK, 1, 1), grid=grid)

    def _verify(self, case: Case, function: Callable[..., object]) -> None:
        """A small execution against NumPy. Raises KernelError if they differ."""
        size = 2 * _TILE if case.workload == "gemm" else _CHECK_ELEMENTS
        shape = (size, size) if case.workload == "gemm" else (size,)
        dtype = np.dtype(PRECISIONS[case.precision].numpy)
        inputs = [np.random.default_rng(n).standard_normal(shape).astype(dtype) for n in range(_ARRAYS[case.workload])]
        buffers = [self._driver.to_device(values) for values in inputs]
        self._launch(case, function, [int(buffer) for buffer in buffers], size)()
        have = np.empty_like(inputs[-1])
        self._driver.memcpy_dtoh(have, buffers[-1])
        if not np.allclose(have, _expected(case, inputs), rtol=1e-3, atol=1e-3):
            raise KernelError(f"{case.series}: the kernel does not compute what NumPy does; no time of it would mean anything.")

    def _library(self, case: Case) -> Launch:
        self._cublas = cublas = self._cublas or Cublas()
        arrays = self._arrays(case)
        if case.workload == "axpy":
            return lambda: cublas.axpy(case.precision, (case.touched, case.stride), _FACTOR, arrays[0], arrays[1])
        return lambda: cublas.gemm(case.precision, case.size, *arrays)

    def close(self) -> None:
        if self._cublas:
            self._cublas.close()
        self._modules.clear()
        self._device.close()


def _kernel(workload: Workload) -> Kernel:
    source = resources.files("ert.workloads").joinpath(f"{workload}.cu").read_text(encoding="utf-8")
    return parse_kernel(f"run_{workload}.cu", source, "cuda")


def _expected(case: Case, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.floating]:
    result: NDArray[np.floating] = inputs[1].copy()
    if case.workload == "gemm":
        np.matmul(inputs[0], inputs[1], out=result)
    elif case.workload == "vecadd":
        np.add(inputs[0], inputs[1], out=result)
    else:
        result[:: case.stride] += _FACTOR * inputs[0][:: case.stride]
    return result


def open_bench(device_id: str, threads: int | None) -> CudaBench:
    """The GPU of this id."""
    return CudaBench(device_id, threads)
