"""What the compiler really made: disassembles cubins and counts the instructions of a kernel's hot loop.

Only the code bytes go to nvdisasm, those of many kernels at once: starting it costs half a second, a kernel a millisecond.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ert.cuda_parts import folders_of_wheels
from ert.errors import KernelError

_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);", re.MULTILINE)
_TARGET = re.compile(r"\b0x([0-9a-f]+)\b")

# class word of a facts header -> mnemonics; a memory access also has a width. HFMA2 and HFMA2.MMA alternate between two pipes.
_MNEMONICS: Mapping[str, tuple[str, ...]] = {
    "load": ("LDG",),
    "load_32": ("LDG",),
    "store": ("STG",),
    "load_shared": ("LDS",),
    "store_shared": ("STS",),
    "fma": ("DFMA", "FFMA", "HFMA2"),
    "fma_x2": ("FFMA2",),
    "add": ("DADD", "FADD", "HADD2"),
    "mul": ("DMUL", "FMUL", "HMUL2"),
    "imad": ("IMAD",),
    "dp4a": ("IDP",),
    "mma": ("HMMA", "IMMA", "DMMA", "QMMA"),
    "wgmma": ("HGMMA", "IGMMA", "QGMMA"),
    "tcgen05": ("UTCHMMA", "UTCIMMA", "UTCQMMA"),
}
_WIDTH_BITS: Mapping[str, int | None] = {"load": None, "store": None, "load_32": 32, "load_shared": 128, "store_shared": 128}
_LOCAL_MEMORY = ("LDL", "STL")


@dataclass(frozen=True, slots=True)
class Instruction:
    """``address`` in bytes from the start of its kernel; ``target`` likewise, of a branch."""

    address: int
    opcode: str
    operands: str
    target: int | None = None

    @property
    def mnemonic(self) -> str:
        """The opcode without its modifiers.

        Half-precision sums and products are also made by HFMA2, as x * 1 + y and x * y - 0, to use both its pipes, and so are
        constants (0 * 0 + c); IMAD with a modifier computes addresses or moves registers.
        """
        name, _, modifiers = self.opcode.partition(".")
        if name == "HFMA2":
            if self.operands.split(", ", 1)[-1].startswith("-RZ, RZ, "):
                return "MOV"
            return "HADD2" if ", 1, 1, " in self.operands else "HMUL2" if self.operands.endswith("-RZ") else name
        return "IMAD.ADDRESS" if name == "IMAD" and modifiers else name

    @property
    def width_bits(self) -> int:
        """Bits a memory access moves per thread; 32 where the opcode names no width."""
        return next((int(part) for part in self.opcode.split(".")[1:] if part in ("64", "128", "256")), 32)


@dataclass(frozen=True)
class Code:
    """The instructions of one kernel."""

    instructions: tuple[Instruction, ...]

    @cached_property
    def loops(self) -> tuple[tuple[int, int], ...]:
        """(first, past the last) instruction index of every loop, shortest first; the trap after EXIT is none."""
        at = {instruction.address: index for index, instruction in enumerate(self.instructions)}
        found = {
            (at[i.target], index + 1)
            for index, i in enumerate(self.instructions)
            if i.mnemonic == "BRA" and i.target is not None and i.target in at and i.target < i.address
        }
        return tuple(sorted(found, key=lambda loop: loop[1] - loop[0]))

    def body(self, loop: tuple[int, int]) -> tuple[Instruction, ...]:
        return self.instructions[slice(*loop)]

    def inside(self, loop: tuple[int, int]) -> list[tuple[int, int]]:
        """The loops within this one."""
        return [other for other in self.loops if other != loop and other[0] >= loop[0] and other[1] <= loop[1]]


def find_nvdisasm() -> Path:
    """nvdisasm of the wheel, else of a CUDA toolkit. Raises KernelError with the way to get it."""
    wheel = next((folder / "nvdisasm" for folder in folders_of_wheels("bin") if (folder / "nvdisasm").is_file()), None)
    toolkit = shutil.which("nvdisasm") or shutil.which("nvdisasm", path="/usr/local/cuda/bin")
    if wheel or toolkit:
        return wheel or Path(str(toolkit))
    raise KernelError("No nvdisasm, which shows what the compiler made of a kernel. Try: pip install nvidia-cuda-nvdisasm")


def disassemble(cubins: Sequence[bytes], architecture: str) -> list[Code]:
    """The code of each cubin, in order; every cubin holds one kernel.

    Raises KernelError for something that is no cubin, and when nvdisasm fails or knows nothing of ``architecture``.
    """
    if not cubins:
        return []
    sections = [_code_section(cubin) for cubin in cubins]
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(b"".join(sections))
        file.flush()
        command = [str(find_nvdisasm()), "--binary", architecture.replace("sm_", "SM"), file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KernelError(f"nvdisasm failed for {architecture}: {done.stderr.strip()}. Try: pip install -U nvidia-cuda-nvdisasm")
    return list(_split(done.stdout, [len(section) for section in sections]))


def _code_section(cubin: bytes) -> bytes:
    """The .text section of the only kernel in a cubin (64-bit ELF, little-endian)."""
    if cubin[:5] != b"\x7fELF\x02":
        raise KernelError("This is no cubin: it does not start like a 64-bit ELF file.")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + 64 * i) for i in range(count)]
    name_offset = headers[names][4]
    for name, _, _, _, offset, size in headers:
        if cubin[name_offset + name :].startswith(b".text."):
            return cubin[offset : offset + size]
    raise KernelError("This cubin holds no kernel.")


def _split(listing: str, sizes: Sequence[int]) -> Iterator[Code]:
    """One listing of concatenated kernels -> the kernels, addresses counted from the start of each."""
    found = [(int(address, 16), opcode, operands.strip()) for address, opcode, operands in _INSTRUCTION.findall(listing)]
    start = index = 0
    for size in sizes:
        instructions = []
        while index < len(found) and found[index][0] < start + size:
            address, opcode, operands = found[index]
            target = _TARGET.findall(operands) if opcode.startswith("BRA") else []
            instructions.append(Instruction(address - start, opcode, operands, int(target[-1], 16) - start if target else None))
            index += 1
        yield Code(tuple(instructions))
        start += size


def count_classes(instructions: Sequence[Instruction], vector_bits: int) -> Counter[str]:
    """How many instructions of each class a facts header knows; ``vector_bits`` is the width a full load or store has.

    An access of another width is counted under the class word with the width behind it, such as ``load:64``.
    """
    counts: Counter[str] = Counter()
    for instruction in instructions:
        for word, mnemonics in _MNEMONICS.items():
            if instruction.mnemonic in mnemonics:
                width = _WIDTH_BITS.get(word, 0)
                wanted = vector_bits if width is None else width
                counts[word if wanted in (0, instruction.width_bits) else f"{word}:{instruction.width_bits}"] += 1
    return counts


def hot_loop_counts(code: Code, declared: Mapping[str, int], vector_bits: int) -> Counter[str]:
    """Instructions in one trip of the hot loop: the loop that holds most of what is declared.

    ``chunks`` in ``declared``: the trips of a loop inside it, whose instructions count that often.
    """
    chunks = max(declared.get("chunks", 1), 1)
    words = [word for word, count in declared.items() if count and word != "chunks"]

    def trip(loop: tuple[int, int]) -> Counter[str]:
        total = count_classes(code.body(loop), vector_bits)
        if chunks > 1 and (inner := code.inside(loop)):
            once = count_classes(code.body(max(inner, key=lambda span: span[1] - span[0])), vector_bits)
            for word, count in once.items():
                total[word] += (chunks - 1) * count
        return total

    nested = [loop for loop in code.loops if bool(code.inside(loop)) == (chunks > 1) and not _holds_two_levels(code, loop)]
    trips = [trip(loop) for loop in nested]
    return max(trips, key=lambda counts: sum(counts[word] for word in words), default=Counter())


def _holds_two_levels(code: Code, loop: tuple[int, int]) -> bool:
    return any(code.inside(inner) for inner in code.inside(loop))


def find_differences(code: Code, declared: Mapping[str, int], vector_bits: int) -> list[str]:
    """What the compiled code does otherwise than the facts header says, in words; empty if it does the same."""
    counts = hot_loop_counts(code, declared, vector_bits)
    differences = [
        f"{word}: {counts[word]} in the hot loop, {count} declared"
        for word, count in declared.items()
        if word != "chunks" and counts[word] != count
    ]
    differences += [
        f"{word.replace(':', ' of ')} bits: {count} in the hot loop"
        for word, count in counts.items()
        if ":" in word and word.split(":")[0] in declared
    ]
    differences += [f"{word}: {count} in the hot loop, none declared" for word, count in _undeclared(counts, declared).items()]
    local = sum(i.mnemonic in _LOCAL_MEMORY for i in code.instructions)
    return differences + ([f"{local} accesses to local memory: registers spilled"] if local else [])


def _undeclared(counts: Mapping[str, int], declared: Mapping[str, int]) -> dict[str, int]:
    """What is counted of classes that the facts header leaves out; a multiply-add of integers may compute an address."""
    covered = {mnemonic for word in declared if word in _MNEMONICS for mnemonic in _MNEMONICS[word]}
    found: dict[str, int] = {}
    for word, mnemonics in _MNEMONICS.items():
        count = sum(counted for key, counted in counts.items() if key.split(":")[0] == word)
        if count and word != "imad" and covered.isdisjoint(mnemonics):
            found[word] = count
            covered.update(mnemonics)
    return found
