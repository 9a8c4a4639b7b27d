"""Physical limits: what one core or SM can do per cycle, looked up in configs/limits, never guessed.

Every limit is an upper bound with its source. What the tables do not know is a ``NoLimit`` with a
reason: an unknown processor or capability never falls to a default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from ert.errors import ConfigError
from ert.precisions import PRECISIONS
from ert.strict_table import StrictTable, parse_toml_table

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
    entries = tuple(_cpu_entry(table, sources) for table, sources in _tables(text, where, "microarchitecture"))
    for i, one in enumerate(entries):
        for other in entries[:i]:
            if one.name == other.name or _overlap(one, other):
                raise ConfigError(f"{where}: '{one.name}' and '{other.name}' claim the same CPU; each model may stand in one of them only.")
    return entries


def parse_gpu_limits(text: str, where: str) -> Mapping[str, GpuLimits]:
    """cuda.toml -> entries by compute capability. Raises ConfigError naming the file and the field."""
    entries: dict[str, GpuLimits] = {}
    for table, sources in _tables(text, where, "capability"):
        entry = _gpu_entry(table, sources)
        if entry.capability in entries:
            raise ConfigError(f"{where}: capability {entry.capability} stands twice.")
        entries[entry.capability] = entry
    return entries


def _overlap(one: CpuLimits, other: CpuLimits) -> bool:
    same_kind = (one.vendor, one.family, one.name_pattern) == (other.vendor, other.family, other.name_pattern)
    return same_kind and any(a <= d and c <= b for a, b in one.models for c, d in other.models)


def _tables(text: str, where: str, kind: str) -> Iterator[tuple[StrictTable, Mapping[str, str]]]:
    """Each table of a kind with the file's sources."""
    top = parse_toml_table(text, where)
    top.check_keys({"sources", kind}, {"sources", kind})
    table = top.table("sources")
    sources = {key: table.string(key) for key in table.values}
    for entry in top.tables(kind):
        yield replace(entry, label=f"{kind} '{entry.string('name')}'" if "name" in entry.values else entry.label), sources


def _source(table: StrictTable, sources: Mapping[str, str]) -> str:
    key = table.string("source")
    if key not in sources:
        raise table.refuse("source", f"'{key}' does not stand under [sources].")
    return sources[key]


def _row(table: StrictTable, field: str, keys: set[str]) -> StrictTable:
    """A table inside an entry with exactly these keys."""
    inner = table.table(field)
    inner.check_keys(keys, keys)
    return inner


def _cpu_entry(table: StrictTable, sources: Mapping[str, str]) -> CpuLimits:
    table.check_keys(_CPU_KEYS, {"name", "vendor", "models", "widths"})
    widths = tuple(int(table.as_number("widths", width)) for width in table.sequence("widths"))
    return CpuLimits(
        name=table.string("name"),
        vendor=table.string("vendor"),
        family=table.whole("family") if "family" in table.values else None,
        models=tuple(_model_range(table, pair) for pair in table.sequence("models")),
        name_pattern=table.pattern("name_pattern") if "name_pattern" in table.values else None,
        widths=widths,
        rows={row: _per_cycle_row(table, row, len(widths), sources) for row in sorted(_CPU_ROWS & set(table.values))},
        reads={level: _bytes(table, key, sources) for level, key in _CPU_READS.items() if key in table.values},
    )


def _model_range(table: StrictTable, pair: object) -> tuple[int, int]:
    match pair:
        case [int(low), int(high)] if 0 <= low <= high:
            return low, high
    raise table.refuse("models", f"must be pairs [first, last], not {pair!r}.")


def _per_cycle_row(table: StrictTable, row: str, count: int, sources: Mapping[str, str]) -> tuple[tuple[float, ...], str]:
    inner = _row(table, row, {"per_cycle", "source"})
    may_be_zero = row == "add_beside_fma"
    rates = tuple(inner.as_number("per_cycle", rate, may_be_zero=may_be_zero) for rate in inner.sequence("per_cycle"))
    if len(rates) != count:
        raise inner.refuse("per_cycle", f"holds {len(rates)} numbers for {count} widths.")
    return rates, _source(inner, sources)


def _bytes(table: StrictTable, field: str, sources: Mapping[str, str]) -> Limit:
    inner = _row(table, field, {"bytes", "source"})
    return Limit(inner.positive("bytes"), _source(inner, sources))


def _gpu_entry(table: StrictTable, sources: Mapping[str, str]) -> GpuLimits:
    table.check_keys(_GPU_KEYS, {"capability", "name", "vector"})
    names = {"l1": "L1", "shared": "shared", "l2": "L2"}
    return GpuLimits(
        capability=table.string("capability"),
        name=table.string("name"),
        fma={path: _fma_rows(table.table(path), sources) for path in ("vector", "tensor") if path in table.values},
        geforce_half=_halved(_row(table, "geforce_half", {"precisions", "source"}), sources) if "geforce_half" in table.values else (),
        bytes={names[level]: _bytes(table, level, sources) for level in _GPU_LEVELS if level in table.values},
    )


def _fma_rows(table: StrictTable, sources: Mapping[str, str]) -> Mapping[str, Limit]:
    table.check_keys(set(PRECISIONS))
    rows = {precision: _row(table, precision, {"fma", "source"}) for precision in table.values}
    return {precision: Limit(row.positive("fma"), _source(row, sources)) for precision, row in rows.items()}


def _halved(table: StrictTable, sources: Mapping[str, str]) -> tuple[str, ...]:
    _source(table, sources)
    names = table.strings("precisions")
    for name in names:
        if name not in PRECISIONS:
            raise table.refuse("precisions", f"{name!r} is unknown. Known: {', '.join(PRECISIONS)}.")
    return names
