"""Decide what a sweep measures: the axes of a configuration crossed with what the device says of itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ert.config import SHIPPED, SweepConfig, load_config
from ert.devices.base import Device, LevelFacts, Task
from ert.errors import ConfigError
from ert.findings import Finding
from ert.kernels import DeviceKind, Kernel, kernel_names, load_kernels
from ert.precisions import PRECISIONS
from ert.suggest import nearest

# Inside a level a working set is this many times the level above, so that the level above holds next to nothing of it ...
ABOVE_FACTOR = 3
# ... and at most this share of the level itself, which other data and an imperfect replacement also use.
CAPACITY_SHARE = 0.5
# A chase through this many times the last cache finds next to nothing there.
BEYOND_CACHE = 8
# Beyond any cache, and within the 32 bits that a chase on a GPU has for an offset.
MOST_CHASED_BYTES = 2**31
# The last words of the ids of points that are measured again.
ON_ZEROS, SUSTAINED = "zeros", "sustained"


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """One point to measure. ``id`` is the same in every sweep that asks for the same thing.

    is_curve   part of the working-set curve that the levels are found on
    sustain_s  how long the same work runs without a pause before the first sample; 0 for a point like all others
    """

    id: str
    task: Task
    is_curve: bool = False
    sustain_s: float = 0.0

    @property
    def is_for_a_ceiling(self) -> bool:
        """Whether its own value may be published: that of a point on a curve is not, and a mixed one's belongs to a corner."""
        return not self.is_curve and self.task.kernel.measures in ("bandwidth", "compute")


@dataclass(frozen=True, slots=True)
class Plan:
    """The points in the order of the axes, those the device cannot run with the reason, and what the plan had to leave out."""

    points: tuple[PlannedPoint, ...]
    unsupported: tuple[tuple[PlannedPoint, str], ...]
    findings: tuple[Finding, ...]


def make_plan(device: Device, config: SweepConfig, kernels: Mapping[str, Kernel] | None = None) -> Plan:
    """Cross the configuration with the device. Raises ConfigError if nothing is left to measure, naming the count that was tried."""
    known = load_kernels(device.kind) if kernels is None else kernels
    _check_kernel_names(config, known)
    _check_kernel_values(config, known)
    levels = _swept_levels(device.levels(), config)
    _check_sizes(device, config, levels)
    chosen = [k for k in known.values() if not k.experimental or k.name in config.kernel_values]
    asked = [
        *_curve_points(device, config, chosen, levels),
        *_level_points(config, chosen, levels, device.levels()),
        *_shared_points(config, chosen),
        *_latency_points(device, config, chosen, levels),
        *_register_points(config, chosen),
    ]
    points: list[PlannedPoint] = []
    unsupported: dict[tuple[str, str], tuple[PlannedPoint, str]] = {}
    for point in asked:
        reason = device.unsupported_reason(point.task.kernel, point.task.precision)
        if reason is None:
            points.append(point)
        else:
            unsupported.setdefault((point.task.kernel.name, point.task.precision), (point, reason))
    if not points:
        raise ConfigError(
            f"sweep '{config.name}': 0 of {len(asked)} points match --precision, --level and this device. Ask for fewer restrictions."
        )
    return Plan(
        tuple(points), tuple(unsupported.values()), (*_memory_findings(device, config), *_precision_findings(device, config, chosen))
    )


def _check_kernel_names(config: SweepConfig, kernels: Mapping[str, Kernel]) -> None:
    """A name no device has a kernel of is a slip; a kernel of another device is not this plan's business."""
    known = [*kernels, *kernel_names()]
    for where, names in (("[kernels]", config.kernel_values), ("[curve] kernels", config.curve.kernels)):
        for name in names:
            if name not in known:
                raise ConfigError(
                    f"sweep '{config.name}': {where}: there is no kernel '{name}'.{nearest(name, known)} `ert kernels` lists them."
                )


def _check_kernel_values(config: SweepConfig, kernels: Mapping[str, Kernel]) -> None:
    """Only what a kernel declares can be tried: its facts are known, and its code checked, for nothing else.

    One sweep file serves every kind of device: what only the kernel of that name for another kind declares is not this plan's business.
    """
    for name, values in config.kernel_values.items():
        if name in kernels:
            declared = _declared(name, kernels[name])
            for parameter, tried in values.items():
                _check_values(f"sweep '{config.name}': [kernels.{name}]", declared, parameter, tried)


def _declared(name: str, own: Kernel) -> dict[str, set[int]]:
    """Parameter -> values that some kernel of this name declares."""
    kinds: tuple[DeviceKind, ...] = ("cpu", "cuda")
    declared: dict[str, set[int]] = {}
    for kernel in (own, *(shipped for kind in kinds if (shipped := load_kernels(kind).get(name)))):
        for parameter in kernel.parameters.values():
            declared.setdefault(parameter.name, set()).update(parameter.values)
    return declared


def _check_values(where: str, declared: Mapping[str, set[int]], parameter: str, tried: Sequence[int]) -> None:
    if parameter not in declared:
        raise ConfigError(f"{where} {parameter} is unknown.{nearest(parameter, declared)} Known: {', '.join(declared) or 'none'}.")
    if wrong := sorted(set(tried) - declared[parameter]):
        known = ", ".join(map(str, sorted(declared[parameter])))
        raise ConfigError(f"{where} {parameter} = {wrong[0]} is not declared by the kernel. Declared: {known}.")


def _check_sizes(device: Device, config: SweepConfig, swept: Sequence[LevelFacts]) -> None:
    """A curve that ends before it starts would be found out much later, as a fit without points.

    A largest working set of one's own must fit into memory; that of a shipped sweep, which nobody chose for this device, is cut.
    """
    smallest, largest = config.curve.smallest_bytes_per_core * max(1, device.threads), largest_working_set(device.levels(), config)
    memory, wanted = device.levels()[-1], config.curve.largest_bytes
    if memory in swept and wanted > (memory.capacity_bytes or wanted) and _is_size_chosen(config):
        raise ConfigError(
            f"sweep '{config.name}': [curve] largest_bytes = {wanted} is beyond the {memory.capacity_bytes} bytes that a sweep may take "
            f"here ({memory.source}). Lower it, leave it out, or free memory."
        )
    if smallest > largest:
        raise ConfigError(
            f"sweep '{config.name}': 0 working sets to measure: [curve] smallest_bytes_per_core makes {smallest} bytes on "
            f"{device.threads} cores, more than the largest working set, {largest} bytes ({device.levels()[-1].source})."
        )


def _swept_levels(levels: Sequence[LevelFacts], config: SweepConfig) -> list[LevelFacts]:
    swept = [level for level in levels if not config.levels or level.name in config.levels]
    if missing := set(config.levels) - {level.name for level in levels}:
        raise ConfigError(f"--level {sorted(missing)[0]}: this device has {', '.join(level.name for level in levels)}.")
    return swept


def combinations(kernel: Kernel, config: SweepConfig, level: str | None) -> list[dict[str, int]]:
    """Every parameter combination the sweep tries for a kernel at a level; default values where only they remain."""
    chosen = config.kernel_values.get(kernel.name, {})
    axes = []
    for name, parameter in kernel.parameters.items():
        fitting = [v for v in chosen.get(name, parameter.values) if v in parameter.values and parameter.fits(v, level)]
        axes.append(fitting or [parameter.default])
    return [dict(zip(kernel.parameters, values, strict=True)) for values in product(*axes)]


def largest_working_set(levels: Sequence[LevelFacts], config: SweepConfig) -> int:
    """Bytes of the largest working set: far beyond the last cache, within the memory a sweep may take."""
    memory, wanted = levels[-1], _wanted_working_set(levels, config)
    return wanted if memory.capacity_bytes is None else min(wanted, memory.capacity_bytes)


def _wanted_working_set(levels: Sequence[LevelFacts], config: SweepConfig) -> int:
    return max(config.curve.largest_bytes, config.curve.largest_per_cache * _last_cache_bytes(levels[:-1]))


def _last_cache_bytes(caches: Sequence[LevelFacts]) -> int:
    return max((cache.capacity_bytes or 0 for cache in caches), default=0)


def _memory_findings(device: Device, config: SweepConfig) -> Iterable[Finding]:
    """A working set that memory cuts; whether what is left reaches DRAM, the fit says."""
    memory, wanted = device.levels()[-1], _wanted_working_set(device.levels(), config)
    largest = largest_working_set(device.levels(), config)
    if largest < wanted:
        message = f"the largest working set, {wanted} bytes, is beyond the memory a sweep may take and was cut to {largest} bytes"
        yield Finding("working_set_cut", message, float(largest), f"lower [curve] largest_bytes, or free memory ({memory.source})")


def _precision_findings(device: Device, config: SweepConfig, kernels: Sequence[Kernel]) -> Iterable[Finding]:
    """A precision asked for that no kernel measures here has no row that could say so. One sweep file serves every kind: no error."""
    measured = {precision for kernel in kernels if kernel.measures == "compute" for precision in kernel.precisions}
    for precision in config.precisions:
        if precision not in measured:
            known = ", ".join(name for name in PRECISIONS if name in measured)
            message = f"--precision {precision}: no kernel for {device.kind} devices measures it, so this sweep has no ceiling of it"
            yield Finding("precision_absent", message, None, f"choose from {known}")


def curve_sizes(smallest: int, largest: int, per_octave: int) -> list[int]:
    """Working sets from smallest to largest, ``per_octave`` to each doubling, both ends included."""
    steps = max(1, round(math.log2(largest / smallest) * per_octave))
    return [round(smallest * (largest / smallest) ** (i / steps)) for i in range(steps + 1)]


def _curve_points(device: Device, config: SweepConfig, kernels: Sequence[Kernel], levels: Sequence[LevelFacts]) -> Iterable[PlannedPoint]:
    """The whole curve if all levels are swept; with --level, what spans the chosen ones and their neighbours."""
    cores = max(1, device.threads)
    sizes = curve_sizes(
        config.curve.smallest_bytes_per_core * cores, largest_working_set(device.levels(), config), config.curve.points_per_octave
    )
    low, high = _curve_span(device.levels(), levels)
    is_start_chosen = _is_start_chosen(config)
    for kernel in kernels:
        if kernel.name in config.curve.kernels and kernel.measures == "bandwidth":
            for size, parameters in product(sizes, combinations(kernel, config, None)):
                task = Task(kernel, kernel.precisions[0], None, size, parameters)
                if low <= size <= high and (is_start_chosen or size >= device.least_bytes(task)):
                    yield _point(task, is_curve=True)


def _is_start_chosen(config: SweepConfig) -> bool:
    """Whether a person chose where the curve begins: what they ask for gets its row, also where a kernel cannot be that small."""
    return config.curve.smallest_bytes_per_core != load_config("default").curve.smallest_bytes_per_core


def _is_size_chosen(config: SweepConfig) -> bool:
    """Whether a person chose how large working sets may be."""
    return config.curve.largest_bytes not in {load_config(name).curve.largest_bytes for name in SHIPPED}


def _curve_span(every: Sequence[LevelFacts], swept: Sequence[LevelFacts]) -> tuple[float, float]:
    """Sizes from a quarter of the cache above the fastest level asked for to four times the slowest one; everything for DRAM."""
    names = [level.name for level in every]
    first, last = names.index(swept[0].name), names.index(swept[-1].name)
    above = every[first - 1].capacity_bytes if first else None
    below = None if last == len(every) - 1 else every[last].capacity_bytes
    return (above / 4 if above else 0.0), (4.0 * below if below else math.inf)


def level_sizes(
    level: LevelFacts, every: Sequence[LevelFacts], config: SweepConfig, largest: int, held_by: Sequence[str] | None = None
) -> list[int]:
    """Working sets that lie inside a level by what the device says of its size; empty if it says nothing.

    held_by  levels that hold data of the kernel; one it goes past matters no more to it (None: all)
    """
    index = [each.name for each in every].index(level.name)
    is_held = index > 0 and (held_by is None or every[index - 1].name in held_by)
    above = every[index - 1].capacity_bytes if is_held else None
    if level.name == every[-1].name:
        return [largest]
    if level.capacity_bytes is None:
        return []
    high = level.capacity_bytes * CAPACITY_SHARE
    low = above * ABOVE_FACTOR if above else high / 4
    if low >= high:
        # A level hardly bigger than the one above: the middle between both sizes is as good as it gets.
        return [round(math.sqrt((above or low) * level.capacity_bytes))]
    return sorted({round(low * (high / low) ** position) for position in config.level_positions})


def _level_points(
    config: SweepConfig, kernels: Sequence[Kernel], levels: Sequence[LevelFacts], every: Sequence[LevelFacts]
) -> Iterable[PlannedPoint]:
    largest = largest_working_set(every, config)
    for kernel, level in product(kernels, levels):
        if level.name not in kernel.levels or kernel.measures not in ("bandwidth", "mixed"):
            continue
        sizes = level_sizes(level, every, config, largest, kernel.levels)
        # The rounded corner is a property of the level: one working set per level shows it.
        for size in sizes[:1] if kernel.measures == "mixed" else sizes:
            for precision in _precisions_of(kernel, config):
                for parameters in combinations(kernel, config, level.name):
                    yield _point(Task(kernel, precision, level.name, size, parameters))


def latency_size(level: LevelFacts, every: Sequence[LevelFacts], cores: int, largest: int) -> int | None:
    """The bytes that one thread chases through for the latency of a level; None if nobody says how large the level is.

    The fastest level is counted over all cores, of which the thread has one.
    """
    index = [each.name for each in every].index(level.name)
    above = every[index - 1].capacity_bytes if index else None
    if index == len(every) - 1:
        return min(largest, MOST_CHASED_BYTES, BEYOND_CACHE * above if above else largest)
    if level.capacity_bytes is None:
        return None
    if index == 0:
        return round(level.capacity_bytes / cores * CAPACITY_SHARE)
    low, high = (above or 0) / (cores if index == 1 else 1) * ABOVE_FACTOR, level.capacity_bytes * CAPACITY_SHARE
    return round(math.sqrt(low * high)) if 0 < low < high else round(high)


def _latency_points(device: Device, config: SweepConfig, kernels: Sequence[Kernel], levels: Sequence[LevelFacts]) -> Iterable[PlannedPoint]:
    every = device.levels()
    largest = largest_working_set(every, config)
    for kernel, level in product(kernels, levels):
        size = latency_size(level, every, max(1, device.threads), largest)
        if kernel.measures == "latency" and level.name in kernel.levels and size:
            yield _point(Task(kernel, kernel.precisions[0], level.name, size, kernel.defaults()))


def _shared_points(config: SweepConfig, kernels: Sequence[Kernel]) -> Iterable[PlannedPoint]:
    """Shared memory is as large as the kernel's blocks take: no working set is asked for, and no curve shows it."""
    for kernel in kernels:
        if kernel.levels == ("shared",) and (not config.levels or "shared" in config.levels):
            for parameters in combinations(kernel, config, "shared"):
                yield _point(Task(kernel, kernel.precisions[0], "shared", None, parameters))


def _register_points(config: SweepConfig, kernels: Sequence[Kernel]) -> Iterable[PlannedPoint]:
    for kernel in kernels:
        if kernel.measures == "compute":
            for precision in _precisions_of(kernel, config):
                for parameters in combinations(kernel, config, None):
                    yield _point(Task(kernel, precision, None, None, parameters))


def _precisions_of(kernel: Kernel, config: SweepConfig) -> list[str]:
    """Bandwidth does not depend on the precision asked for; everything else does."""
    if kernel.measures == "bandwidth":
        return list(kernel.precisions[:1])
    wanted = config.precisions or kernel.precisions
    if kernel.measures == "mixed" and not config.precisions:
        wanted = config.mixed_precisions
    return [p for p in kernel.precisions if p in wanted]


def _point(task: Task, *, is_curve: bool = False) -> PlannedPoint:
    parts = [task.kernel.name, task.precision, task.level or ("curve" if is_curve else "registers")]
    if task.working_set_bytes is not None:
        parts.append(str(task.working_set_bytes))
    parts += [f"{name.removeprefix('ERT_').lower()}={value}" for name, value in task.parameters.items()]
    return PlannedPoint("/".join(parts), task, is_curve)


def on_zeros(point: PlannedPoint) -> PlannedPoint:
    """The same point with operands that are all zero."""
    return replace(point, id=f"{point.id}/{ON_ZEROS}", task=replace(point.task, operands="zeros"))


def sustained(point: PlannedPoint, sustain_s: float) -> PlannedPoint:
    """The same point behind so many seconds of its own work."""
    return replace(point, id=f"{point.id}/{SUSTAINED}", sustain_s=sustain_s)
