"""The C thread pool of kernels_cpu/runtime.c, through ctypes: pinned threads, barriers, stamps, quiet-core gate."""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ert.errors import DeviceError

ARRAYS = 3


class CWork(c.Structure):
    """ert_work."""

    _fields_ = [
        ("array", c.c_void_p * ARRAYS),
        ("bytes", c.c_uint64),
        ("passes", c.c_uint64),
        ("operands", c.c_void_p),
        ("result", c.c_void_p),
    ]


class CJob(c.Structure):
    """ert_job."""

    _fields_ = [("work", CWork), ("calls", c.c_uint64), ("first_chunk", c.c_uint64), ("chunks", c.c_uint64), ("warm_passes", c.c_uint64)]


class CSampling(c.Structure):
    """ert_sampling."""

    _fields_ = [("samples", c.c_uint64), ("patience_s", c.c_double), ("gate", c.c_double)]


STAMP = np.dtype(
    [
        ("start_s", "f8"),
        ("stop_s", "f8"),
        ("clock_before_hz", "f8"),
        ("clock_after_hz", "f8"),
        ("width_before", "f8"),
        ("width_after", "f8"),
        ("trips", "u8"),
    ]
)


@dataclass(frozen=True, slots=True)
class Job:
    """One thread's work in one sample: ``calls`` calls, each over the next of ``chunks`` chunks.

    arrays       addresses of the arrays' first chunks
    chunk_bytes  per array
    passes       per call
    warm_passes  over the first chunk, untimed, right before each sample
    """

    arrays: Sequence[int]
    chunk_bytes: int
    passes: int
    operands: int
    result: int
    calls: int = 1
    first_chunk: int = 0
    chunks: int = 1
    warm_passes: int = 0

    def to_c(self) -> CJob:
        arrays = (*self.arrays, *([0] * (ARRAYS - len(self.arrays))))
        work = CWork((c.c_void_p * ARRAYS)(*arrays), self.chunk_bytes, self.passes, self.operands, self.result)
        return CJob(work, self.calls, self.first_chunk, self.chunks, self.warm_passes)


class Pool:
    """Threads pinned one to each of ``cpus``. Close it; raises DeviceError if a thread cannot be had."""

    def __init__(self, library: Path, cpus: Sequence[int]) -> None:
        self.cpus = tuple(cpus)
        self._library = _load(library)
        c.set_errno(0)
        self._handle = self._library.ert_pool_create(len(cpus), (c.c_int * len(cpus))(*cpus))
        if not self._handle:
            why = os.strerror(c.get_errno())
            raise DeviceError(f"cpu: could not start {len(cpus)} pinned threads on CPUs {list(cpus)}: {why}. Try fewer with --threads.")

    @property
    def threads(self) -> int:
        return len(self.cpus)

    def run(self, function: int, jobs: Sequence[Job], *, samples: int, patience_s: float, gate: float) -> NDArray[np.void]:
        """Stamps (samples, threads) of dtype STAMP; job i runs on thread i."""
        stamps = np.zeros((samples, self.threads), STAMP)
        c_jobs = (CJob * self.threads)(*(job.to_c() for job in jobs))
        sampling = CSampling(samples, patience_s, gate)
        self._library.ert_pool_run(self._handle, function, c_jobs, c.byref(sampling), stamps.ctypes.data)
        return stamps

    def probe(self, samples: int) -> NDArray[np.void]:
        """Clock and issue width of every core right now: stamps (samples, threads) around empty calls."""
        nothing = [Job((), 0, 0, 0, 0, calls=0) for _ in self.cpus]
        return self.run(0, nothing, samples=samples, patience_s=0.0, gate=0.0)

    def fill(self, starts: Sequence[int], sizes: Sequence[int], table: NDArray[np.float64], seed: int) -> None:
        """Thread i writes random entries of ``table`` (its length a power of two) over sizes[i] bytes from starts[i]."""
        addresses, lengths = (c.c_void_p * self.threads)(*starts), (c.c_uint64 * self.threads)(*sizes)
        self._library.ert_pool_fill(self._handle, addresses, lengths, table.ctypes.data, table.size - 1, seed)

    def ping_pong_s(self, a: int, b: int, rounds: int = 2000) -> float:
        """Seconds for a cache line to go from thread a to thread b and back."""
        return float(self._library.ert_pool_ping_pong(self._handle, a, b, rounds))

    def close(self) -> None:
        if self._handle:
            self._library.ert_pool_destroy(self._handle)
            self._handle = None


def _load(path: Path) -> c.CDLL:
    try:
        library = c.CDLL(str(path), use_errno=True)
    except OSError as error:
        raise DeviceError(
            f"cpu: the compiled runtime cannot be loaded: {error}. Is the cache folder mounted noexec? Set ERT_CACHE_DIR."
        ) from error
    library.ert_pool_create.restype = c.c_void_p
    library.ert_pool_create.argtypes = [c.c_int, c.c_void_p]
    library.ert_pool_destroy.argtypes = [c.c_void_p]
    library.ert_pool_run.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p]
    library.ert_pool_run.restype = None
    library.ert_pool_fill.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p, c.c_uint64, c.c_uint64]
    library.ert_pool_fill.restype = None
    library.ert_pool_ping_pong.argtypes = [c.c_void_p, c.c_int, c.c_int, c.c_uint64]
    library.ert_pool_ping_pong.restype = c.c_double
    return library
