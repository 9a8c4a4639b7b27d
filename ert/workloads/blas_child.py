"""Times NumPy's and SciPy's BLAS in a process of its own: ``python -m ert.workloads.blas_child`` with cases as JSON on stdin.

A process of its own because the number of threads and the code path of a BLAS are chosen when it is loaded.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

_DTYPES = {"fp32": np.float32, "fp64": np.float64}
# Small enough that y stays finite through any number of passes.
_FACTOR = 1e-6


def main() -> None:
    """Answer one JSON object per case, each on a line of its own as soon as it is measured."""
    request = json.load(sys.stdin)
    for case in request["cases"]:
        times = _times(_prepared(case), float(request["min_time_s"]), int(request["samples"]))
        sys.stdout.write(json.dumps({"samples_s": times, "library": _library(case["workload"])}) + "\n")
        sys.stdout.flush()


def _library(workload: str) -> str:
    build = cast(dict[str, dict[str, dict[str, str]]], np.show_config(mode="dicts"))
    blas = build["Build Dependencies"]["blas"]
    return f"NumPy {np.__version__}" if workload == "vecadd" else f"{blas.get('name', 'BLAS')} {blas.get('version', '')}".strip()


def _prepared(case: dict[str, object]) -> Callable[[], object]:
    """A call that does the work of the case once, checked on the way."""
    dtype, size = _DTYPES[str(case["precision"])], int(cast(int, case["size"]))
    generator = np.random.default_rng(1)
    if case["workload"] == "gemm":
        a, b = (generator.standard_normal((size, size)).astype(dtype) for _ in range(2))
        c = np.empty_like(a)
        return lambda: np.matmul(a, b, out=c)
    arrays = [_random(generator, size, dtype, int(cast(int, case["offset_bytes"]))) for _ in range(3)]
    if case["workload"] == "vecadd":
        return lambda: np.add(arrays[0], arrays[1], out=arrays[2])
    from scipy.linalg import blas  # noqa: PLC0415  (only this workload needs it)

    axpy = blas.daxpy if dtype is np.float64 else blas.saxpy
    stride = int(cast(int, case["stride"]))
    x, y, count = arrays[0], arrays[1], size // stride
    return lambda: axpy(x, y, n=count, a=_FACTOR, incx=stride, incy=stride)


def _random(generator: np.random.Generator, size: int, dtype: type, offset_bytes: int) -> NDArray[np.generic]:
    """Normal numbers that begin ``offset_bytes`` beyond a 64-byte line."""
    item = np.dtype(dtype).itemsize
    raw = np.empty(size * item + 128 + offset_bytes, np.uint8)
    start = -raw.ctypes.data % 64 + offset_bytes
    array: NDArray[np.generic] = raw[start : start + size * item].view(dtype)
    block: NDArray[np.generic] = generator.standard_normal(min(size, 1 << 20)).astype(dtype)
    for begin in range(0, size, block.size):
        part = array[begin : begin + block.size]
        part[:] = block[: part.size]
    return array


def _times(call: Callable[[], object], min_time_s: float, samples: int) -> list[float]:
    call()
    repeats = 1
    while (elapsed := _elapsed(call, repeats)) < min_time_s:
        repeats = max(2 * repeats, int(1.2 * repeats * min_time_s / max(elapsed, 1e-7)))
    return [_elapsed(call, repeats) / repeats for _ in range(samples)]


def _elapsed(call: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
