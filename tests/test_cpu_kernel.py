"""ert.devices.cpu_kernel: a kernel is compiled, counted and held against NumPy before anything times it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ert.devices.cpu_kernel import OPERAND_VECTORS, TINY, Variant, aligned, defines, load_kernel, make_operands, why_unsupported
from ert.errors import KernelError
from ert.hostcc import Compiler, find_compiler
from ert.kernels import Kernel, load_kernels, parse_kernel

LIES = Path(__file__).parent / "data" / "kernels"
KERNELS = load_kernels("cpu")


def load(kernel: Kernel, precision: str = "fp64", **parameters: int):
    return load_kernel(find_compiler(), Variant(kernel, precision, {**kernel.defaults(), **parameters}))


def changed(name: str, old: str, new: str) -> Kernel:
    source = KERNELS[name].source
    assert old in source
    return parse_kernel(f"{name}.c", source.replace(old, new), "cpu")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("work_removed", r"operations 0 instead of \d+"),
        ("loop_removed", "the loop was optimised away"),
        ("wrong_flops", r"operations (\d+) instead of \d+"),
        ("wrong_bytes", r"bytes loaded \d+ instead of \d+"),
        ("wrong_result", "does not compute what it declares"),
        ("claims_trips", "ran 8 trips instead of 4"),
        ("one_pass", "does not compute what it declares"),
        ("fused_passes", "has no trip mark"),
    ],
)
def test_a_kernel_that_lies_is_refused(name, said):
    with pytest.raises(KernelError, match=rf"^{name}/fp64.*{said}"):
        load(parse_kernel(f"{name}.c", (LIES / f"{name}.c").read_text(), "cpu"))


def test_an_honest_kernel_is_loaded_with_its_facts():
    loaded = load(KERNELS["fma"], ERT_CHAINS=4)
    assert loaded.address
    assert loaded.facts.flops == 2 * 8 * 4 * find_compiler().vector_bytes // 8


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (changed("fma", 'op = "fma"', 'op = "mul"'), "nothing in NumPy proves op 'mul' of a CPU kernel. Known: read, write"),
        (changed("triad", "arrays = 3", "arrays = 2"), r"op 'triad' works on 3 arrays .* the facts header has 2 and 0"),
        (changed("update", "arrays = 1", "arrays = 9"), r"op 'update' works on 1 arrays .* the facts header has 9 and 0"),
        (changed("fma", 'op = "fma"', 'op = "fma+add"'), r"2 parameters named \.\.\._CHAINS; the facts header has 0 and 1"),
    ],
)
def test_a_header_nothing_can_prove_is_refused_and_no_crash(kernel, said):
    with pytest.raises(KernelError, match=said):
        load(kernel)


def test_a_library_without_the_entry_point_is_refused():
    with pytest.raises(KernelError, match=r"the compiled kernel cannot be loaded: .*ert_kernel"):
        load(changed("fma", "uint64_t ert_kernel(", "uint64_t another_kernel("))


def test_a_kernel_that_asks_for_what_the_machine_lacks_is_unsupported_with_the_reason():
    compiler = Compiler(("mycc",), "", frozenset({"__SSE2__"}))
    assert why_unsupported(compiler, KERNELS["dot"], "int16") is None
    said = why_unsupported(compiler, KERNELS["dot"], "bf16") or ""
    assert said.startswith("this CPU (or its compiler, mycc) has no bf16 arithmetic: needs AVX512BF16 or ")
    assert why_unsupported(compiler, KERNELS["read"], "fp32") == "kernel read has no fp32 version"


def test_the_macros_of_a_variant_are_its_type_its_vector_and_its_parameters():
    variant = Variant(KERNELS["fma"], "fp32", {"ERT_CHAINS": 8})
    assert defines(variant, 64) == {"ERT_TYPE": "float", "ERT_VECTOR_BYTES": "64", "ERT_PRECISION_fp32": "1", "ERT_CHAINS": "8"}
    assert variant.label == "fma/fp32 ERT_CHAINS=8"
    assert variant.chains == [8]


@pytest.mark.parametrize("size", [1, 63, 64, 4096])
def test_aligned_bytes_start_at_a_cache_line(size):
    found = aligned(size)
    assert found.ctypes.data % 64 == 0
    assert found.size == size
    assert not found.any()


@pytest.mark.parametrize(("precision", "dtype"), [("fp64", "float64"), ("fp32", "float32"), ("fp16", "float16")])
def test_operands_are_random_and_the_first_stays_below_one(precision, dtype):
    values = make_operands(precision, 32, seed=1).view(dtype).astype(np.float64)
    lanes = 32 // np.dtype(dtype).itemsize
    assert values.size == OPERAND_VECTORS * lanes
    assert ((values[:lanes] >= 0.29) & (values[:lanes] <= 0.91)).all()
    assert len(np.unique(values)) > values.size // 2
    assert (values != 0).all()


@pytest.mark.parametrize(("precision", "dtype"), [("fp64", "float64"), ("fp32", "float32"), ("fp16", "float16")])
def test_timed_operands_change_no_bit_of_the_data_and_make_no_denormal(precision, dtype):
    operands = make_operands(precision, 32, seed=1, scales=("minus one", "tiny")).view(dtype)
    lanes = 32 // np.dtype(dtype).itemsize
    minus_one, tiny = operands[:lanes], operands[lanes : 2 * lanes]
    assert (minus_one == -1).all()
    assert (np.abs(tiny.astype(np.float64)) < 5 * TINY[dtype]).all()
    data = np.random.default_rng(2).standard_normal(1000 * lanes).astype("float16" if dtype == "float16" else "float32").astype(dtype)
    large = data[np.abs(data) > 1e-3]
    if dtype != "float16":  # half a unit in the last place of a small half-precision number is below any tiny that is no denormal
        assert (
            large[: large.size // lanes * lanes].reshape(-1, lanes) + tiny == large[: large.size // lanes * lanes].reshape(-1, lanes)
        ).all()


@pytest.mark.parametrize("precision", ["int8", "int16", "int32"])
def test_integer_operands_read_alike_with_and_without_a_sign(precision):
    assert (make_operands(precision, 32, seed=1) < 128).all()


def test_bf16_operands_are_truncated_normal_numbers():
    raw = make_operands("bf16", 32, seed=1).view(np.uint16)
    values = (raw.astype(np.uint32) << 16).view(np.float32)
    assert np.isfinite(values).all()
    assert 0.8 < values.std() < 1.2
