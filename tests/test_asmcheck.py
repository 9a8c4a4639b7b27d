"""ert.asmcheck: what one trip of a compiled loop does, counted in the assembly of two compilers for ten machines."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from machines import MACHINES, compiler_for, flags_for, gcc, variants, write_sources, zig

from ert.asmcheck import Work, check_trip, count_trip, instruction_work
from ert.devices.cpu_kernel import Variant, defines
from ert.errors import KernelError
from ert.hostcc import Compiler
from ert.kernels import TripFacts
from ert.precisions import PRECISIONS


# Single instructions: every count is a hand sum of register width and element size
@pytest.mark.parametrize(
    ("line", "flops", "loaded", "stored"),
    [
        ("vfmadd213pd\t%zmm1, %zmm2, %zmm3", 16, 0, 0),
        ("vfmadd231ps\t%ymm1, %ymm2, %ymm3", 16, 0, 0),
        ("vfnmadd132sd\t%xmm1, %xmm2, %xmm3", 0, 0, 0),
        ("vfmadd132ph\t%zmm1, %zmm2, %zmm3", 64, 0, 0),
        ("vfmadd213pd\t(%rdi), %ymm2, %ymm3", 8, 32, 0),
        ("vmulpd\t64(%rax,%rcx), %zmm0, %zmm1", 8, 64, 0),
        ("mulpd\t%xmm1, %xmm0", 2, 0, 0),
        ("addps\t%xmm1, %xmm0", 4, 0, 0),
        ("vaddpd\t%ymm1, %ymm2, %ymm3", 4, 0, 0),
        ("vmovapd\t-32(%rsp), %ymm0", 0, 32, 0),
        ("vmovdqa64\t%zmm0, 128(%rdx)", 0, 0, 64),
        ("movaps\t%xmm0, (%rdx)", 0, 0, 16),
        ("vmovntdq\t%ymm0, (%rdx)", 0, 0, 32),
        ("vpxor\t32(%rax), %ymm0, %ymm0", 0, 32, 0),
        ("prefetcht0\t512(%rax)", 0, 0, 0),
        ("leaq\t512(%rax), %rdx", 0, 0, 0),
        ("cmpq\t%rdx, %rax", 0, 0, 0),
        ("cmpq\t8(%rdi), %rax", 0, 8, 0),
        ("movq\t%rax, 16(%rsp)", 0, 0, 8),
        ("jne\t.L3", 0, 0, 0),
        ("vdpbf16ps\t%zmm1, %zmm2, %zmm3", 64, 0, 0),
        ("# vmulpd\t(%rax), %zmm0, %zmm1", 0, 0, 0),
        (".align 16", 0, 0, 0),
        (".L3:", 0, 0, 0),
        ("fmla\tv0.2d, v1.2d, v2.2d", 4, 0, 0),
        ("fmla\tv0.4s, v1.4s, v2.4s", 8, 0, 0),
        ("fmla\tv0.8h, v1.8h, v2.8h", 16, 0, 0),
        ("fmul\tv0.2d, v1.2d, v2.2d", 2, 0, 0),
        ("fadd\tv0.4s, v1.4s, v2.4s", 4, 0, 0),
        ("ldp\tq0, q1, [x8]", 0, 32, 0),
        ("ldr\tq0, [x8, #16]", 0, 16, 0),
        ("ld1\t{v0.2d}, [x8]", 0, 16, 0),
        ("st1\t{v0.4s, v1.4s}, [x8]", 0, 0, 32),
        ("str\tx8, [sp, #8]", 0, 0, 8),
        ("str\txzr, [sp, #8]", 0, 0, 8),
        ("stp\tq0, q1, [x8, #32]", 0, 0, 32),
        ("stnp\td0, d1, [x9]", 0, 0, 16),
        ("bfdot\tv0.4s, v1.8h, v2.8h", 16, 0, 0),
        ("prfm\tpldl1keep, [x8, #512]", 0, 0, 0),
        ("b.ne\t.LBB0_2", 0, 0, 0),
    ],
)
def test_an_instruction_does_what_its_manual_says(line, flops, loaded, stored):
    assert instruction_work(line, element_bytes=8, is_float=True) == Work(flops, loaded, stored)


@pytest.mark.parametrize(
    ("line", "operations"),
    [
        ("vpdpbusd\t%zmm1, %zmm2, %zmm3", 128),  # 16 lanes of 4 multiply-adds
        ("{vex} vpdpbusd\t%ymm1, %ymm2, %ymm3", 64),
        ("vpdpwssd\t%ymm1, %ymm2, %ymm3", 32),
        ("vpmaddwd\t%ymm1, %ymm2, %ymm3", 24),  # two products and one sum a lane; the paddd that follows is the fourth
        ("vpaddd\t%ymm1, %ymm2, %ymm3", 8),
        ("vpmulld\t%ymm1, %ymm2, %ymm3", 8),
        ("vpaddq\t%ymm1, %ymm2, %ymm3", 0),
        ("sdot\tv0.4s, v1.16b, v2.16b", 32),
        ("mla\tv0.4s, v1.4s, v2.4s", 8),
    ],
)
def test_integer_instructions_count_operations(line, operations):
    assert instruction_work(line, element_bytes=4, is_float=False).flops == operations


LOOP = """
    vmovapd (%rdi), %ymm0
.L3:
    #ert-trip
    vfmadd213pd (%rax), %ymm1, %ymm0
    vmovapd %ymm0, (%rdx)
    jne .L3
    vmovapd %ymm0, (%rsi)
"""


def count(text: str) -> Work:
    return count_trip("x", text, element_bytes=8, is_float=True)


def test_only_what_lies_between_the_label_and_its_branch_counts():
    assert count(LOOP) == Work(8, 32, 32)


def test_two_trips_unrolled_into_one_loop_are_counted_as_two():
    body = LOOP[LOOP.index("    #ert-trip") : LOOP.index("    jne")]
    assert count(LOOP.replace(body, body * 2)) == Work(8, 32, 32)


def test_two_trips_that_are_not_alike_are_refused():
    body = LOOP[LOOP.index("    #ert-trip") : LOOP.index("    jne")]
    with pytest.raises(KernelError, match="x: the 2 trips the compiler unrolled into one loop are not alike"):
        count(
            LOOP.replace(
                body,
                body
                + "    #ert-trip\n    vmovapd (%rax), %ymm0\n    vmovapd (%rax), %xmm0\n    vmovapd (%rax), %xmm0\n   movb (%rax), %al\n",
            )
        )


def test_two_marked_loops_must_do_the_same_since_only_one_may_run():
    second = LOOP.replace(".L3", ".L7")
    assert count(LOOP + second) == Work(8, 32, 32)
    with pytest.raises(KernelError, match=r"x: the compiled code has 2 loops with a trip mark \(ERT_TRIP\) that do different work"):
        count(LOOP + second.replace("vmovapd %ymm0, (%rdx)", "nop"))


def test_a_loop_inside_a_trip_counts_as_often_as_it_says():
    inner = ".L4:\n    #ert-repeat 5\n    vaddpd %ymm0, %ymm1, %ymm0\n    jne .L4\n"
    assert count(LOOP.replace("    vmovapd %ymm0, (%rdx)", inner + "    vmovapd %ymm0, (%rdx)")) == Work(8 + 5 * 4, 32, 32)


def test_a_loop_inside_a_trip_that_does_not_say_how_often_is_refused():
    inner = ".L4:\n    vaddpd %ymm0, %ymm1, %ymm0\n    jne .L4\n"
    with pytest.raises(KernelError, match=r"does not say how often it runs \(ERT_REPEAT\)"):
        count(LOOP.replace("    vmovapd %ymm0, (%rdx)", inner))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LOOP.replace("#ert-trip", ""), r"has no trip mark \(ERT_TRIP\)"),
        (LOOP.replace("jne .L3", "ret"), "marks a trip outside any loop: the loop was optimised away"),
        ("", r"has no trip mark"),
    ],
)
def test_code_that_proves_nothing_is_refused(text, said):
    with pytest.raises(KernelError, match=said):
        count(text)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (TripFacts(16, 32, 32, 0, {}), "operations 8 instead of 16"),
        (TripFacts(8, 64, 32, 0, {}), "bytes loaded 32 instead of 64"),
        (TripFacts(8, 32, 0, 0, {}), "bytes stored 32 instead of 0"),
    ],
)
def test_a_declaration_that_differs_is_refused_with_both_numbers(declared, said):
    with pytest.raises(KernelError, match=f"x: the compiled loop does not do what the facts header declares; per trip: {said}"):
        check_trip("x", LOOP, declared, element_bytes=8, is_float=True)
    check_trip("x", LOOP, TripFacts(8, 32, 32, 0, {}), element_bytes=8, is_float=True)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    write_sources(folder)
    return folder


def assembly_of(variant: Variant, compiler: Compiler, folder: Path) -> str:
    words = [f"-D{key}={value}" for key, value in defines(variant, compiler.vector_bytes).items()]
    source, out = folder / variant.kernel.file_name, folder / "out.s"
    done = subprocess.run(
        [*compiler.command, *flags_for(compiler), *words, "-S", str(source), "-o", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out.read_text()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_kernel_does_exactly_what_it_declares_on(machine, sources):
    if shutil.which(machine.command[0]) is None:
        pytest.skip(f"{machine.command[0]} is not installed")
    compiler = compiler_for(machine)
    assert compiler.vector_bytes == machine.vector_bytes
    swept = variants(compiler, MACHINES.index(machine))
    assert set(machine.has) <= {variant.precision for variant in swept}
    for variant in swept:
        precision = PRECISIONS[variant.precision]
        declared = variant.kernel.trip_facts(variant.parameters, element_bytes=precision.bytes, vector_bytes=compiler.vector_bytes)
        check_trip(
            variant.label,
            assembly_of(variant, compiler, sources),
            declared,
            element_bytes=precision.bytes,
            is_float=precision.is_float,
        )


@pytest.mark.parametrize("machine", [gcc("x86-64", 16), zig("aarch64", "cortex_a72", 16)], ids=lambda machine: machine.name)
def test_the_thread_pool_compiles_without_a_warning_for(machine, sources, tmp_path):
    if shutil.which(machine.command[0]) is None:
        pytest.skip(f"{machine.command[0]} is not installed")
    flags = flags_for(compiler_for(machine))
    words = ["-DERT_TYPE=double", "-DERT_VECTOR_BYTES=16", "-Werror", "-c", str(sources / "runtime.c"), "-o", str(tmp_path / "runtime.o")]
    done = subprocess.run([*machine.command, *flags, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
