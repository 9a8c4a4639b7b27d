"""The CPU kernels executed for processors that are not here: every result against NumPy."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest
from machines import Machine, compiler_for, gcc, variants, zig
from support.emulated import Emulator, build, check

from ert.devices.cpu_kernel import Variant
from ert.errors import KernelError

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
needs_qemu = pytest.mark.skipif(QEMU is None, reason="no emulator: apt-get install qemu-user-static")
needs_x86 = pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="needs an x86-64 and gcc")

OLD_X86 = gcc("x86-64", 16, "int16")
OLD_ARM = zig("aarch64", "cortex_a72", 16, "int32")
NEW_ARM = zig("aarch64", "neoverse_n2", 16, "bf16", "fp16", "int8", "int32")


def started(machine: Machine, swept: list[Variant], folder: Path) -> Emulator:
    """What this processor cannot run itself, an emulator of one with every extension runs."""
    program = str(build(swept, compiler_for(machine), folder))
    return Emulator([program] if machine is OLD_X86 else [str(QEMU), "-cpu", "max", program], machine.vector_bytes)


@pytest.mark.parametrize(
    "machine",
    [pytest.param(OLD_X86, marks=needs_x86), pytest.param(OLD_ARM, marks=needs_qemu), pytest.param(NEW_ARM, marks=needs_qemu)],
    ids=lambda machine: machine.name,
)
def test_every_kernel_computes_what_numpy_computes_on(machine, tmp_path):
    swept = variants(compiler_for(machine), 0)
    assert set(machine.has) <= {variant.precision for variant in swept}
    emulator = started(machine, swept, tmp_path)
    check(swept, compiler_for(machine), emulator)
    assert emulator.close() == 0


@needs_x86
def test_a_kernel_in_the_place_of_another_is_caught(tmp_path):
    swept = [v for v in variants(compiler_for(OLD_X86), 0) if v.precision == "fp64" and v.kernel.name in ("copy", "triad")]
    emulator = started(OLD_X86, swept, tmp_path)
    with pytest.raises(KernelError, match="triad/fp64"):
        check([v for v in swept if v.kernel.name == "triad"], compiler_for(OLD_X86), lambda _, work: emulator(0, work))
    assert emulator.close() == 0
