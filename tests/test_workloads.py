"""Workloads: what they are charged with, that their kernels compute what they say, and that predictions can fail."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from example_gpu import EXAMPLE_GPU

from ert.devices.base import LevelFacts
from ert.errors import AnalysisError, ConfigError, DeviceError, KernelError
from ert.hostcc import find_compiler
from ert.lock import lock_holder
from ert.workloads import cpu_kernels
from ert.workloads.bench import open_bench
from ert.workloads.cases import LIBRARY, OWN, REFERENCE_ELEMENTS, Case, Failed, Timed, level_of
from ert.workloads.cpu import CpuBench
from ert.workloads.cpu_kernels import WorkloadKernel
from ert.workloads.experiments import Wish, evaluate, plan
from ert.workloads.predictions import predictions

LEVELS = [
    LevelFacts("L1", 64 << 10, "x"),
    LevelFacts("L2", 1 << 20, "x"),
    LevelFacts("L3", 32 << 20, "x"),
    LevelFacts("DRAM", 1 << 33, "x"),
]


@pytest.fixture(scope="module")
def bench():
    opened = CpuBench(threads=1, min_time_s=0.001)
    yield opened
    opened.close()


def timed(case: Case, time_s: float) -> Timed:
    return Timed(case, time_s, (time_s,), "made up", 1)


def test_axpy_moves_each_element_once_and_wastes_what_a_stride_skips():
    one = Case("axpy", "fp32", 1 << 20)
    assert one.ideal.flops / one.bytes_at(64) == pytest.approx(2 / 12)
    ratios = [replace(one, stride=s).bytes_at(64) / one.bytes_at(64) for s in (2, 8, 16, 32)]
    assert ratios == [2, 8, 16, 16]
    assert replace(one, stride=16).bytes_at(32) / one.bytes_at(32) == 8


def test_streaming_is_told_for_the_same_work_at_every_stride():
    case = Case("axpy", "fp64", 1 << 20, stride=8)
    assert case.reference_time_s(1e-3) == pytest.approx(1e-3 * REFERENCE_ELEMENTS / (1 << 17))
    assert Case("gemm", "fp64", 96).reference_time_s(1e-3) == 1e-3


def test_the_working_set_names_the_level():
    assert level_of(1 << 16, LEVELS) == ("L1", None)
    assert level_of(2 << 20, LEVELS)[0] == "L3"
    assert level_of(64 << 20, LEVELS)[1] is not None
    assert level_of(1 << 30, LEVELS) == ("DRAM", None)


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
@pytest.mark.parametrize(("workload", "stride"), [("axpy", 1), ("axpy", 2), ("axpy", 3), ("axpy", 32), ("vecadd", 1), ("gemm", 1)])
def test_own_kernels_compute_what_numpy_does(workload, precision, stride):
    WorkloadKernel(find_compiler(), Case(workload, precision, 96, stride=stride))


def test_a_kernel_that_computes_something_else_is_refused(monkeypatch):
    monkeypatch.setitem(cpu_kernels._CHECKS, "vecadd", lambda kernel: False)
    with pytest.raises(KernelError, match="does not compute what NumPy does"):
        WorkloadKernel(find_compiler(), Case("vecadd", "fp32", 96))


def test_own_kernels_and_the_library_answer_every_case(bench):
    cases = plan(Wish("axpy", ("fp32",), sizes=(1 << 16,), strides=(4, 1)), bench) + plan(Wish("gemm", ("fp64",), sizes=(96,)), bench)
    cases += plan(Wish("vecadd", ("fp64",), sizes=(1 << 12,)), bench)
    answers = list(bench.run(cases))
    assert [a.case for a in answers if isinstance(a, Timed)] == [c for c in cases if c.by == OWN] + [c for c in cases if c.by == LIBRARY]
    assert all(a.time_s > 0 and len(a.samples_s) >= 3 for a in answers if isinstance(a, Timed))
    experiment = evaluate(answers, EXAMPLE_GPU, bench)
    assert len(experiment.comparison.kernels) == len(cases)
    assert experiment.kernels.arrows


def test_a_case_that_fails_is_listed_and_costs_no_other(bench):
    good, bad = timed(Case("gemm", "fp32", 96), 1e-3), Failed(Case("gemm", "fp32", 192), "no luck")
    found = evaluate([good, bad], EXAMPLE_GPU, bench)
    assert [s.reason for s in found.comparison.skipped] == ["no luck"]
    with pytest.raises(AnalysisError, match="no luck"):
        evaluate([bad], EXAMPLE_GPU, bench)


def test_default_plan_reaches_dram_and_ends_at_stride_1(bench):
    cases = plan(Wish("axpy"), bench)
    last = max(level.capacity_bytes or 0 for level in bench.levels() if level.name != "DRAM")
    assert all(case.working_set_bytes >= 4 * last for case in cases)
    strides = [c.stride for c in cases if c.precision == "fp32" and c.by == OWN]
    assert strides == [32, 16, 8, 4, 2, 1, 1]
    assert [c.offset_bytes for c in cases if c.offset_bytes] == [4, 4, 8, 8]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish("gemm", sizes=(100,)), "multiples of 96"),
        (Wish("axpy", strides=(0,)), "--stride 0: from 1 to"),
        (Wish("axpy", ("fp64",), offsets_bytes=(4,)), "--offset 4: a multiple of 8"),
        (Wish("axpy", ("bf16",)), "--precision bf16: axpy runs here in fp32, fp64"),
        (Wish("gemm", sizes=(96 * 10**6,)), "bytes are beyond the"),
    ],
)
def test_what_the_device_cannot_do_names_the_option(bench, wish, words):
    with pytest.raises(ConfigError, match=words):
        plan(wish, bench)


def test_threads_and_kinds_of_device_are_checked():
    with pytest.raises(ConfigError, match="--threads 0"):
        CpuBench(threads=0)
    with pytest.raises(ConfigError, match="no workloads for this kind"), open_bench("tpu:0"):
        pass


def test_a_workload_holds_its_device_as_a_sweep_does():
    with open_bench("cpu", 1):
        assert str(os.getpid()) in (lock_holder("cpu") or "")
        with pytest.raises(DeviceError, match="cpu: is being measured already by process"), open_bench("cpu"):
            pass
    assert lock_holder("cpu") is None


def axpy(stride: int, time_s: float, offset: int = 0) -> Timed:
    return timed(Case("axpy", "fp32", 1 << 20, stride=stride, offset_bytes=offset), time_s)


def test_a_stride_that_costs_its_bytes_confirms_and_one_that_costs_nothing_refutes():
    # The same time for an eighth of the elements is 8 times longer for each.
    good, bad = predictions([axpy(8, 1e-3), axpy(1, 1e-3)], EXAMPLE_GPU, 64), predictions([axpy(8, 2e-4), axpy(1, 1e-3)], EXAMPLE_GPU, 64)
    assert [(p.predicted, p.measured, p.verdict) for p in good] == [(8.0, pytest.approx(8.0), "confirmed")]
    assert [p.verdict for p in bad] == ["refuted"]
    (beyond,) = predictions([axpy(8, 3e-3), axpy(1, 1e-3)], EXAMPLE_GPU, 64)
    assert beyond.verdict == "confirmed" and beyond.remark


def test_alignment_may_cost_ten_percent():
    assert [p.verdict for p in predictions([axpy(1, 1e-3), axpy(1, 1.05e-3, 4)], EXAMPLE_GPU, 64)] == ["confirmed"]
    assert [p.verdict for p in predictions([axpy(1, 1e-3), axpy(1, 1.5e-3, 4)], EXAMPLE_GPU, 64)] == ["refuted"]


def gemm(precision: str, size: int, share: float) -> Timed:
    """A product that reaches this share of the example GPU's roof."""
    peak = {"fp64": 10e12, "fp32": 20e12}[precision]
    return timed(Case("gemm", precision, size), 2 * size**3 / (share * peak))


def test_gemm_climbs_with_its_size_and_with_a_lower_precision():
    results = [gemm("fp64", 96, 0.1), gemm("fp64", 960, 0.8), gemm("fp32", 96, 0.1), gemm("fp32", 960, 0.8)]
    found = predictions(results, EXAMPLE_GPU, 32)
    assert [p.verdict for p in found] == ["confirmed"] * 5
    assert (found[-1].predicted, found[-1].measured) == (2.0, pytest.approx(2.0))
    assert predictions([gemm("fp64", 96, 0.1), gemm("fp64", 960, 0.1)], EXAMPLE_GPU, 32)[0].verdict == "refuted"
    assert predictions([gemm("fp64", 960, 0.8), gemm("fp32", 960, 0.2)], EXAMPLE_GPU, 32)[-1].verdict == "refuted"
