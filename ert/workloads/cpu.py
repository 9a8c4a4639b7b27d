"""Known workloads on the host CPU: own kernels on pinned threads, and NumPy's BLAS beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from ert.devices import cpu_facts
from ert.devices.base import LevelFacts
from ert.devices.pool import Pool
from ert.errors import ConfigError, KernelError, MeasurementError
from ert.hostcc import compile_source, find_compiler, runtime_source
from ert.workloads.cases import OWN, Case, Failed, Timed
from ert.workloads.cpu_kernels import GEMM_MULTIPLE, LINE_BYTES, SHARE_ELEMENTS, WorkloadData, WorkloadKernel
from ert.workloads.library import run_library

MIN_TIME_S, SAMPLES = 0.02, 7


class CpuBench:
    """The cores this process may use. Raises ConfigError for an impossible thread count, KernelError without a compiler."""

    line_bytes = LINE_BYTES
    precisions = ("fp32", "fp64")
    gemm_multiple = GEMM_MULTIPLE

    def __init__(self, threads: int | None = None, min_time_s: float = MIN_TIME_S) -> None:
        usable = cpu_facts.usable_cpus()
        if threads is not None and not 1 <= threads <= len(usable):
            raise ConfigError(f"--threads {threads}: this process may use 1 to {len(usable)} cores.")
        self.cpus = usable[:threads]
        self._min_time_s = min_time_s
        self._compiler = find_compiler()
        runtime = compile_source(self._compiler, "runtime", runtime_source(), {"ERT_TYPE": "double", "ERT_VECTOR_BYTES": "16"})
        self._pool = Pool(runtime.library, self.cpus)

    @property
    def share_elements(self) -> int:
        """An array's length must be a multiple of this, so that every thread has whole steps."""
        return SHARE_ELEMENTS * len(self.cpus)

    def levels(self) -> Sequence[LevelFacts]:
        return cpu_facts.cache_levels(self.cpus)

    def memory_budget_bytes(self) -> int:
        return cpu_facts.memory_budget_bytes()

    def run(self, cases: Sequence[Case]) -> Iterator[Timed | Failed]:
        """Every case, own kernels first. A case that cannot be measured is an answer, too."""
        for case in cases:
            if case.by == OWN:
                yield self._run_own(case)
        library = [case for case in cases if case.by != OWN]
        if library:
            yield from run_library(library, self.cpus, self._min_time_s, SAMPLES)

    def _run_own(self, case: Case) -> Timed | Failed:
        try:
            times = self._sampled(WorkloadKernel(self._compiler, case), WorkloadData(self._pool, case))
        except (KernelError, MeasurementError, MemoryError) as error:
            return Failed(case, str(error) or "not enough memory")
        threads = len(self.cpus)
        return Timed(case, median(times), tuple(times), f"own kernel, {threads} thread{'s' * (threads != 1)}", threads)

    def _sampled(self, kernel: WorkloadKernel, data: WorkloadData) -> list[float]:
        passes = 1
        while (time_s := min(self._timed(kernel, data, passes, 2))) < self._min_time_s:
            passes = max(2 * passes, int(1.2 * passes * self._min_time_s / max(time_s, 1e-7)))
        return [time_s / passes for time_s in self._timed(kernel, data, passes, SAMPLES)]

    def _timed(self, kernel: WorkloadKernel, data: WorkloadData, passes: int, samples: int) -> list[float]:
        """First start to last stop of all threads. Raises MeasurementError if a thread did not do its passes."""
        stamps = self._pool.run(kernel.address, data.jobs(passes), samples=samples, patience_s=0.0, gate=0.0)
        if not np.all(stamps["trips"] == passes):
            raise MeasurementError(f"{kernel.case.series}: a thread ran another number of passes than it was asked for.")
        return [float(row["stop_s"].max() - row["start_s"].min()) for row in stamps]

    def close(self) -> None:
        self._pool.close()


def open_bench(device_id: str, threads: int | None) -> CpuBench:
    """The host CPU."""
    return CpuBench(threads)
