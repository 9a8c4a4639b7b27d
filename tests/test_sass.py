"""The compiled kernels hold what they declare, for every architecture; and the check notices code that does not."""

import shutil

import pytest
from softcuda.build import cache_folder

from ert.errors import KernelError
from ert.kernels import load_kernels, parse_kernel
from ert.nvcompile import Target, compile_kernel, find_compiler, macros
from ert.sass import Code, Instruction, disassemble, find_differences, hot_loop_counts
from ert.sass_check import Variant, check_variants, default_variants, parameter_variants, vector_bytes

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")
IMAGES = cache_folder() / "images"
KERNELS = load_kernels("cuda")


def differing(variants, target, compiler_name="nvrtc"):
    checks = check_variants(variants, target, find_compiler(compiler_name), IMAGES)
    return {str(check.variant): check.differences for check in checks if check.differences}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_holds_what_it_declares(architecture):
    target = Target(architecture)
    assert differing(default_variants(KERNELS.values(), target), target) == {}


def test_every_declared_parameter_value_compiles_to_what_it_declares():
    target = Target("sm_90a")
    variants = [v for variant in default_variants(KERNELS.values(), target) for v in parameter_variants(variant)]
    assert len(variants) > 90
    assert differing(variants, target) == {}


@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc makes its own code, and is not on this machine")
def test_nvcc_makes_what_the_kernels_declare_too():
    names = [("read", "fp32"), ("copy", "fp32"), ("mixed", "fp64"), ("fma", "fp32"), ("fma", "fp16"), ("mma", "bf16"), ("wgmma", "fp8")]
    target = Target("sm_90a")
    assert differing([Variant(KERNELS[name], precision) for name, precision in names], target, "nvcc") == {}


def test_the_tensor_kernels_run_where_they_are_native_and_nowhere_else():
    runs = {
        architecture: {str(v) for v in default_variants(KERNELS.values(), Target(architecture)) if v.kernel.path == "tensor"}
        for architecture in ARCHITECTURES
    }
    assert runs["sm_75"] == {"mma_k8/fp16"}
    assert "mma/fp8" in runs["sm_89"]
    assert "mma/fp8" not in runs["sm_90a"]  # emulated there
    assert {"wgmma/fp8", "wgmma/bf16", "mma_fp64/fp64", "mma_fp64_k16/fp64"} <= runs["sm_90a"]
    assert {"tcgen05/fp8", "tcgen05/bf16"} <= runs["sm_100a"]
    assert not any(name.startswith(("wgmma", "tcgen05")) for name in runs["sm_120a"])


def code_of(name, precision, architecture="sm_90a"):
    definitions = macros(KERNELS[name], precision, {}, vector_bytes(architecture))
    image = compile_kernel(KERNELS[name], definitions, Target(architecture), find_compiler("nvrtc"), IMAGES)
    return disassemble([image], architecture)[0]


def test_the_larger_fp64_shape_is_one_instruction_on_hopper():
    """On other architectures it is made of eight m8n8k4, which mma_fp64 measures already."""
    wide, narrow = (next(i for i in code_of(n, "fp64").instructions if i.mnemonic == "DMMA") for n in ("mma_fp64_k16", "mma_fp64"))
    assert (wide.operands.split()[0], narrow.operands.split()[0]) == ("x8x16", "x8x4")


@pytest.mark.parametrize("name", ["read", "read_l2", "mixed_read"])
def test_reads_of_few_trips_have_no_loop_around_them(name):
    assert len(code_of(name, "fp32").loops) == 1


def test_wide_loads_are_declared_where_the_hardware_has_them():
    assert [vector_bytes(a) for a in ARCHITECTURES] == [16, 16, 16, 16, 16, 32, 32]


def kernel(body, instructions, parameters=""):
    text = f"""/*ert
summary = "not what it says"
measures = "compute"
op = "fma"
precisions = ["fp32"]
[parameters]
ERT_THREADS = {{ default = 256, doc = "" }}
ERT_BLOCKS_PER_SM = {{ default = 4, doc = "" }}
ERT_UNROLL = {{ default = 4, doc = "" }}
{parameters}
[trip]
flops = "0"
[instructions]
{instructions}
*/
#include "common.cuh"
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {{
    float *out = (float *)results + threadIdx.x;
    {body}
}}
"""
    return Variant(parse_kernel("liar.cu", text, "cuda"), "fp32")


def complaints(variant, architecture="sm_90a"):
    (check,) = check_variants([variant], Target(architecture), find_compiler("nvrtc"), IMAGES)
    return " ".join(check.differences)


LOOP = '_Pragma("unroll 1") for (u64 repeat = 0; repeat < repeats; repeat++)'


def test_a_load_that_left_the_loop_is_noticed():
    body = f"float s = 0; {LOOP} s += ((const float *__restrict__)a)[threadIdx.x]; *out = s;"
    assert "load_32: 0 in the hot loop, 1 declared" in complaints(kernel(body, 'load_32 = "1"'))


def test_a_loop_that_was_removed_is_noticed():
    assert "fma: 0 in the hot loop, 1 declared" in complaints(kernel(f"float s = *out; {LOOP} s = fmaf(s, 2.f, 1.f);", 'fma = "1"'))


def test_a_load_of_less_than_full_width_is_noticed():
    body = f"float s = 0; {LOOP} s += ((const volatile float *)a)[threadIdx.x + 256 * repeat]; *out = s;"
    assert "load of 32 bits: 1 in the hot loop" in complaints(kernel(body, 'load = "1"'))


def test_half_the_declared_operations_are_noticed():
    body = f"float s = *out; {LOOP} s = fmaf(s, s, 1.f); *out = s;"
    assert "fma: 1 in the hot loop, 2 declared" in complaints(kernel(body, 'fma = "2"'))


def test_spilled_registers_fail_the_build():
    chains = "\n    ".join(f"float v{i} = out[256 * {i}];" for i in range(120))
    steps = " ".join(f"v{i} = fmaf(v{i}, v{(i + 1) % 120}, 1.f);" for i in range(120))
    stores = " ".join(f"out[256 * {i}] = v{i};" for i in range(120))
    assert "spills registers" in complaints(kernel(f"{chains}\n    {LOOP} {{ {steps} }} {stores}", 'fma = "120"'), "sm_80")


def test_serialised_tensor_instructions_fail_the_build():
    body = f"""
    __shared__ __align__(1024) u32 tiles[2560];
    float d[128];
    for (int i = 0; i < 128; i++) d[i] = out[i];
    {LOOP} {{
        wgmma_fence();
        wgmma<bf16>(d, matrix_descriptor(tiles), matrix_descriptor(tiles + 512));
        d[5] += 1.f;
        wgmma_commit();
        wgmma_wait();
    }}
    for (int i = 0; i < 128; i++) out[i] = d[i];"""
    variant = kernel(body, 'wgmma = "1"')
    source = variant.kernel.source.replace('#include "common.cuh"', '#include "common.cuh"\n#include "ptx_wgmma.cuh"')
    one_warpgroup = {"ERT_THREADS": 128, "ERT_BLOCKS_PER_SM": 1}
    assert "serialised" in complaints(Variant(parse_kernel("liar.cu", source, "cuda"), "fp32", one_warpgroup))


def code(*opcodes):
    """One instruction of 16 bytes each; ``BRA n`` jumps to the n-th."""
    words = [opcode.partition(" ") for opcode in opcodes]
    return Code(
        tuple(Instruction(16 * i, op, rest, 16 * int(rest) if op.startswith("BRA") else None) for i, (op, _, rest) in enumerate(words))
    )


def test_the_innermost_loop_is_counted_and_the_trap_after_the_end_is_no_loop():
    listing = code("LDG.E.128 R0", "FFMA R0", "FFMA R0", "BRA 1", "STG.E.128 R0", "BRA 0", "EXIT ", "BRA 7")
    assert listing.loops == ((1, 4), (0, 6))
    assert hot_loop_counts(listing, {"fma": 2}, 128)["fma"] == 2


def test_an_inner_loop_of_chunks_counts_as_often_as_it_runs():
    listing = code("LDG.E.128 R0", "FFMA R0", "FFMA R0", "BRA 1", "STG.E.128 R0", "BRA 0", "EXIT ")
    counts = hot_loop_counts(listing, {"fma": 16, "load": 1, "store": 1, "chunks": 8}, 128)
    assert (counts["fma"], counts["load"], counts["store"]) == (16, 1, 1)


def test_moves_and_addresses_are_not_taken_for_arithmetic():
    listing = code("HFMA2 R1, -RZ, RZ, 0, 0", "IMAD.MOV.U32 R0", "HFMA2.MMA R2, R2, 1, 1, R4", "HFMA2 R2, R2, R3, -RZ", "IMAD R0", "BRA 0")
    counts = hot_loop_counts(listing, {"add": 1, "mul": 1, "imad": 1}, 128)
    assert (counts["fma"], counts["add"], counts["mul"], counts["imad"]) == (0, 1, 1, 1)


def test_what_nobody_declared_is_a_difference_but_for_addresses():
    listing = code("FFMA R0", "FADD R1", "LDG.E.64 R2", "IMAD R3", "HFMA2 R4, -RZ, RZ, 0, 0", "BRA 0")
    assert find_differences(listing, {"fma": 1}, 128) == ["load: 1 in the hot loop, none declared", "add: 1 in the hot loop, none declared"]
    assert find_differences(listing, {"fma": 1, "add": 1, "load_32": 0}, 128) == ["load_32 of 64 bits: 1 in the hot loop"]


def test_local_memory_anywhere_is_a_difference():
    assert find_differences(code("STL R0", "FFMA R0", "BRA 1", "LDL R0"), {"fma": 1}, 128) == [
        "2 accesses to local memory: registers spilled"
    ]


def test_a_file_that_is_no_cubin_is_refused():
    with pytest.raises(KernelError, match="no cubin"):
        disassemble([b"MZ"], "sm_90a")
