"""Others' ways to use the device: the driver's own copy, and the products of cuBLAS. A ceiling must not lie below what they reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ert.devices.cuda import CudaDevice
from ert.devices.cuda_monitor import Reading
from ert.errors import UnsupportedError
from ert.precisions import PRECISIONS, rate_unit
from ert.units import MEGA, with_prefix
from ert.workloads.cublas import Cublas
from gpucheck.table import Row, Rows

# Far beyond any L2; products so large keep every SM busy to the end.
COPY_BYTES, GEMM_SIZE = 4 << 30, 8192
# The median of so many batches, each as long as this or of as many runs.
BATCHES, BATCH_S, MOST_RUNS = 5, 0.05, 20
# Events tell no shorter times apart (CUDA Driver API, cuEventElapsedTime: "a resolution of around 0.5 microseconds").
SHORTEST_S = 5e-7
GEMM_PRECISIONS = ("bf16", "fp16", "fp64", "fp32")
# Two ways of copying may differ by so much: the copy engine is no kernel.
COPY_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of one run, and the device's state during the last batch."""

    time_s: float
    reading: Reading

    def __str__(self) -> str:
        at = self.reading
        words = [f"{at.clock_hz / MEGA:.0f} MHz" if at.clock_hz else "", f"{at.power_w:.0f} W" if at.power_w else "", *at.throttled]
        return "".join(f" {word}" for word in words if word)


def copy_rows(device: CudaDevice, measured: Mapping[str, float]) -> Rows:
    """The driver's own copy on the same device, read and write counted."""
    size, reached = min(COPY_BYTES, device.memory.budget_bytes // 4), measured.get("DRAM copy")
    start = device.memory.arrays(2 * size, "fp32")
    timed = time_of(device, lambda: device.driver.memcpy_dtod(start + size, start, size))
    rate = 2 * size / timed.time_s
    good = rate <= (1 + COPY_TOLERANCE) * reached if reached else None
    yield Row("driver's device copy", f"{with_prefix(rate, 'B/s')}{timed}", f"<= DRAM copy + {COPY_TOLERANCE:.0%}", good)


def gemm_rows(device: CudaDevice, precision: str, measured: Mapping[str, float]) -> Rows:
    """Others' product of random matrices on the same device."""
    try:
        cublas = Cublas()
    except UnsupportedError as error:
        yield Row(f"cuBLAS {precision} GEMM", f"not measured: {error}")
        return
    try:
        timed = time_of(device, gemm_of(cublas, device, precision))
    finally:
        cublas.close()
    rate, unit = 2 * GEMM_SIZE**3 / timed.time_s, rate_unit(precision)
    # fp32 stays on the vector units; a product of fp64 may use either.
    reached = max((measured.get(f"{precision} {path}", 0.0) for path in paths_of(precision)), default=0.0)
    good = rate <= reached if reached else None
    yield Row(f"cuBLAS {precision} GEMM {GEMM_SIZE}", f"{with_prefix(rate, unit)}{timed} {cublas.name}", "<= ceiling", good)


def paths_of(precision: str) -> tuple[str, ...]:
    """Where cuBLAS may compute it."""
    return ("vector",) if precision == "fp32" else ("tensor", "vector")


def gemm_of(cublas: Cublas, device: CudaDevice, precision: str) -> Callable[[], None]:
    """One product, its matrices in the device's arrays."""
    size = PRECISIONS[precision].bytes * GEMM_SIZE**2
    start = device.memory.arrays(3 * size, precision)
    device.memory.soil()
    return lambda: cublas.gemm(precision, GEMM_SIZE, start, start + size, start + 2 * size)


def time_of(device: CudaDevice, work: Callable[[], object]) -> Timed:
    """After a first run, which prepares much."""
    work()
    once_s, _ = batch(device, work, 1)
    count = max(1, min(MOST_RUNS, int(BATCH_S / max(once_s, SHORTEST_S))))
    found = [batch(device, work, count) for _ in range(BATCHES)]
    return Timed(statistics.median(time_s for time_s, _ in found), found[-1][1])


def batch(device: CudaDevice, work: Callable[[], object], count: int) -> tuple[float, Reading]:
    """Seconds of one of ``count`` runs, from events around them; the state is read while they run."""
    driver = device.driver
    before, after = driver.Event(), driver.Event()
    before.record()
    for _ in range(count):
        work()
    after.record()
    reading = device.read_monitor()
    after.synchronize()
    return float(after.time_since(before)) / 1e3 / count, reading
