"""Every shipped CPU kernel does what it declares; kernels that lie are named, with what was wrong."""

from __future__ import annotations

import pytest
from rich.console import Console

from ert.errors import ConfigError
from ert.hostcc import find_compiler
from ert.kernels import load_kernels, parse_kernel
from ert.verify import verify_cpu
from ert.verify_cuda import verify_cuda
from ert.verify_table import verification_document, verification_report

KERNELS = load_kernels("cpu")


def ignore(_label: str) -> None:
    """No progress."""


def changed(name: str, *replacements: tuple[str, str]):
    """A shipped kernel with some of its text replaced."""
    source = KERNELS[name].source
    for old, new in replacements:
        assert old in source
        source = source.replace(old, new)
    return parse_kernel(f"{name}.c", source, "cpu")


def verify(kernel):
    done = verify_cpu([kernel], find_compiler(), ignore)
    return [v for v in done.variants if v.status != "unsupported"]


@pytest.fixture(scope="module")
def shipped():
    return verify_cpu(KERNELS.values(), find_compiler(), ignore)


def test_no_shipped_kernel_fails(shipped):
    assert [(v.label, v.reason) for v in shipped.failed] == []


def test_every_value_of_every_parameter_is_verified(shipped):
    verified = {(v.kernel, v.precision): 0 for v in shipped.variants if v.status == "ok"}
    for v in shipped.variants:
        if v.status == "ok":
            verified[v.kernel, v.precision] += 1
    assert verified["fma", "fp64"] == 4  # chains 4, 8, 10, 12
    assert verified["mixed", "fp32"] == 11  # FLOPs per element 1 to 1024
    assert verified["read", "fp64"] == 4  # streams 1, 4 times prefetch 0, 512


def test_counts_are_those_of_a_hand_sum(shipped):
    width = find_compiler().vector_bytes
    counts = {v.label: dict(v.counted) for v in shipped.variants}
    # 12 chains of 8 steps, each a multiply-add on every lane.
    assert counts["fma/fp64 ERT_CHAINS=12"] == {"flops": 2 * 8 * 12 * width // 8, "bytes_loaded": 0, "bytes_stored": 0}
    # 8 vectors in and out; 64 operations on each of their elements.
    assert counts["mixed/fp32 ERT_FLOPS=64"] == {"flops": 64 * 8 * width // 4, "bytes_loaded": 8 * width, "bytes_stored": 8 * width}
    # c = a + s * b over 16 vectors.
    assert counts["triad/fp64 ERT_NONTEMPORAL=1"] == {"flops": 32 * width // 8, "bytes_loaded": 32 * width, "bytes_stored": 16 * width}


def test_progress_names_every_variant_before_it_runs(shipped):
    told: list[str] = []
    verify_cpu([KERNELS["copy"]], find_compiler(), told.append)
    assert told == ["copy/fp64 ERT_NONTEMPORAL=0", "copy/fp64 ERT_NONTEMPORAL=1"]


def test_a_wrong_flop_count_is_refused_with_both_numbers():
    (first, *_) = verify(changed("fma", ('flops = "2 * 8', 'flops = "3 * 8')))
    lanes = find_compiler().vector_bytes // 8
    assert first.status == "failed"
    assert (first.declared["flops"], first.counted["flops"]) == (3 * 8 * 4 * lanes, 2 * 8 * 4 * lanes)
    assert f"operations {2 * 8 * 4 * lanes} instead of {3 * 8 * 4 * lanes}" in (first.reason or "")


def test_a_loop_that_was_optimised_away_is_refused():
    body = KERNELS["fma"].source
    loop = body[body.index("    ERT_KEEP_ROLLED") : body.index("    ERT_UNROLL_FULLY\n    for (int c = 0; c < ERT_CHAINS; c++) ERT_AT")]
    reports = verify(changed("fma", (loop, "    ERT_TRIP;\n")))
    assert {report.status for report in reports} == {"failed"}
    assert "optimised away" in (reports[0].reason or "")


def test_a_wrong_result_is_refused_though_the_counts_are_right():
    reports = verify(changed("fma", ("x[c] = x[c] * a + b", "x[c] = x[c] * b + a")))
    assert {report.status for report in reports} == {"failed"}
    assert all(report.counted == report.declared for report in reports)
    assert "does not compute what it declares" in (reports[0].reason or "")


def test_a_kernel_that_does_not_compile_is_a_failure_in_the_compilers_words():
    reports = verify(changed("copy", ("return trips;", "return tripz;")))
    assert {report.status for report in reports} == {"failed"}
    assert "tripz" in (reports[0].reason or "")
    assert reports[0].counted == {}


def test_a_precision_this_machine_lacks_is_unsupported_once_with_the_reason():
    kernel = parse_kernel(
        "fma.c", KERNELS["fma"].source.replace("__SSE4_1__", "__NO_SUCH_UNIT__").replace("__ARM_NEON", "__NOR_THIS__"), "cpu"
    )
    (row,) = (v for v in verify_cpu([kernel], find_compiler(), ignore).variants if v.precision == "int32")
    assert row.status == "unsupported"
    assert "NO_SUCH_UNIT or NOR_THIS" in (row.reason or "")


def test_a_cuda_kernel_is_held_to_its_instructions_without_a_gpu():
    done = verify_cuda([load_kernels("cuda")["mul"]], "sm_80", ignore)
    counts = {v.precision: (v.status, dict(v.counted)) for v in done.variants}
    assert counts["fp64"] == ("ok", {"mul": 64 * 8})  # 64 steps of 8 chains
    assert counts["bf16"][0] == "unsupported"  # a bf16 product came with compute capability 9.0


def test_a_cuda_kernel_that_lies_is_named_with_both_counts():
    source = load_kernels("cuda")["mul"].source
    wrong = source.replace('mul = "ERT_STEPS * ERT_CHAINS"', 'mul = "ERT_STEPS * ERT_CHAINS + 1"')
    assert wrong != source
    done = verify_cuda([parse_kernel("mul.cu", wrong, "cuda")], "sm_80", ignore)
    assert {v.reason for v in done.failed} == {"mul: 512 in the hot loop, 513 declared"}


def test_an_unknown_architecture_is_refused_with_those_that_are_known():
    with pytest.raises(ConfigError, match=r"--arch sm_9000: .* does not know it.*It knows .*sm_90"):
        verify_cuda([], "sm_9000", ignore)


def test_a_failure_stands_in_the_table_and_below_it_with_its_reason(shipped):
    wrong = changed("write", ('"16 * vector_bytes"', '"17 * vector_bytes"'))
    console = Console(width=200, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(verification_report(verify_cpu([wrong], find_compiler(), ignore)))
    text = captured.get()
    assert text.count("failed") >= 3
    assert "failed: write/fp64 ERT_NONTEMPORAL=0" in text
    assert verification_document(shipped)["device_kind"] == "cpu"
