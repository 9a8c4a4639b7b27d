"""Times NumPy's and SciPy's BLAS in a process of its own: ``python -m ert.workloads.blas_child`` with cases as JSON on stdin.

A process of its own because the number of threads and the code path of a BLAS are chosen when it is loaded.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

_DTYPES = {"fp32": np.float32, "fp64": np.float64}
# Small enough that y stays finite through any number of passes.
_FACTOR = 1e-6


def main() -> None:
    """Answer one JSON object per case, each on a line of its own.

    The cases take turns, so that a slow spell of the machine hits them all alike.
    """
    request = json.load(sys.stdin)
    cases = request["cases"]
    calls = [_prepared(case) for case in cases]
    repeats = [_calibrated(call, float(request["min_time_s"])) for call in calls]
    times: list[list[float]] = [[] for _ in cases]
    for _ in range(int(request["samples"])):
        for number, call in enumerate(calls):
            times[number].append(_elapsed(call, repeats[number]) / repeats[number])
    for case, samples in zip(cases, times, strict=True):
        sys.stdout.write(json.dumps({"samples_s": samples, "library": _library(case["workload"])}) + "\n")


def _library(workload: str) -> str:
    build = cast(dict[str, dict[str, dict[str, str]]], np.show_config(mode="dicts"))
    blas = build["Build Dependencies"]["blas"]
    return f"NumPy {np.__version__}" if workload == "vecadd" else f"{blas.get('name', 'BLAS')} {blas.get('version', '')}".strip()


def _prepared(case: dict[str, object]) -> Callable[[], object]:
    """A call that does the work of the case once."""
    precision, size = str(case["precision"]), int(cast(int, case["size"]))
    if case["workload"] == "gemm":
        a, b, c = (_array(precision, size**2, 0, number).reshape(size, size) for number in range(3))
        return lambda: np.matmul(a, b, out=c)
    offset, stride = int(cast(int, case["offset_bytes"])), int(cast(int, case["stride"]))
    x, y = (_array(precision, size, offset, number) for number in range(2))
    if case["workload"] == "vecadd":
        total = _array(precision, size, offset, 2)
        return lambda: np.add(x, y, out=total)
    from scipy.linalg import blas  # noqa: PLC0415  (only this workload needs it)

    axpy = blas.daxpy if precision == "fp64" else blas.saxpy
    return lambda: axpy(x, y, n=size // stride, a=_FACTOR, incx=stride, incy=stride)


@cache
def _array(precision: str, count: int, offset_bytes: int, number: int) -> NDArray[np.floating]:
    """Normal numbers that begin ``offset_bytes`` beyond a 64-byte line; strides of one size share them."""
    dtype = np.dtype(_DTYPES[precision])
    raw = np.empty(count * dtype.itemsize + 128 + offset_bytes, np.uint8)
    start = -raw.ctypes.data % 64 + offset_bytes
    array = cast("NDArray[np.floating]", raw[start : start + count * dtype.itemsize].view(dtype))
    block = np.random.default_rng(number).standard_normal(min(count, 1 << 20)).astype(dtype)
    for begin in range(0, count, block.size):
        part = array[begin : begin + block.size]
        part[:] = block[: part.size]
    return array


def _calibrated(call: Callable[[], object], min_time_s: float) -> int:
    """Repeats that last at least ``min_time_s``, after a first one to warm up."""
    call()
    repeats = 1
    while (elapsed := _elapsed(call, repeats)) < min_time_s:
        repeats = max(2 * repeats, int(1.2 * repeats * min_time_s / max(elapsed, 1e-7)))
    return repeats


def _elapsed(call: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
