"""Machines that are not here: targets of two compilers, what each has arithmetic for, and the kernels in a folder to compile for them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ert.devices.cpu_kernel import Variant, why_unsupported
from ert.hostcc import CLANG_FLAGS, FLAGS, Compiler
from ert.kernels import load_kernels, shared_sources


@dataclass(frozen=True, slots=True)
class Machine:
    """A target of a cross compiler, its widest vector register, and types it must have arithmetic for."""

    name: str
    command: tuple[str, ...]
    vector_bytes: int
    has: tuple[str, ...] = ()


def gcc(march: str, vector_bytes: int, *has: str) -> Machine:
    return Machine(f"gcc-{march}", ("gcc", f"-march={march}"), vector_bytes, has)


def zig(target: str, cpu: str, vector_bytes: int, *has: str) -> Machine:
    command = (sys.executable, "-m", "ziglang", "cc", "-target", f"{target}-linux-gnu", f"-mcpu={cpu}")
    return Machine(f"clang-{target}-{cpu}", command, vector_bytes, has)


MACHINES = [
    gcc("x86-64", 16),
    gcc("haswell", 32, "int32", "int16"),
    gcc("skylake-avx512", 64, "int32", "int16"),
    gcc("alderlake", 32, "int8", "int16"),
    gcc("sapphirerapids", 64, "bf16", "fp16", "int8", "int16"),
    zig("x86_64", "znver4", 64, "bf16", "int8", "int16"),
    zig("x86_64", "znver5", 64, "bf16", "int8", "int16"),
    zig("aarch64", "cortex_a72", 16, "int32"),
    zig("aarch64", "neoverse_v1", 16, "bf16", "fp16", "int8"),
]


@cache
def compiler_for(machine: Machine) -> Compiler:
    done = subprocess.run([*machine.command, "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True, check=True)
    return Compiler(machine.command, machine.name, frozenset(line.split()[1] for line in done.stdout.splitlines()))


def flags_for(compiler: Compiler) -> list[str]:
    """The flags of a sweep, less those that are about this machine."""
    return [flag for flag in FLAGS if not flag.startswith("-march=")] + (list(CLANG_FLAGS) if "__clang__" in compiler.macros else [])


def write_sources(folder: Path) -> None:
    """Every CPU kernel and what it includes."""
    for name, text in shared_sources("cpu").items():
        (folder / name).write_text(text)
    for kernel in load_kernels("cpu").values():
        (folder / kernel.file_name).write_text(kernel.source)


def variants(compiler: Compiler, turn: int) -> list[Variant]:
    """One of each kernel and type the machine has; the parameter values take turns over the machines."""
    found = []
    for kernel in load_kernels("cpu").values():
        combinations = kernel.combinations()
        for number, precision in enumerate(kernel.precisions):
            if why_unsupported(compiler, kernel, precision) is None:
                found.append(Variant(kernel, precision, combinations[(turn + number) % len(combinations)]))
    return found
