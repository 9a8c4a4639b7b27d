"""Kernels in a program of another machine, run by an emulator and held against NumPy by the very check that a sweep uses."""

from __future__ import annotations

import ctypes as c
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from machines import flags_for, write_sources

from ert.devices.cpu_kernel import MAX_VECTOR_BYTES, OPERAND_VECTORS, LoadedKernel, Variant, defines, verify
from ert.devices.pool import CWork
from ert.hostcc import Compiler
from ert.precisions import PRECISIONS

RUNNER = Path(__file__).parent / "emulated.c"
_LINKER = (sys.executable, "-m", "ziglang", "ld.lld", "-static")
_RESULT_BYTES = OPERAND_VECTORS * MAX_VECTOR_BYTES
_Call = Callable[[int, CWork], int]


def build(variants: Sequence[Variant], compiler: Compiler, folder: Path) -> Path:
    """One static program with every variant in it."""
    write_sources(folder)
    objects = []
    for number, variant in enumerate(variants):
        words = [f"-D{key}={value}" for key, value in defines(variant, compiler.vector_bytes).items()]
        out = folder / f"variant{number}.o"
        _run(compiler, [*words, f"-Dert_kernel=ert_variant_{number}", "-c", str(folder / variant.kernel.file_name), "-o", str(out)])
        objects.append(str(out))
    names = [f"ert_variant_{number}" for number in range(len(variants))]
    (folder / "variants.h").write_text(
        f"enum {{ OPERAND_BYTES = {OPERAND_VECTORS * compiler.vector_bytes}, RESULT_BYTES = {_RESULT_BYTES} }};\n"
        f"extern ert_kernel_function {', '.join(names)};\n"
        f"static ert_kernel_function *const ert_variants[] = {{{', '.join(names)}}};\n"
    )
    words = ["-DERT_TYPE=double", f"-DERT_VECTOR_BYTES={compiler.vector_bytes}", f"-I{folder}", "-ffreestanding", "-fno-stack-protector"]
    runner, program = folder / "runner.o", folder / "kernels"
    _run(compiler, [*words, "-c", str(RUNNER), "-o", str(runner)])
    linked = subprocess.run([*_LINKER, str(runner), *objects, "-o", str(program)], capture_output=True, text=True, check=False)
    assert linked.returncode == 0, linked.stderr
    return program


def _run(compiler: Compiler, words: Sequence[str]) -> None:
    flags = [flag for flag in flags_for(compiler) if flag not in ("-fPIC", "-shared")]
    done = subprocess.run([*compiler.command, *flags, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def check(variants: Sequence[Variant], compiler: Compiler, call: _Call) -> None:
    """Verify each variant as if it were loaded; ``call`` runs number n of them on a piece of work. Raises KernelError."""
    for number, variant in enumerate(variants):
        element_bytes = PRECISIONS[variant.precision].bytes
        facts = variant.kernel.trip_facts(variant.parameters, element_bytes=element_bytes, vector_bytes=compiler.vector_bytes)
        entry = c.CFUNCTYPE(c.c_uint64, c.POINTER(CWork))(lambda work, number=number: call(number, work.contents))
        verify(LoadedKernel(variant, facts, c.cast(entry, c.c_void_p).value or 0, c.CDLL(None)), compiler.vector_bytes)


class Emulator:
    """A program that answers calls through its pipes; itself a ``call`` for ``check``."""

    def __init__(self, command: Sequence[str], vector_bytes: int) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._operand_bytes = OPERAND_VECTORS * vector_bytes

    def __call__(self, number: int, work: CWork) -> int:
        addresses = [a for a in work.array if a]
        words = [struct.pack("<4Q", number, work.bytes, work.passes, len(addresses))]
        words += [c.string_at(a, work.bytes) for a in addresses]
        self._stream(self._process.stdin).write(b"".join([*words, c.string_at(work.operands, self._operand_bytes)]))
        self._stream(self._process.stdin).flush()
        (trips,) = struct.unpack("<Q", self._read(8))
        for address in addresses:
            c.memmove(address, self._read(work.bytes), work.bytes)
        c.memmove(work.result, self._read(_RESULT_BYTES), _RESULT_BYTES)
        return int(trips)

    def close(self) -> int:
        """End the program; its exit code."""
        self._stream(self._process.stdin).close()
        self._stream(self._process.stdout).close()
        return self._process.wait(timeout=60)

    def _read(self, size: int) -> bytes:
        data = self._stream(self._process.stdout).read(size)
        if len(data) != size:
            raise RuntimeError(f"the emulated program ended with code {self._process.wait()} in the middle of an answer")
        return data

    @staticmethod
    def _stream(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe
