"""The CPU's own workload kernels: compiled for this machine, held against NumPy, and the data they walk."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ert.devices.arena import random_table
from ert.devices.pool import CWork, Job, Pool
from ert.errors import KernelError
from ert.hostcc import Compiler, compile_source
from ert.precisions import PRECISIONS
from ert.workloads.cases import Case, Workload

Array = NDArray[np.floating]

LINE_BYTES = 64
# Threads share an array in parts of this many elements, so that each part is whole vectors and whole steps of the loop.
SHARE_ELEMENTS = 64
# Rows of a product are handed out in blocks of so many; gemm.c's MR divides it.
_ROW_BLOCK = 8
# Sizes of a product must divide into the blocks of gemm.c for every vector width.
GEMM_MULTIPLE = 96
# y grows by this times x in every pass, so it stays finite through any number of them.
_FACTOR = 1e-6
_STREAMED = {"axpy": 2, "vecadd": 3}


class WorkloadKernel:
    """One compiled workload; the library object keeps ``address`` mapped. Raises KernelError if it cannot be had or is wrong."""

    def __init__(self, compiler: Compiler, case: Case) -> None:
        source = resources.files("ert.workloads").joinpath(f"{case.workload}.c").read_text(encoding="utf-8")
        element = PRECISIONS[case.precision].c_type or "double"
        defines = {"ERT_TYPE": element, "ERT_VECTOR_BYTES": str(compiler.vector_bytes), "ERT_STRIDE": str(case.stride)}
        compiled = compile_source(compiler, f"run-{case.workload}", source, defines)
        self.case = case
        self._library = c.CDLL(str(compiled.library))
        self.address = c.cast(self._library.ert_kernel, c.c_void_p).value or 0
        if not _CHECKS[case.workload](self):
            raise KernelError(f"{case.series}: the kernel does not compute what NumPy does; no time of it would mean anything.")

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return cast("np.dtype[np.floating]", np.dtype(PRECISIONS[self.case.precision].numpy))

    def call(self, arrays: Sequence[Array], amount: int, operands: NDArray[np.generic]) -> None:
        """One pass in this thread; ``amount`` is what ert_work calls bytes."""
        work = Job([a.ctypes.data for a in arrays], amount, 1, operands.ctypes.data, 0).to_c().work
        function = c.CFUNCTYPE(c.c_uint64, c.POINTER(CWork))(self.address)
        if function(c.byref(work)) != 1:
            raise KernelError(f"{self.case.series}: the kernel ran another number of passes than it was asked for.")


def _check_axpy(kernel: WorkloadKernel) -> bool:
    x, y = _normal(kernel, 8 * SHARE_ELEMENTS), _normal(kernel, 8 * SHARE_ELEMENTS)
    factor = np.array([0.5], kernel.dtype)
    expected = y.copy()
    expected[:: kernel.case.stride] += factor[0] * x[:: kernel.case.stride]
    kernel.call([x, y], x.nbytes, factor)
    return bool(np.allclose(y, expected, rtol=1e-5))


def _check_vecadd(kernel: WorkloadKernel) -> bool:
    a, b, total = (_normal(kernel, 8 * SHARE_ELEMENTS) for _ in range(3))
    kernel.call([a, b, total], a.nbytes, np.zeros(1, kernel.dtype))
    return bool(np.array_equal(total, a + b))


def _check_gemm(kernel: WorkloadKernel) -> bool:
    rows, deep, across = 2 * _ROW_BLOCK, 2 * GEMM_MULTIPLE, GEMM_MULTIPLE
    a, b = _normal(kernel, rows * deep).reshape(rows, deep), _normal(kernel, deep * across).reshape(deep, across)
    product = _normal(kernel, rows * across).reshape(rows, across)
    kernel.call([a, b, product], rows, np.array([across, deep], np.uint64))
    return bool(np.allclose(product, a @ b, rtol=1e-3, atol=1e-3))


_CHECKS: Mapping[Workload, Callable[[WorkloadKernel], bool]] = {"axpy": _check_axpy, "vecadd": _check_vecadd, "gemm": _check_gemm}


def _normal(kernel: WorkloadKernel, count: int) -> Array:
    return np.random.default_rng(count).standard_normal(count).astype(kernel.dtype)


class WorkloadData:
    """The arrays that cases of one workload, precision and size share, first touched by the threads that will walk them."""

    def __init__(self, pool: Pool, case: Case, offset_bytes: int) -> None:
        """``offset_bytes``: room for arrays that begin up to so far beyond a line."""
        self._pool, self._size = pool, case.size
        self._element = np.dtype(PRECISIONS[case.precision].numpy)
        self._is_product = case.workload == "gemm"
        factors = np.array([_FACTOR], self._element)
        self._operands: NDArray[np.generic] = np.array([case.size, case.size], np.uint64) if self._is_product else factors
        count = 3 if self._is_product else _STREAMED[case.workload]
        length = case.size**2 if self._is_product else case.size
        self._arrays = [self._filled(length * self._element.itemsize + offset_bytes, seed) for seed in range(count)]

    def _filled(self, size: int, seed: int) -> NDArray[np.uint8]:
        """``size`` bytes from the beginning of a line; the raw block stays alive behind the view."""
        raw = np.empty(size + 2 * LINE_BYTES, np.uint8)
        start = -raw.ctypes.data % LINE_BYTES
        threads = self._pool.threads
        share = size // threads // 8 * 8
        begins = [raw.ctypes.data + start + share * t for t in range(threads)]
        last = (raw.nbytes - start - share * (threads - 1)) // 8 * 8
        table = random_table(str(self._element), seed)
        self._pool.fill(begins, [*([share] * (threads - 1)), last], table, seed)
        return raw[start : start + size]

    def jobs(self, passes: int, offset_bytes: int) -> list[Job]:
        """Each thread's share of the work, ``passes`` times over."""
        threads, item = self._pool.threads, self._element.itemsize
        addresses = [a.ctypes.data + offset_bytes for a in self._arrays]
        if self._is_product:
            blocks = self._size // _ROW_BLOCK
            cuts = [_ROW_BLOCK * (blocks * t // threads) for t in range(threads + 1)]
            row = self._size * item
            parts = [([addresses[0] + cut * row, addresses[1], addresses[2] + cut * row], end - cut) for cut, end in pairwise(cuts)]
        else:
            share = self._size // threads * item
            parts = [([address + share * t for address in addresses], share) for t in range(threads)]
        return [Job(arrays, amount, passes, self._operands.ctypes.data, 0) for arrays, amount in parts]
