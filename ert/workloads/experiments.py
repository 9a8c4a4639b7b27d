"""The two classic experiments: which cases to measure, and what they become on the roofline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ert.ceilings import Ceilings
from ert.compare import Comparison, compare
from ert.devices.base import LevelFacts
from ert.errors import AnalysisError, ConfigError, UsageError
from ert.findings import Finding
from ert.plot_points import PlotKernels, plot_kernels
from ert.points.model import KernelPoint, Origin, Reading, Skipped, work_key
from ert.workloads.cases import LIBRARY, OWN, Case, Failed, Timed, Workload, level_of
from ert.workloads.predictions import Prediction, predictions

STRIDES = (32, 16, 8, 4, 2, 1)
GEMM_SIZES = (96, 192, 384, 768, 1536)
# Far beyond every cache, so that no part of a pass is left in one for the next.
_BEYOND_CACHES = 16
_MEMORY_SHARE = 0.25
_MAX_STRIDE = 1024


class Bench(Protocol):
    """What runs workloads on one kind of device.

    line_bytes      bytes that move where one is touched
    gemm_multiple   sizes of a product are multiples of it
    share_elements  an array's length is a multiple of it
    launches_each   every execution is a launch of its own, so the launch overhead is in its time
    """

    line_bytes: int
    gemm_multiple: int
    launches_each: bool

    @property
    def share_elements(self) -> int: ...

    def precisions_of(self, workload: Workload) -> tuple[str, ...]: ...

    def kinds_of(self, workload: Workload, precision: str) -> tuple[str, ...]:
        """OWN, LIBRARY or both."""
        ...

    def path_of(self, case: Case) -> str:
        """vector or tensor: the roof that this case is held against."""
        ...

    def levels(self) -> Sequence[LevelFacts]: ...

    def memory_budget_bytes(self) -> int: ...

    def run(self, cases: Sequence[Case]) -> Iterator[Timed | Failed]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asks for; an empty tuple leaves it to the experiment."""

    workload: Workload
    precisions: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offsets_bytes: tuple[int, ...] = ()
    by: tuple[str, ...] = (OWN, LIBRARY)


@dataclass(frozen=True, slots=True)
class Experiment:
    """What was measured, judged against a ceilings file."""

    results: tuple[Timed, ...]
    comparison: Comparison
    predictions: tuple[Prediction, ...]

    @property
    def kernels(self) -> PlotKernels:
        """For the picture, with arrows along each series: from a large stride to 1, from a small product to a large one."""
        return plot_kernels(self.comparison, join_names=True)


def plan(wish: Wish, bench: Bench) -> list[Case]:
    """The cases in the order of their trajectories. Raises UsageError for what cannot be, ConfigError for what the device cannot do."""
    known = bench.precisions_of(wish.workload)
    wanted = wish.precisions or known
    if unknown := [p for p in wanted if p not in known]:
        raise ConfigError(f"--precision {unknown[0]}: {wish.workload} runs here in {', '.join(known)}.")
    kinds = [(precision, by) for precision in wanted for by in bench.kinds_of(wish.workload, precision) if by in wish.by]
    if not kinds:
        raise ConfigError(f"--kernel {wish.by[0]}: there is none for {wish.workload} in {', '.join(wanted)} on this device.")
    cases = [replace(case, path=bench.path_of(case)) for precision, by in kinds for case in _cases(wish, bench, precision, by)]
    for case in cases:
        _check(case, bench)
    return cases


def _cases(wish: Wish, bench: Bench, precision: str, by: str) -> Iterator[Case]:
    first = Case(wish.workload, precision, 1, by=by)
    if wish.workload == "gemm":
        yield from (replace(first, size=size) for size in sorted(wish.sizes or GEMM_SIZES))
        return
    strides = tuple(sorted(wish.strides or STRIDES, reverse=True)) if wish.workload == "axpy" else (1,)
    if strides[0] > _MAX_STRIDE or strides[-1] < 1:
        raise UsageError(f"--stride {', '.join(map(str, strides))}: from 1 to {_MAX_STRIDE}.")
    for size in wish.sizes or (_default_elements(first, bench),):
        whole = math.lcm(bench.share_elements, *(stride * bench.share_elements for stride in strides))
        sized = replace(first, size=max(size // whole, 1) * whole)
        yield from (replace(sized, stride=stride) for stride in strides)
        yield from (replace(sized, offset_bytes=offset) for offset in wish.offsets_bytes or _default_offsets(first))


def _default_elements(case: Case, bench: Bench) -> int:
    """Arrays that stream from DRAM, whatever the stride."""
    last = max((level.capacity_bytes or 0 for level in bench.levels() if level.name != "DRAM"), default=0)
    wanted = min(max(_BEYOND_CACHES * last, 2**26), int(_MEMORY_SHARE * bench.memory_budget_bytes()))
    arrays = case.working_set_bytes // case.element_bytes
    return wanted // (arrays * case.element_bytes)


def _default_offsets(case: Case) -> tuple[int, ...]:
    return (case.element_bytes,) if case.workload == "axpy" else ()


def _check(case: Case, bench: Bench) -> None:
    if case.workload == "gemm" and (case.size < 1 or case.size % bench.gemm_multiple):
        raise UsageError(f"--size {case.size}: GEMM sizes here are multiples of {bench.gemm_multiple}, the block of the own kernel.")
    if case.offset_bytes % case.element_bytes or not 0 <= case.offset_bytes < 4096:
        raise UsageError(f"--offset {case.offset_bytes}: a multiple of {case.element_bytes} bytes below 4096 ({case.precision}).")
    if case.working_set_bytes > (budget_bytes := bench.memory_budget_bytes()):
        raise ConfigError(
            f"--size {case.size}: {case.working_set_bytes} bytes are beyond the {budget_bytes} that may be taken here. "
            "Ask for a smaller size, or free memory."
        )


def evaluate(answers: Sequence[Timed | Failed], ceilings: Ceilings, bench: Bench) -> Experiment:
    """Place what was measured on the roof and check the predictions. Raises AnalysisError if nothing could be measured."""
    results = tuple(a for a in answers if isinstance(a, Timed))
    failed = [a for a in answers if isinstance(a, Failed)]
    if not results:
        raise AnalysisError(f"nothing could be measured. {failed[0].case.series}: {failed[0].reason}" if failed else "no case to measure.")
    reading = Reading(
        "run",
        "ert run",
        points=tuple(_point(result, bench) for result in results),
        findings=tuple(_disturbed(results)),
        skipped=tuple(Skipped(f"{f.case.series}, {f.case.label}", f.reason, Origin("ert run")) for f in failed),
    )
    roof = ceilings if bench.launches_each else replace(ceilings, launch_overhead_s=0.0)
    comparison = compare(roof, [reading], with_trajectories=False)
    return Experiment(results, comparison, tuple(predictions(results, ceilings, bench.line_bytes)))


def _disturbed(results: Sequence[Timed]) -> list[Finding]:
    count = sum(result.is_disturbed for result in results)
    if not count:
        return []
    message = f"other programs shared the cores in {count} of {len(results)} cases: their times are too long"
    return [Finding("disturbed", message, float(count), "Run it again when the machine is quiet.")]


def _point(result: Timed, bench: Bench) -> KernelPoint:
    case = result.case
    level, remark = level_of(case.working_set_bytes, bench.levels())
    notes = [f"traffic at {level} is {'ideal, every matrix moved once' if case.workload == 'gemm' else 'whole lines'}, not counted", remark]
    return KernelPoint(
        name=f"{case.series} unaligned" if case.offset_bytes else case.series,
        label=case.label,
        time_s=case.reference_time_s(result.time_s),
        flops={work_key(case.precision, case.path): case.ideal.flops},
        bytes={level: case.bytes_at(bench.line_bytes)},
        origin=Origin("ert run"),
        flags=("disturbed",) if result.is_disturbed else (),
        notes=(result.implementation, *(note for note in notes if note)),
    )
