"""Known workloads on the host CPU: own kernels on pinned threads, and NumPy's BLAS beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from ert.devices import cpu_facts
from ert.devices.base import LevelFacts
from ert.devices.pool import Pool
from ert.errors import KernelError, MeasurementError
from ert.hostcc import compile_runtime, find_compiler
from ert.quiet import QuietGate
from ert.workloads.cases import LIBRARY, OWN, Case, Failed, Timed, Workload
from ert.workloads.cpu_kernels import GEMM_MULTIPLE, LINE_BYTES, SHARE_ELEMENTS, WorkloadData, WorkloadKernel
from ert.workloads.library import run_library

MIN_TIME_S, SAMPLES = 0.02, 7
# How long one sample waits for the cores to be quiet, and from how many quiet samples on the others are left out.
_PATIENCE_S, _ENOUGH = 0.05, 3
_PROBES = 200


@dataclass(slots=True)
class _Turn:
    """A case between its samples: (seconds per pass, whether the cores were quiet)."""

    kernel: WorkloadKernel
    data: WorkloadData
    passes: int = 1
    samples: list[tuple[float, bool]] = field(default_factory=list)


class CpuBench:
    """The cores this process may use. Raises ConfigError for an impossible thread count, KernelError without a compiler."""

    line_bytes = LINE_BYTES
    gemm_multiple = GEMM_MULTIPLE
    launches_each = False  # passes are repeated inside one call

    def __init__(self, threads: int | None = None, min_time_s: float = MIN_TIME_S) -> None:
        self.cpus = cpu_facts.chosen_cpus(threads)
        self._min_time_s = min_time_s
        self._compiler = find_compiler()
        self._pool = Pool(compile_runtime(self._compiler).library, self.cpus)
        self._gate = QuietGate()
        self._calibrate_gate()

    @property
    def share_elements(self) -> int:
        """An array's length must be a multiple of this, so that every thread has whole steps."""
        return SHARE_ELEMENTS * len(self.cpus)

    def precisions_of(self, workload: Workload) -> tuple[str, ...]:
        return ("fp32", "fp64")

    def kinds_of(self, workload: Workload, precision: str) -> tuple[str, ...]:
        return (OWN, LIBRARY)

    def path_of(self, case: Case) -> str:
        return "vector"

    def levels(self) -> Sequence[LevelFacts]:
        return cpu_facts.cache_levels(self.cpus)

    def memory_budget_bytes(self) -> int:
        return cpu_facts.memory_budget_bytes()

    def run(self, cases: Sequence[Case]) -> Iterator[Timed | Failed]:
        """Every case, own kernels first. A case that cannot be measured is an answer, too."""
        own = [case for case in cases if case.by == OWN]
        for precision in dict.fromkeys(case.precision for case in own):
            yield from self._take_turns([case for case in own if case.precision == precision])
        library = [case for case in cases if case.by != OWN]
        if library:
            yield from run_library(library, self.cpus, self._min_time_s, SAMPLES)

    def _take_turns(self, cases: Sequence[Case]) -> Iterator[Timed | Failed]:
        """One sample of every case in each round, so that a slow spell of the machine hits them all alike."""
        turns: list[_Turn | Failed] = []
        shared: dict[tuple[str, int], WorkloadData] = {}
        room = max(case.offset_bytes for case in cases)
        for case in cases:
            try:
                key = (case.workload, case.size)
                shared[key] = shared.get(key) or WorkloadData(self._pool, case, room)
                turns.append(self._calibrated(_Turn(WorkloadKernel(self._compiler, case), shared[key])))
            except (KernelError, MeasurementError, MemoryError) as error:
                turns.append(Failed(case, str(error) or "not enough memory"))
        for _ in range(SAMPLES):
            for turn in turns:
                if isinstance(turn, _Turn):
                    turn.samples.append(self._sample(turn, turn.passes, _PATIENCE_S))
        yield from (turn if isinstance(turn, Failed) else self._timed(turn) for turn in turns)

    def _calibrated(self, turn: _Turn) -> _Turn:
        """Passes that last at least ``min_time_s``."""
        while (time_s := min(self._sample(turn, turn.passes, 0.0)[0] for _ in range(2)) * turn.passes) < self._min_time_s:
            turn.passes = max(2 * turn.passes, int(1.2 * turn.passes * self._min_time_s / max(time_s, 1e-7)))
        return turn

    def _sample(self, turn: _Turn, passes: int, patience_s: float) -> tuple[float, bool]:
        """Seconds per pass, first start to last stop of all threads, and whether every core had itself to itself.

        Raises MeasurementError if a thread did not do its passes.
        """
        case = turn.kernel.case
        jobs = turn.data.jobs(passes, case.offset_bytes)
        (row,) = self._pool.run(turn.kernel.address, jobs, samples=1, patience_s=patience_s, gate=self._gate.threshold)
        if not np.all(row["trips"] == passes):
            raise MeasurementError(f"{case.series}: a thread ran another number of passes than it was asked for.")
        widths = np.minimum(row["width_before"], row["width_after"])
        self._gate.learn(widths)
        return float(row["stop_s"].max() - row["start_s"].min()) / passes, bool(widths.min() >= self._gate.threshold)

    def _timed(self, turn: _Turn) -> Timed:
        """The median of the undisturbed samples; of all, if hardly any was."""
        undisturbed = [time_s for time_s, is_quiet in turn.samples if is_quiet]
        is_disturbed = len(undisturbed) < _ENOUGH
        times = [time_s for time_s, _ in turn.samples] if is_disturbed else undisturbed
        threads = len(self.cpus)
        words = f"own kernel, {threads} thread{'s' * (threads != 1)}"
        return Timed(turn.kernel.case, median(times), tuple(times), words, threads, is_disturbed)

    def _calibrate_gate(self) -> None:
        """Learn what an undisturbed core issues per cycle, from probes around empty calls."""
        stamps = self._pool.probe(_PROBES)
        self._gate.learn(np.minimum(stamps["width_before"], stamps["width_after"]).ravel())

    def close(self) -> None:
        self._pool.close()


def open_bench(device_id: str, threads: int | None) -> CpuBench:
    """The host CPU."""
    return CpuBench(threads)
