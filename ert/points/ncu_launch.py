"""One launch of a Nsight Compute profile -> F, D, t, and what is missing for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ert.errors import AnalysisError
from ert.points.document import Document
from ert.points.model import Decimal, KernelPoint, Origin, Skipped, work_key
from ert.points.ncu_layout import Cell, Launch, Table
from ert.points.ncu_metrics import (
    CACHES,
    COMBINED,
    CYCLE_RATES,
    DRAM,
    NERSC,
    OPERATIONS,
    STOCK,
    TENSOR_HINT,
    TENSOR_INSTRUCTION_FLOPS,
    TENSOR_INSTRUCTIONS,
    TIMES,
    Operation,
    Sum,
    TensorMetric,
    tensor_metric,
)
from ert.points.ncu_units import unit_factor
from ert.points.numerals import is_missing, parse_number


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be computed from the metrics that one block of the file collected, chosen once for all its launches.

    dropped          levels that only the other family of traffic metrics has
    readable_tensor  compute capability -> tensor metrics that at least one launch on such a GPU has a value for
    """

    family: str
    dropped: tuple[str, ...]
    levels: dict[str, tuple[Sum, ...]]
    times: tuple[tuple[str, str | None], ...]
    operations: tuple[Operation, ...]
    combined: dict[str, tuple[str, ...]]
    tensor: tuple[TensorMetric, ...]
    tensor_instructions: str | None
    readable_tensor: dict[str, set[str]]

    @property
    def has_flops(self) -> bool:
        return bool(self.operations or self.combined or self.tensor or self.tensor_instructions)


def plan(table: Table) -> Plan:
    """Choose the formulas whose metrics are all there, and one family of traffic metrics."""
    collected = table.collected
    caches = {
        family: {level: kept for level, sums in levels.items() if (kept := _collected(sums, collected))}
        for family, levels in CACHES.items()
    }
    family = STOCK if len(caches[STOCK]) > len(caches[NERSC]) else NERSC
    other = NERSC if family == STOCK else STOCK
    dram = _collected(DRAM, collected)
    operations = tuple(o for o in OPERATIONS if any(m in collected for m, _, _ in o.sources))
    by_precision = {o.precision for o in operations}
    return Plan(
        family=family,
        dropped=tuple(level for level in caches[other] if level not in caches[family]),
        levels=({"DRAM": dram} if dram else {}) | caches[family],
        times=tuple(
            (_full(n, collected), d and _full(d, collected)) for n, d in TIMES if _has(n, collected) and (d is None or _has(d, collected))
        ),
        operations=operations,
        combined={
            p: there for p, metrics in COMBINED.items() if p not in by_precision and (there := tuple(m for m in metrics if m in collected))
        },
        tensor=tuple(t for name in sorted(collected) if (t := tensor_metric(name))),
        tensor_instructions=next((m for m in TENSOR_INSTRUCTIONS if m in collected), None),
        readable_tensor=_readable_tensor(table),
    )


def _readable_tensor(table: Table) -> dict[str, set[str]]:
    readable: dict[str, set[str]] = {}
    names = [name for name in table.collected if tensor_metric(name)]
    for launch in table.launches if names else ():
        found = {name for name in names if name in launch.cells and not is_missing(launch.cells[name].text)}
        readable.setdefault(launch.compute_capability, set()).update(found)
    return readable


def _collected(sums: Iterable[Sum], collected: set[str]) -> tuple[Sum, ...]:
    return tuple(s for s in sums if s.is_collected(collected))


def _has(name: str, collected: set[str]) -> bool:
    return bool(_full(name, collected))


def _full(name: str, collected: set[str]) -> str:
    """A display name (``|Duration``) stands in whatever section this version puts it."""
    if not name.startswith("|"):
        return name if name in collected else ""
    return min((m for m in collected if m.endswith(name)), default="")


@dataclass(slots=True)
class _Numbers:
    """The printed values of one launch as numbers in base units, and what was missing among those asked for."""

    document: Document
    decimal: Decimal
    launch: Launch
    missing: list[str] = field(default_factory=list)

    def __call__(self, metric: str) -> float | None:
        cell = self.launch.cells.get(metric)
        if cell is None or is_missing(cell.text):
            return None
        value = self._parse(metric, cell)
        return value if value >= 0 else None

    def _parse(self, metric: str, cell: Cell) -> float:
        unit = cell.unit
        if not unit.strip() and metric.startswith("gpu__time_duration"):
            unit = "ns"  # its base unit, where the units row was lost
        try:
            return parse_number(cell.text, self.decimal) * unit_factor(unit)
        except ValueError as error:
            raise self.document.error(
                f"{metric}: {error}. If numbers are written the other way, say --decimal point or --decimal comma.", cell.line, cell.column
            ) from error
        except AnalysisError as error:
            raise self.document.error(f"{metric}: {error}", cell.line, cell.column) from error

    def lack(self, metrics: Iterable[str]) -> None:
        self.missing += [m for m in metrics if self(m) is None and m not in self.missing]


def to_point(document: Document, decimal: Decimal, chosen: Plan, launch: Launch) -> KernelPoint | Skipped:
    """Raises AnalysisError naming line and column for a value that is no number."""
    numbers = _Numbers(document, decimal, launch)
    origin = Origin(document.name, launch.line, launch.id or None)
    time_s = _time(numbers, chosen.times)
    if not time_s:
        return Skipped(launch.name, _no_time(chosen, time_s), origin)
    work = _Work(numbers, chosen, time_s)
    traffic = {level: _traffic(numbers, sums, time_s) for level, sums in chosen.levels.items()}
    flops = work.flops()
    if flops is None:
        numbers.missing.append("FLOP counters (sm__sass_thread_inst_executed_op_*_pred_on.sum)")
    count = _invocations(document, launch)
    return KernelPoint(
        name=launch.name,
        time_s=time_s * count,
        flops=None if flops is None else {k: None if v is None else v * count for k, v in flops.items()},
        bytes={level: None if v is None else v * count for level, (v, _) in traffic.items()},
        origin=origin,
        launches=count,
        missing=tuple(numbers.missing),
        notes=(*(note for _, note in traffic.values() if note), *work.notes),
        flags=tuple(work.flags),
        family=chosen.family,
    )


def _invocations(document: Document, launch: Launch) -> int:
    text = launch.invocations.strip()
    if not text.isdecimal() or int(text) < 1:
        raise document.error(f"Invocations: '{text}' is not a count", launch.line)
    return int(text)


def _time(numbers: _Numbers, times: Sequence[tuple[str, str | None]]) -> float | None:
    for above, below in times:
        value, rate = numbers(above), 1.0 if below is None else numbers(below)
        if value is not None and rate:
            return value / rate
    return None


def _no_time(chosen: Plan, time_s: float | None) -> str:
    if time_s == 0:
        return "its duration is 0: shorter than the profiler resolves"
    if chosen.times:
        return f"no duration: {chosen.times[0][0].removeprefix('|')} could not be read"
    return "no duration was collected: add gpu__time_duration.sum to --metrics"


def _traffic(numbers: _Numbers, sums: Sequence[Sum], time_s: float) -> tuple[float | None, str | None]:
    """Bytes by the first formula whose values are all there, and what a person should know about it."""
    for s in sums:
        values = [numbers(metric) for metric, _ in s.terms]
        if all(v is not None for v in values):
            total = sum(weight * (v or 0.0) for v, (_, weight) in zip(values, s.terms, strict=True))
            return (total * time_s if s.per_time else total), s.note
    numbers.lack(metric for metric, _ in sums[0].terms)
    return None, None


class _Work:
    """The FLOPs of one launch; what had to be estimated or left out is noted on the way."""

    def __init__(self, numbers: _Numbers, chosen: Plan, time_s: float) -> None:
        self._numbers = numbers
        self._plan = chosen
        self._time_s = time_s
        self.flags: list[str] = []
        self.notes: list[str] = []

    def flops(self) -> dict[str, float | None] | None:
        """Work key -> FLOPs without the zeros; None if nothing that counts FLOPs was collected."""
        if not self._plan.has_flops:
            return None
        parts = self._vector() | self._combined() | self._tensor()
        return {key: value for key, value in parts.items() if value is None or value > 0}

    def _vector(self) -> dict[str, float | None]:
        parts: dict[str, float | None] = {}
        for operation in self._plan.operations:
            so_far, one = parts.get(operation.precision, 0.0), self._operation(operation)
            parts[operation.precision] = None if so_far is None or one is None else so_far + one
        for precision in parts:
            there = [o.name for o in self._plan.operations if o.precision == precision]
            absent = [o.name for o in OPERATIONS if o.precision == precision and o.name not in there]
            if absent:
                self.notes.append(f"{precision} counts {', '.join(there)} only: {', '.join(absent)} not collected")
        return parts

    def _operation(self, operation: Operation) -> float | None:
        for metric, flops_each, per_cycle in operation.sources:
            count = self._numbers(metric)
            cycles = self._cycles() if per_cycle else 1.0
            if count is not None and cycles is not None:
                return count * cycles * flops_each
        self._numbers.lack([m for m, _, _ in operation.sources if m in self._numbers.launch.cells] or [operation.sources[0][0]])
        return None

    def _cycles(self) -> float | None:
        rate = next((r for metric in CYCLE_RATES if (r := self._numbers(metric))), None)
        return None if rate is None else rate * self._time_s

    def _combined(self) -> dict[str, float | None]:
        parts: dict[str, float | None] = {}
        for precision, metrics in self._plan.combined.items():
            parts[precision] = next((v for m in metrics if (v := self._numbers(m)) is not None), None)
            if parts[precision] is None:
                self._numbers.lack(metrics[:1])
        return parts

    def _tensor(self) -> dict[str, float | None]:
        metrics = self._tensor_metrics()
        parts = {work_key(source, "tensor"): self._tensor_ops(source, metrics) for source in sorted({t.source for t in metrics})}
        counter = self._plan.tensor_instructions
        if (not parts and counter is None) or (parts and all(v is not None for v in parts.values())):
            return parts
        instructions = None if counter is None else self._numbers(counter)
        if instructions == 0:
            return {}
        if instructions is not None:
            return self._from_instructions(instructions)
        self._numbers.lack([t.name for t in metrics] or [counter or ""])
        return parts or {"tensor": None}

    def _tensor_metrics(self) -> list[TensorMetric]:
        """Without those that this GPU does not have: never readable on it, while others of their kind are."""
        readable = self._plan.readable_tensor.get(self._numbers.launch.compute_capability)
        return [t for t in self._plan.tensor if not readable or t.name in readable]

    def _from_instructions(self, instructions: float) -> dict[str, float | None]:
        each = TENSOR_INSTRUCTION_FLOPS.get(self._compute_capability())
        if each is None:
            self._numbers.missing.append(f"tensor FLOPs: {TENSOR_HINT}")
            return {"tensor": None}
        self.flags.append("flops_estimated")
        self.notes.append(f"tensor FLOPs are estimated: {each:.0f} for each tensor instruction of this architecture (HMMA.884)")
        return {work_key("fp16", "tensor"): instructions * each}

    def _compute_capability(self) -> str:
        if printed := self._numbers.launch.compute_capability.strip():
            return printed.replace(",", ".")
        major, minor = (self._numbers(f"device__attribute_compute_capability_{part}") for part in ("major", "minor"))
        return "" if major is None or minor is None else f"{major:.0f}.{minor:.0f}"

    def _tensor_ops(self, source: str, metrics: Sequence[TensorMetric]) -> float | None:
        """One source type. Names of different granularity count the same work again, so the largest holds."""
        totals: dict[tuple[bool, bool], float] = {}
        mine = [t for t in metrics if t.source == source]
        for group in sorted({t.group for t in mine}):
            names = {t.sparsity: t for t in mine if t.group == group}
            values = {sparsity: self._numbers(t.name) for sparsity, t in names.items()}
            if values.get("on"):
                self.flags.append("sparse")
            whole = values[None] if values.get(None) is not None else _total(values.get("off"), values.get("on"))
            if whole is not None:
                key = names[next(iter(names))].granularity
                totals[key] = totals.get(key, 0.0) + whole
        return max(totals.values(), default=None)


def _total(*values: float | None) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
