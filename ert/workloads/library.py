"""The BLAS of NumPy and SciPy, timed in a process of its own with the threads and the cores that were asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import median

from ert.workloads.cases import Case, Failed, Timed

# They choose OpenBLAS's kernels and blocking by hand, and a wrong choice halves its GEMM.
_OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_TIMEOUT_S = 600


def run_library(cases: Sequence[Case], cpus: Sequence[int], min_time_s: float, samples: int) -> Iterator[Timed | Failed]:
    """One answer per case, in order."""
    request = {"cases": [asdict(case) for case in cases], "min_time_s": min_time_s, "samples": samples}
    lines, problem = _ask(json.dumps(request), cpus)
    for case, line in zip(cases, lines, strict=False):
        answer = json.loads(line)
        times = tuple(float(t) for t in answer["samples_s"])
        # NumPy adds vectors on one thread.
        threads = 1 if case.workload == "vecadd" else len(cpus)
        yield Timed(case, median(times), times, f"{answer['library']}, {threads} thread{'s' * (threads != 1)}", threads)
    for case in cases[len(lines) :]:
        yield Failed(case, problem or "the library's process ended without an answer")


def _ask(request: str, cpus: Sequence[int]) -> tuple[list[str], str | None]:
    """The child's answers, one line each, and what went wrong, if anything did."""
    environment = {k: v for k, v in os.environ.items() if k not in _OVERRIDES} | dict.fromkeys(_THREADS, str(len(cpus)))
    command = [sys.executable, "-m", "ert.workloads.blas_child"]
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            text=True,
            env=environment,
            timeout=_TIMEOUT_S,
            check=False,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"NumPy's BLAS could not be timed: {error}"
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return done.stdout.splitlines(), None if done.returncode == 0 else f"NumPy's BLAS could not be timed: {last[0]}"
