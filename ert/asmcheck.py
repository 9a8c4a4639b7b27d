"""Count what a compiled CPU kernel does in one trip, from its assembly.

The kernels mark each trip of their hot loop (``ERT_TRIP``) and loops of fixed length inside a trip
(``ERT_REPEAT``). Between a loop's label and its backward branch the instructions are fixed, so their
number is a proof of what runs: loads that were hoisted, arithmetic that was folded and registers
that were spilled all change it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ert.errors import KernelError
from ert.kernels import TripFacts

_LABEL = re.compile(r"^([.\w$]+):")
_TRIP = re.compile(r"ert-trip")
_REPEAT = re.compile(r"ert-repeat (\d+)")
_BRANCH = re.compile(r"^(?:j[a-z]+|b|b\.[a-z]+|cbn?z|tbn?z)\s+(?:.*,\s*)?([.\w$]+)\s*$")


@dataclass(frozen=True, slots=True)
class Work:
    """FLOPs (or integer operations) and bytes named by vector and scalar loads and stores."""

    flops: int = 0
    bytes_loaded: int = 0
    bytes_stored: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.bytes_loaded + other.bytes_loaded, self.bytes_stored + other.bytes_stored)

    def __mul__(self, times: int) -> Work:
        return Work(self.flops * times, self.bytes_loaded * times, self.bytes_stored * times)


@dataclass(frozen=True, slots=True)
class _Loop:
    """Line numbers of a loop's label and of its backward branch."""

    first: int
    last: int

    def holds(self, line: int) -> bool:
        return self.first <= line <= self.last


def check_trip(name: str, assembly: str, declared: TripFacts, *, element_bytes: int, is_float: bool) -> None:
    """Raise KernelError if one trip of the compiled hot loop is not what the facts header declares."""
    counted = count_trip(name, assembly, element_bytes=element_bytes, is_float=is_float)
    wrong = [
        f"{what} {have} instead of {want}"
        for what, have, want in (
            ("operations", counted.flops, declared.flops),
            ("bytes loaded", counted.bytes_loaded, declared.bytes_loaded),
            ("bytes stored", counted.bytes_stored, declared.bytes_stored),
        )
        if have != want
    ]
    if wrong:
        raise KernelError(
            f"{name}: the compiled loop does not do what the facts header declares; per trip: {', '.join(wrong)}. "
            "Correct the header, or keep the compiler from removing or adding work."
        )


def count_trip(name: str, assembly: str, *, element_bytes: int, is_float: bool) -> Work:
    """The work of one trip of the hot loop.

    Raises KernelError if no loop has a trip mark in it, or if several have and do not do the same: only one of them may be what runs.
    """
    lines = [line.strip() for line in assembly.splitlines()]
    loops = _find_loops(lines)
    found = {_trip_of(name, lines, loops, hot, element_bytes, is_float=is_float) for hot in _hot_loops(name, lines, loops)}
    if len(found) > 1:
        raise KernelError(f"{name}: the compiled code has {len(found)} loops with a trip mark (ERT_TRIP) that do different work.")
    return found.pop()


def _trip_of(name: str, lines: Sequence[str], loops: Sequence[_Loop], hot: _Loop, element_bytes: int, *, is_float: bool) -> Work:
    inner = [loop for loop in loops if loop != hot and hot.holds(loop.first) and hot.holds(loop.last)]
    marks, total = 0, Work()
    for number in range(hot.first, hot.last + 1):
        marks += bool(_TRIP.search(lines[number]))
        times = 1
        for loop in inner:
            if loop.holds(number):
                times *= _repeats(name, lines, loop)
        total = total + instruction_work(lines[number], element_bytes=element_bytes, is_float=is_float) * times
    if total.flops % marks or total.bytes_loaded % marks or total.bytes_stored % marks:
        raise KernelError(f"{name}: the {marks} trips the compiler unrolled into one loop are not alike.")
    return Work(total.flops // marks, total.bytes_loaded // marks, total.bytes_stored // marks)


def _find_loops(lines: Sequence[str]) -> list[_Loop]:
    labels: dict[str, int] = {}
    loops = []
    for number, line in enumerate(lines):
        if found := _LABEL.match(line):
            labels[found[1]] = number
        elif (found := _BRANCH.match(line)) and found[1] in labels:
            loops.append(_Loop(labels[found[1]], number))
    return loops


def _hot_loops(name: str, lines: Sequence[str], loops: Sequence[_Loop]) -> set[_Loop]:
    """The innermost loop around each trip mark; a trip peeled off before or behind its loop is in none."""
    marks = [number for number, line in enumerate(lines) if _TRIP.search(line)]
    around = [[loop for loop in loops if loop.holds(mark)] for mark in marks]
    if not any(around):
        problem = "has no trip mark (ERT_TRIP)" if not marks else "marks a trip outside any loop: the loop was optimised away"
        raise KernelError(f"{name}: the compiled code {problem}, so nothing proves what it does.")
    return {min(each, key=lambda loop: loop.last - loop.first) for each in around if each}


def _repeats(name: str, lines: Sequence[str], loop: _Loop) -> int:
    counts = {int(found[1]) for line in lines[loop.first : loop.last + 1] if (found := _REPEAT.search(line))}
    if len(counts) != 1:
        raise KernelError(f"{name}: a loop inside a trip does not say how often it runs (ERT_REPEAT).")
    return counts.pop()


_X86_REGISTER_BYTES = {"x": 16, "y": 32, "z": 64}
_X86_VECTOR = re.compile(r"%([xyz])mm\d+")
_X86_MEMORY = re.compile(r"-?\w*\(%[^)]*\)")
_X86_IGNORED = re.compile(r"^(lea|prefetch|nop|j|call|ret|push|pop)")
_X86_SCALAR_BYTES = {"b": 1, "w": 2, "l": 4, "q": 8}
_ELEMENT = {"pd": 8, "ps": 4, "ph": 2}

_ARM_ARRANGEMENT_BYTES = {"16b": 16, "8h": 16, "4s": 16, "2d": 16, "8b": 8, "4h": 8, "2s": 8, "1d": 8}
_ARM_ELEMENT_BYTES = {"b": 1, "h": 2, "s": 4, "d": 8}
_ARM_REGISTER_BYTES = {"q": 16, "d": 8, "s": 4, "h": 2, "b": 1, "x": 8, "w": 4}

# What a dot-product instruction does in each 32-bit lane: multiply-adds, 2 operations each.
_DOT_OPERATIONS = {"vpdpbusd": 8, "vpdpwssd": 4, "vdpbf16ps": 4, "sdot": 8, "udot": 8, "bfdot": 4}
# Multiply pairs and add them: 3 operations, and the paddd that follows is the fourth.
_MADD_OPERATIONS = 3


def instruction_work(line: str, *, element_bytes: int, is_float: bool) -> Work:
    """The work of one line of AT&T x86-64 or of aarch64 assembly; labels, comments and directives do none."""
    text = line.split("#", 1)[0].split("//", 1)[0].removeprefix("{vex}").strip()
    if not text or text.startswith(".") or _LABEL.match(text) or text.startswith("/*"):
        return Work()
    mnemonic, _, operands = text.partition("\t") if "\t" in text else text.partition(" ")
    operands = operands.strip()
    if "%" in operands:
        return _x86_work(mnemonic, operands, element_bytes, is_float)
    return _arm_work(mnemonic, operands, is_float)


def _x86_work(mnemonic: str, operands: str, element_bytes: int, is_float: bool) -> Work:
    if _X86_IGNORED.match(mnemonic):
        return Work()
    widths = [_X86_REGISTER_BYTES[w] for w in _X86_VECTOR.findall(operands)]
    width = max(widths) if widths else _X86_SCALAR_BYTES.get(mnemonic[-1], 8)
    loaded = stored = 0
    if memory := _X86_MEMORY.search(operands):
        is_store = operands.endswith(memory[0]) and not mnemonic.startswith(("cmp", "test"))
        loaded, stored = (0, width) if is_store else (width, 0)
    return Work(_x86_operations(mnemonic, width, element_bytes, is_float) if widths else 0, loaded, stored)


def _x86_operations(mnemonic: str, width: int, element_bytes: int, is_float: bool) -> int:
    name = mnemonic.removeprefix("v")
    if is_float:
        if found := re.match(r"fn?m(?:add|sub)\d*(pd|ps|ph)$", name):
            return 2 * width // _ELEMENT[found[1]]
        if found := re.match(r"(?:add|sub|mul)(pd|ps|ph)$", name):
            return width // _ELEMENT[found[1]]
        return _DOT_OPERATIONS.get(mnemonic, 0) * width // 4
    if mnemonic in _DOT_OPERATIONS:
        return _DOT_OPERATIONS[mnemonic] * width // 4
    if name == "pmaddwd":
        return _MADD_OPERATIONS * width // 4
    # pmulld and paddd, or the pmuludq pairs SSE2 needs in place of a pmulld: only the whole-lane forms count.
    return width // 4 if name in ("pmulld", "paddd", "psubd") and element_bytes <= 4 else 0


def _arm_work(mnemonic: str, operands: str, is_float: bool) -> Work:
    if mnemonic.startswith(("ld", "st")) and "[" in operands:
        named = operands.split("[", 1)[0]
        size = sum(_ARM_REGISTER_BYTES[r] for r in re.findall(r"\b([qdshbxw])(?:\d+|zr)\b", named))
        size += sum(_ARM_ARRANGEMENT_BYTES.get(a, 0) for a in re.findall(r"\bv\d+\.(\w+)", named))
        return Work(bytes_loaded=size) if mnemonic.startswith("ld") else Work(bytes_stored=size)
    found = re.match(r"v\d+\.(\w+)", operands)
    if not found or found[1] not in _ARM_ARRANGEMENT_BYTES:
        return Work()
    lanes = _ARM_ARRANGEMENT_BYTES[found[1]] // _ARM_ELEMENT_BYTES[found[1][-1]]
    if mnemonic in _DOT_OPERATIONS:
        return Work(_DOT_OPERATIONS[mnemonic] * lanes)
    per_lane = {"fmla": 2, "fmls": 2, "fadd": 1, "fsub": 1, "fmul": 1} if is_float else {"mla": 2, "mul": 1, "add": 1, "sub": 1}
    return Work(per_lane.get(mnemonic, 0) * lanes)
