"""The few calls of cuBLAS that the workloads need, through ctypes: from the toolkit or from its wheel."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from pathlib import Path

from ert.cuda_parts import find_toolkit, folders_of_wheels
from ert.errors import UnsupportedError

_NAMES = ("libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so")
_OK, _NOT_TRANSPOSED, _DEFAULT_ALGORITHM, _COMPUTE_FP32 = 0, 0, -1, 68
# cudaDataType_t
_TYPES = {"fp16": 2, "bf16": 14}
_PLAIN = {"fp32": ("S", c.c_float), "fp64": ("D", c.c_double)}


class Cublas:
    """A handle in the current context. Raises UnsupportedError if there is no cuBLAS, or a call fails."""

    def __init__(self) -> None:
        self._library = _load()
        self._handle = c.c_void_p()
        self._check("cublasCreate_v2", c.byref(self._handle))
        version = c.c_int()
        self._check("cublasGetVersion_v2", self._handle, c.byref(version))
        self.name = f"cuBLAS {version.value // 10000}.{version.value // 100 % 100}"

    def axpy(self, precision: str, count_and_stride: tuple[int, int], factor: float, x: int, y: int) -> None:
        """y += factor x for so many elements, each so many apart."""
        count, stride = count_and_stride
        letter, kind = _PLAIN[precision]
        self._check(f"cublas{letter}axpy_v2", self._handle, count, c.byref(kind(factor)), c.c_void_p(x), stride, c.c_void_p(y), stride)

    def gemm(self, precision: str, n: int, a: int, b: int, product: int) -> None:
        """C = A B, n x n. Half precisions accumulate in fp32."""
        no = c.c_int(_NOT_TRANSPOSED)
        first = (self._handle, no, no, n, n, n)
        if precision in _PLAIN:
            letter, kind = _PLAIN[precision]
            one, zero = kind(1.0), kind(0.0)
            pointers = (c.c_void_p(a), n, c.c_void_p(b), n, c.byref(zero), c.c_void_p(product), n)
            self._check(f"cublas{letter}gemm_v2", *first, c.byref(one), *pointers)
            return
        one, zero, kind_of = c.c_float(1.0), c.c_float(0.0), _TYPES[precision]
        inputs = (c.c_void_p(a), kind_of, n, c.c_void_p(b), kind_of, n)
        output = (c.byref(zero), c.c_void_p(product), kind_of, n, _COMPUTE_FP32, _DEFAULT_ALGORITHM)
        self._check("cublasGemmEx", *first, c.byref(one), *inputs, *output)

    def _check(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code != _OK:
            raise UnsupportedError(f"{function} failed with status {code}.")

    def close(self) -> None:
        self._library.cublasDestroy_v2(self._handle)


def _load() -> c.CDLL:
    toolkit = find_toolkit()
    for path in (*_NAMES, *_in_wheels(), *(toolkit / "lib64" / name for name in _NAMES if toolkit)):
        try:
            return c.CDLL(str(path))
        except OSError:
            continue
    raise UnsupportedError("cuBLAS is not installed. It comes with the CUDA toolkit, or with `pip install nvidia-cublas`.")


def _in_wheels() -> Iterator[Path]:
    for folder in folders_of_wheels("lib"):
        yield from sorted(folder.glob("libcublas.so.*"), reverse=True)
