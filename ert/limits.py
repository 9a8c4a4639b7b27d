"""Physical limits: what one core or SM can do per cycle, looked up in configs/limits, never guessed.

Every limit is an upper bound with its source. What the tables do not know is a ``NoLimit`` with a
reason: an unknown processor or capability never falls to a default.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from ert.errors import ConfigError
from ert.precisions import PRECISIONS

Op = Literal["read", "write", "copy", "triad", "update"]

# Loads and stores that one element of each memory operation needs.
LOADS_AND_STORES: dict[str, tuple[int, int]] = {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1), "update": (1, 1)}

_FLOAT_ROWS = ("fma", "add", "mul")
_FMA_ROW = {
    "fp64": "fma",
    "fp32": "fma",
    "fp16": "fma_fp16",
    "bf16": "dot_bf16",
    "int32": "mla_int32",
    "int16": "dot_int16",
    "int8": "dot_int8",
}
_CPU_ROWS = {*_FLOAT_ROWS, "add_beside_fma", *_FMA_ROW.values(), "load", "store", "memory"}
_CPU_READS = {"L2": "l2_read", "L3": "l3_read"}
_CPU_KEYS = {"name", "vendor", "family", "models", "name_pattern", "widths", *_CPU_ROWS, *_CPU_READS.values()}
_GPU_LEVELS = ("l1", "shared", "l2")
_GPU_KEYS = {"capability", "name", "vector", "tensor", "geforce_half", *_GPU_LEVELS}


@dataclass(frozen=True, slots=True)
class CpuIdentity:
    """Who a CPU says it is, as /proc/cpuinfo prints it.

    x86   vendor ``AuthenticAMD``, ``GenuineIntel``; family, model, stepping of CPUID; name: ``model name``
    ARM   vendor: implementer as ``0x41``; family: architecture; model: part number; stepping: revision; name may be empty
    """

    vendor: str
    family: int
    model: int
    stepping: int
    name: str


@dataclass(frozen=True, slots=True)
class Limit:
    """An upper bound per cycle and where it is published."""

    value: float
    source: str


@dataclass(frozen=True, slots=True)
class NoLimit:
    """Why there is no bound."""

    reason: str


@dataclass(frozen=True, slots=True)
class CpuLimits:
    """What one core of a microarchitecture can do per cycle.

    widths  register widths in bytes that ``rows`` are given for
    rows    row name of cpu.toml -> (instructions per cycle at each width, source)
    reads   ``L2``, ``L3`` -> bytes per cycle into the core
    """

    name: str
    vendor: str
    family: int | None
    models: tuple[tuple[int, int], ...]
    name_pattern: str | None
    widths: tuple[int, ...]
    rows: Mapping[str, tuple[tuple[float, ...], str]]
    reads: Mapping[str, Limit]

    def matches(self, identity: CpuIdentity) -> bool:
        """True if this entry speaks of that CPU."""
        return (
            self.vendor == identity.vendor
            and self.family in (None, identity.family)
            and any(low <= identity.model <= high for low, high in self.models)
            and (self.name_pattern is None or re.search(self.name_pattern, identity.name) is not None)
        )

    def flop_per_cycle(self, op: str, precision: str, vector_bytes: int) -> Limit | NoLimit:
        """Operations per core and cycle with registers of ``vector_bytes``; one multiply-add is two."""
        if op == "fma+add":
            return self._fma_and_add(precision, vector_bytes)
        row = _FMA_ROW.get(precision) if op == "fma" else op if op in _FLOAT_ROWS and precision in ("fp64", "fp32") else None
        if row is None:
            return NoLimit(f"no limit is known for {op} of {precision} on {self.name}")
        rate = self._per_cycle(row, vector_bytes)
        if isinstance(rate, NoLimit):
            return rate
        return Limit(rate.value * (2 if op == "fma" else 1) * vector_bytes / PRECISIONS[precision].bytes, rate.source)

    def bytes_per_cycle(self, level: str, op: str, vector_bytes: int) -> Limit | NoLimit:
        """Bytes per core and cycle that ``op`` can name at ``level``: L1 from loads and stores, L2 and L3 for reads."""
        if level == "L1":
            return self._l1_bytes(op, vector_bytes)
        if level not in _CPU_READS:
            return NoLimit(f"{level} has no limit per core and cycle")
        if op != "read":
            return NoLimit(f"no public figure for {op} at {level} on {self.name}; only its reads are documented")
        return self.reads.get(level, NoLimit(f"no public figure for {level} reads on {self.name}"))

    def _per_cycle(self, row: str, vector_bytes: int) -> Limit | NoLimit:
        if vector_bytes not in self.widths:
            return NoLimit(f"{self.name} has no {vector_bytes}-byte vectors in the table of limits")
        if row not in self.rows:
            return NoLimit(f"{self.name} has no such instruction, or its rate has no public source (row {row} of limits/cpu.toml)")
        per_cycle, source = self.rows[row]
        return Limit(per_cycle[self.widths.index(vector_bytes)], source)

    def _fma_and_add(self, precision: str, vector_bytes: int) -> Limit | NoLimit:
        if precision not in ("fp64", "fp32"):
            return NoLimit(f"no limit is known for fma+add of {precision} on {self.name}")
        fma, add = (self._per_cycle(row, vector_bytes) for row in ("fma", "add_beside_fma"))
        if isinstance(fma, NoLimit):
            return fma
        if isinstance(add, NoLimit):
            return add
        return Limit((2 * fma.value + add.value) * vector_bytes / PRECISIONS[precision].bytes, add.source)

    def _l1_bytes(self, op: str, vector_bytes: int) -> Limit | NoLimit:
        if op not in LOADS_AND_STORES:
            return NoLimit(f"{op} is not a memory operation")
        loads, stores = LOADS_AND_STORES[op]
        rates = []
        source = ""
        for row, count in (("load", loads), ("store", stores), ("memory", loads + stores)):
            rate = self._per_cycle(row, vector_bytes)
            if isinstance(rate, NoLimit):
                return rate
            source = rate.source
            if count:
                rates.append(rate.value / count)
        return Limit(min(rates) * (loads + stores) * vector_bytes, source)


@dataclass(frozen=True, slots=True)
class GpuLimits:
    """What one SM of a compute capability can do per clock.

    fma           path -> precision -> multiply-adds per SM and clock
    geforce_half  precisions that GeForce boards run at half the tensor rate
    bytes         ``L1``, ``shared``: per SM and clock; ``L2``: whole device
    """

    capability: str
    name: str
    fma: Mapping[str, Mapping[str, Limit]]
    geforce_half: tuple[str, ...]
    bytes: Mapping[str, Limit]

    def flop_per_cycle(self, precision: str, path: str, *, is_geforce: bool = False) -> Limit | NoLimit:
        """Dense operations per SM and clock; one multiply-add is two. ``is_geforce``: the board is sold as GeForce."""
        found = self.fma.get(path, {}).get(precision)
        if found is None:
            return NoLimit(f"compute capability {self.capability} has no {path} {precision} unit, or its rate has no public source")
        is_halved = is_geforce and path == "tensor" and precision in self.geforce_half
        return Limit(found.value * (1 if is_halved else 2), found.source)

    def bytes_per_cycle(self, level: str) -> Limit | NoLimit:
        """Bytes per SM and clock for L1 and shared, per device and clock for L2."""
        missing = NoLimit(f"no public figure for {level} of compute capability {self.capability}")
        return self.bytes.get(level, missing)


def cpu_limits(identity: CpuIdentity) -> CpuLimits | None:
    """The entry of this CPU, or None; an entry that also fits the product name goes before one that does not ask for it."""
    found = [entry for entry in _shipped_cpus() if entry.matches(identity)]
    return max(found, key=lambda entry: entry.name_pattern is not None, default=None)


def why_no_cpu_limits(identity: CpuIdentity) -> str:
    """The words that stand in a file where ``cpu_limits`` found nothing."""
    return (
        f"no limits are known for {identity.name or 'this CPU'} (vendor {identity.vendor}, family {identity.family:#x}, "
        f"model {identity.model:#x}); add it to configs/limits/cpu.toml"
    )


def gpu_limits(compute_capability: str) -> GpuLimits | None:
    """The entry of a compute capability such as ``9.0``, or None if the table does not know it."""
    return _shipped_gpus().get(compute_capability)


@cache
def _shipped_cpus() -> tuple[CpuLimits, ...]:
    return parse_cpu_limits(_shipped_text("cpu.toml"), "configs/limits/cpu.toml")


@cache
def _shipped_gpus() -> Mapping[str, GpuLimits]:
    return parse_gpu_limits(_shipped_text("cuda.toml"), "configs/limits/cuda.toml")


def _shipped_text(name: str) -> str:
    return resources.files("ert.configs").joinpath("limits", name).read_text(encoding="utf-8")


def parse_cpu_limits(text: str, where: str) -> tuple[CpuLimits, ...]:
    """cpu.toml -> entries, in file order. Raises ConfigError naming the file and the field."""
    entries = tuple(_cpu_entry(table) for table in _tables(text, where, "microarchitecture"))
    for i, one in enumerate(entries):
        for other in entries[:i]:
            if one.name == other.name or _overlap(one, other):
                raise ConfigError(f"{where}: '{one.name}' and '{other.name}' claim the same CPU; each model may stand in one of them only.")
    return entries


def parse_gpu_limits(text: str, where: str) -> Mapping[str, GpuLimits]:
    """cuda.toml -> entries by compute capability. Raises ConfigError naming the file and the field."""
    entries: dict[str, GpuLimits] = {}
    for table in _tables(text, where, "capability"):
        entry = _gpu_entry(table)
        if entry.capability in entries:
            raise ConfigError(f"{where}: capability {entry.capability} stands twice.")
        entries[entry.capability] = entry
    return entries


def _overlap(one: CpuLimits, other: CpuLimits) -> bool:
    same_kind = (one.vendor, one.family, one.name_pattern) == (other.vendor, other.family, other.name_pattern)
    return same_kind and any(a <= d and c <= b for a, b in one.models for c, d in other.models)


@dataclass(frozen=True, slots=True)
class _Table:
    """One TOML table with the words that name it in an error."""

    where: str
    values: Mapping[str, object]
    sources: Mapping[str, object]

    def refuse(self, field: str, problem: str) -> ConfigError:
        return ConfigError(f"{self.where}: {field}: {problem}")

    def check_keys(self, known: set[str], required: set[str]) -> None:
        if missing := sorted(required - set(self.values)):
            raise self.refuse(missing[0], "is missing.")
        if unknown := sorted(set(self.values) - known):
            raise self.refuse(unknown[0], f"is unknown. Known: {', '.join(sorted(known))}.")

    def text(self, field: str) -> str:
        value = self.values.get(field)
        if not isinstance(value, str) or not value:
            raise self.refuse(field, f"must be a text, not {value!r}.")
        return value

    def number(self, field: str) -> float:
        return self.positive(field, self.values.get(field))

    def positive(self, field: str, value: object, *, may_be_zero: bool = False) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not self._fits(value, may_be_zero):
            raise self.refuse(field, f"must be a {'non-negative' if may_be_zero else 'positive'} number, not {value!r}.")
        return float(value)

    @staticmethod
    def _fits(value: float, may_be_zero: bool) -> bool:
        return math.isfinite(value) and (value > 0 or (may_be_zero and value == 0))

    def sequence(self, field: str) -> list[object]:
        value = self.values.get(field)
        if not isinstance(value, list) or not value:
            raise self.refuse(field, f"must be a list, not {value!r}.")
        return value

    def table(self, field: str, known: set[str]) -> _Table:
        value = self.values.get(field)
        if not isinstance(value, dict):
            raise self.refuse(field, f"must be a table, not {value!r}.")
        inner = _Table(f"{self.where}: {field}", value, self.sources)
        inner.check_keys(known, known)
        return inner

    def source(self) -> str:
        key = self.text("source")
        text = self.sources.get(key)
        if not isinstance(text, str) or not text:
            raise self.refuse("source", f"'{key}' does not stand under [sources].")
        return text


def _tables(text: str, where: str, kind: str) -> Iterator[_Table]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not valid TOML: {error}") from error
    top = _Table(where, content, {})
    top.check_keys({"sources", kind}, {"sources", kind})
    sources = content["sources"]
    if not isinstance(sources, dict):
        raise top.refuse("sources", "must be a table of texts.")
    for entry in top.sequence(kind):
        if not isinstance(entry, dict):
            raise top.refuse(kind, "must be a list of tables.")
        label = entry.get("name", "without a name")
        yield _Table(f"{where}: {kind} '{label}'", entry, sources)


def _cpu_entry(table: _Table) -> CpuLimits:
    table.check_keys(_CPU_KEYS, {"name", "vendor", "models", "widths"})
    widths = tuple(int(table.positive("widths", width)) for width in table.sequence("widths"))
    return CpuLimits(
        name=table.text("name"),
        vendor=table.text("vendor"),
        family=int(table.number("family")) if "family" in table.values else None,
        models=tuple(_model_range(table, pair) for pair in table.sequence("models")),
        name_pattern=_pattern(table) if "name_pattern" in table.values else None,
        widths=widths,
        rows={row: _per_cycle_row(table, row, len(widths)) for row in sorted(_CPU_ROWS & set(table.values))},
        reads={level: _bytes(table, key) for level, key in _CPU_READS.items() if key in table.values},
    )


def _model_range(table: _Table, pair: object) -> tuple[int, int]:
    match pair:
        case [int(low), int(high)] if 0 <= low <= high:
            return low, high
    raise table.refuse("models", f"must be pairs [first, last], not {pair!r}.")


def _pattern(table: _Table) -> str:
    pattern = table.text("name_pattern")
    try:
        re.compile(pattern)
    except re.error as error:
        raise table.refuse("name_pattern", f"is not a regular expression: {error}.") from error
    return pattern


def _per_cycle_row(table: _Table, row: str, count: int) -> tuple[tuple[float, ...], str]:
    inner = table.table(row, {"per_cycle", "source"})
    rates = tuple(inner.positive("per_cycle", rate, may_be_zero=row == "add_beside_fma") for rate in inner.sequence("per_cycle"))
    if len(rates) != count:
        raise inner.refuse("per_cycle", f"holds {len(rates)} numbers for {count} widths.")
    return rates, inner.source()


def _bytes(table: _Table, field: str) -> Limit:
    inner = table.table(field, {"bytes", "source"})
    return Limit(inner.number("bytes"), inner.source())


def _gpu_entry(table: _Table) -> GpuLimits:
    table.check_keys(_GPU_KEYS, {"capability", "name", "vector"})
    names = {"l1": "L1", "shared": "shared", "l2": "L2"}
    return GpuLimits(
        capability=table.text("capability"),
        name=table.text("name"),
        fma={path: _fma_rows(table, path) for path in ("vector", "tensor") if path in table.values},
        geforce_half=_halved(table),
        bytes={names[level]: _bytes(table, level) for level in _GPU_LEVELS if level in table.values},
    )


def _fma_rows(table: _Table, path: str) -> Mapping[str, Limit]:
    rows = table.values[path]
    if not isinstance(rows, dict):
        raise table.refuse(path, f"must be a table, not {rows!r}.")
    inner = _Table(f"{table.where}: {path}", rows, table.sources)
    inner.check_keys(set(PRECISIONS), set())
    found = {}
    for precision in rows:
        row = inner.table(precision, {"fma", "source"})
        found[precision] = Limit(row.number("fma"), row.source())
    return found


def _halved(table: _Table) -> tuple[str, ...]:
    if "geforce_half" not in table.values:
        return ()
    inner = table.table("geforce_half", {"precisions", "source"})
    inner.source()
    return tuple(_known_precision(inner, name) for name in inner.sequence("precisions"))


def _known_precision(table: _Table, name: object) -> str:
    if not isinstance(name, str) or name not in PRECISIONS:
        raise table.refuse("precisions", f"{name!r} is unknown. Known: {', '.join(PRECISIONS)}.")
    return name
