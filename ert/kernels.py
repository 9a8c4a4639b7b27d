"""The kernel catalogue, read from the facts headers of the kernel files.

A kernel file starts with a comment ``/*ert`` ... ``*/`` that holds TOML: what the kernel measures,
its parameters (each a -D macro), and what one trip of its hot loop does. That header is the only
home of these facts; ``ert kernels --verify`` compares them with the compiled code.
"""

from __future__ import annotations

import ast
import hashlib
import operator
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from ert.errors import ConfigError, KernelError
from ert.levels import LEVELS
from ert.precisions import PRECISIONS
from ert.strict_table import is_whole, parse_toml

DeviceKind = Literal["cpu", "cuda"]
Measures = Literal["bandwidth", "compute", "mixed", "latency", "launch"]

SOURCES: dict[str, tuple[str, str]] = {"cpu": ("ert.kernels_cpu", ".c"), "cuda": ("ert.kernels_cu", ".cu")}
# Names a folder of kernels that stands in for the shipped one: for kernels under development, or of one's own.
OWN_FOLDER: dict[DeviceKind, str] = {"cpu": "ERT_KERNELS_CPU"}
MEASURES = ("bandwidth", "compute", "mixed", "latency", "launch")
OPS = ("read", "write", "copy", "triad", "update", "fma", "add", "mul", "fma+add", "mma", "mixed", "chase", "empty")
REGISTER_BYTES = 4
# The thread pool and sampler: no kernel, and without a facts header.
_RUNTIME = "runtime."
_HEADER = re.compile(r"\A\s*/\*ert\n(.*?)\*/", re.DOTALL)
# key -> what its value must be
_TEXT, _NAMES, _WHOLE, _TABLE, _SWITCH = "text", "a list of names", "a whole number from 1", "a table", "true or false"
_KEYS = {
    "summary": _TEXT,
    "measures": _TEXT,
    "op": _TEXT,
    "path": _TEXT,
    "precisions": _NAMES,
    "levels": _NAMES,
    "arrays": _WHOLE,
    "requires": _TABLE,
    "parameters": _TABLE,
    "trip": _TABLE,
    "instructions": _TABLE,
    "experimental": _SWITCH,
}
_PARAMETER_KEYS = {"default", "values", "doc", "only"}
_REQUIRED = {"summary", "measures", "op", "precisions", "trip"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One -D macro: the values a sweep tries and the one taken when nothing is said.

    only  value -> the memory levels it makes sense for; a value that is not named goes with every level
    """

    name: str
    default: int
    values: tuple[int, ...]
    doc: str
    only: Mapping[int, tuple[str, ...]]

    def fits(self, value: int, level: str | None) -> bool:
        """Whether a sweep tries this value at a level; a point without a level takes what has no restriction."""
        return value not in self.only or level in self.only[value]


@dataclass(frozen=True, slots=True)
class TripFacts:
    """What one trip of the hot loop does, per thread, with all parameters filled in.

    flops                    floating-point (or integer) operations; one FMA is 2
    bytes_loaded, _stored    bytes the instructions name
    array_bytes              how far the trip walks each array; 0 for kernels in registers
    instructions             expected count of each instruction class in one trip (``fma``, ``load``, ...)
    """

    flops: int
    bytes_loaded: int
    bytes_stored: int
    array_bytes: int
    instructions: Mapping[str, int]

    @property
    def bytes(self) -> int:
        return self.bytes_loaded + self.bytes_stored


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel file and its declared facts.

    levels    memory levels it can measure; empty for kernels in registers
    arrays    how many arrays share the working set
    requires  device feature -> least value; the device decides what a feature is
    """

    name: str
    device_kind: DeviceKind
    summary: str
    measures: Measures
    op: str
    path: str
    precisions: tuple[str, ...]
    levels: tuple[str, ...]
    arrays: int
    requires: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, Parameter]
    trip: Mapping[str, str]
    instructions: Mapping[str, str]
    experimental: bool
    file_name: str
    source: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()

    def defaults(self) -> dict[str, int]:
        return {p.name: p.default for p in self.parameters.values()}

    def combinations(self) -> list[dict[str, int]]:
        """Every combination of the declared parameter values, in the order declared."""
        names = list(self.parameters)
        return [dict(zip(names, v, strict=True)) for v in product(*(self.parameters[n].values for n in names))]

    def trip_facts(self, parameters: Mapping[str, int], *, element_bytes: int, vector_bytes: int) -> TripFacts:
        """Fill parameters and vector width into the declared expressions.

        They may also name ``lanes`` (elements of a vector), ``pack`` (elements of a GPU register) and ``registers`` (of a vector).
        Raises KernelError for an unknown name, or a count that is not a whole number.
        """
        names = {**self.defaults(), **parameters}
        lanes, pack = max(vector_bytes // element_bytes, 1), max(REGISTER_BYTES // element_bytes, 1)
        names |= {"element_bytes": element_bytes, "vector_bytes": vector_bytes, "lanes": lanes}
        names |= {"pack": pack, "registers": max(lanes // pack, 1)}

        def value(text: str) -> int:
            return _evaluate(text, names, self.file_name)

        return TripFacts(
            flops=value(self.trip.get("flops", "0")),
            bytes_loaded=value(self.trip.get("bytes_loaded", "0")),
            bytes_stored=value(self.trip.get("bytes_stored", "0")),
            array_bytes=value(self.trip.get("array_bytes", "0")),
            instructions={k: value(v) for k, v in self.instructions.items()},
        )


_OPERATORS: dict[type, Callable[[int, int], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _evaluate(text: str, names: Mapping[str, int], where: str) -> int:
    """A whole number from + - * // % and names, nothing else."""

    def walk(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(number)) if is_whole(number):
                return number
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return int(_OPERATORS[type(op)](walk(left), walk(right)))
        raise KernelError(f"{where}: '{text}' in the facts header: known names are {', '.join(sorted(names))}; operators + - * // %.")

    try:
        return walk(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError) as error:
        raise KernelError(f"{where}: '{text}' in the facts header: {error}") from error


def parse_kernel(file_name: str, source: str, device_kind: DeviceKind) -> Kernel:
    """One kernel file -> Kernel. Raises KernelError naming the file and the key that is wrong."""
    found = _HEADER.match(source)
    if not found:
        raise KernelError(f"{file_name}: no facts header. A kernel file starts with a comment '/*ert' holding TOML.")
    try:
        facts = cast(dict[str, Any], parse_toml(found[1], f"{file_name}: the facts header"))
    except ConfigError as error:
        raise KernelError(str(error)) from error
    _check_facts(file_name, facts)
    parameters = {
        name: Parameter(
            name,
            row["default"],
            tuple(row.get("values", [row["default"]])),
            row.get("doc", ""),
            {int(value): tuple(levels) for value, levels in row.get("only", {}).items()},
        )
        for name, row in facts.get("parameters", {}).items()
    }
    return Kernel(
        name=file_name.rsplit(".", 1)[0],
        device_kind=device_kind,
        summary=facts["summary"],
        measures=facts["measures"],
        op=facts["op"],
        path=facts.get("path", "vector"),
        precisions=tuple(facts["precisions"]),
        levels=tuple(facts.get("levels", ())),
        arrays=facts.get("arrays", 1),
        requires={k: tuple(v if isinstance(v, list) else [str(v)]) for k, v in facts.get("requires", {}).items()},
        parameters=parameters,
        trip={k: str(v) for k, v in facts["trip"].items()},
        instructions={k: str(v) for k, v in facts.get("instructions", {}).items()},
        experimental=facts.get("experimental", False),
        file_name=file_name,
        source=source,
    )


def _check_facts(file_name: str, facts: Mapping[str, object]) -> None:
    def refuse(text: str) -> NoReturn:
        raise KernelError(f"{file_name}: facts header: {text}")

    if missing := _REQUIRED - set(facts):
        refuse(f"missing {', '.join(sorted(missing))}")
    if unknown := set(facts) - set(_KEYS):
        refuse(f"unknown key {', '.join(sorted(unknown))}; known: {', '.join(sorted(_KEYS))}")
    for key, value in facts.items():
        if not _FITS[_KEYS[key]](value):
            refuse(f"{key} = {value!r} must be {_KEYS[key]}")
    for key, known in (("measures", MEASURES), ("op", OPS)):
        if facts[key] not in known:
            refuse(f"{key} = {facts[key]!r} is unknown; known: {', '.join(known)}")
    for key, table in (("precisions", PRECISIONS), ("levels", LEVELS)):
        for name in cast(list[str], facts.get(key, [])):
            if name not in table:
                refuse(f"{key}: {name!r} is unknown; known: {', '.join(table)}")
    for name, row in cast(dict[str, object], facts.get("parameters", {})).items():
        if problem := _parameter_problem(row):
            refuse(f"parameter {name}: {problem}")


_FITS: dict[str, Callable[[object], bool]] = {
    _TEXT: lambda value: isinstance(value, str),
    _NAMES: lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
    _WHOLE: lambda value: is_whole(value) and cast(int, value) >= 1,
    _TABLE: lambda value: isinstance(value, dict),
    _SWITCH: lambda value: isinstance(value, bool),
}


def _parameter_problem(row: object) -> str | None:
    """What is wrong with one entry of [parameters]."""
    if not isinstance(row, dict) or not is_whole(row.get("default")):
        return "must be a table with a whole number as default"
    if unknown := set(row) - _PARAMETER_KEYS:
        return f"unknown key {', '.join(sorted(unknown))}; known: {', '.join(sorted(_PARAMETER_KEYS))}"
    values, only = row.get("values", [0]), row.get("only", {})
    if not isinstance(values, list) or not values or not all(is_whole(v) for v in values):
        return f"values = {values!r} must be a list of whole numbers"
    is_named = isinstance(only, dict) and all(re.fullmatch(r"-?\d{1,18}", k) and _FITS[_NAMES](v) for k, v in only.items())
    if not is_named or not all(level in LEVELS for levels in only.values() for level in levels):
        return f"only = {only!r} must name memory levels for a value, as in {{ 1 = ['L3', 'DRAM'] }}"
    return None


def kernel_folder(device_kind: DeviceKind) -> Traversable:
    """The folder of the kernel files: the one that ``ERT_KERNELS_CPU`` names, else the one inside the installed package.

    Raises KernelError if the variable names no folder.
    """
    own = os.environ.get(OWN_FOLDER.get(device_kind, ""))
    if not own:
        return _shipped_folder(device_kind)
    if not Path(own).is_dir():
        raise KernelError(f"{OWN_FOLDER[device_kind]}={own}: no such folder. Name one that holds kernel files, or unset it.")
    return Path(own)


def _shipped_folder(device_kind: DeviceKind) -> Traversable:
    return resources.files(SOURCES[device_kind][0])


def shared_sources(device_kind: DeviceKind) -> dict[str, str]:
    """File name -> text of what the kernels share (headers, the runtime); a folder of one's own need not hold them again."""
    suffixes = (".h", ".cuh")
    found: dict[str, str] = {}
    for folder in (_shipped_folder(device_kind), kernel_folder(device_kind)):
        for file in folder.iterdir():
            if file.name.endswith(suffixes) or file.name.startswith(_RUNTIME):
                found[file.name] = _read(file)
    return dict(sorted(found.items()))


def kernel_names() -> list[str]:
    """Every shipped kernel of every kind, without reading one."""
    kinds: tuple[DeviceKind, ...] = ("cpu", "cuda")
    return sorted(name.rsplit(".", 1)[0] for kind in kinds for name in _kernel_files(kind, _shipped_folder(kind)))


def source_hashes(device_kind: DeviceKind) -> dict[str, str]:
    """Kernel or shared file -> SHA-256: samples of two runs belong together only if all of these agree."""
    shared = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in shared_sources(device_kind).items()}
    return {kernel.name: kernel.sha256 for kernel in load_kernels(device_kind).values()} | shared


@cache
def load_kernels(device_kind: DeviceKind) -> Mapping[str, Kernel]:
    """Every kernel file of one device kind, by name. Raises KernelError at the first bad header, or if there is no kernel."""
    folder = kernel_folder(device_kind)
    kernels = [parse_kernel(name, _read(folder.joinpath(name)), device_kind) for name in _kernel_files(device_kind, folder)]
    if not kernels:
        raise KernelError(f"{folder}: holds no kernel (*{SOURCES[device_kind][1]}).")
    return {k.name: k for k in kernels}


def _kernel_files(device_kind: DeviceKind, folder: Traversable) -> list[str]:
    suffix = SOURCES[device_kind][1]
    return sorted(f.name for f in folder.iterdir() if f.name.endswith(suffix) and not f.name.startswith(_RUNTIME))


def _read(file: Traversable) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KernelError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}.") from error
