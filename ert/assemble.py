"""From the points of a sweep to its ceilings: which samples count, which candidate is the ceiling, what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

import numpy as np

from ert.candidates import Candidate, absent_point, to_candidate, to_point
from ert.ceilings import Ceilings
from ert.ceilings.kinds import ROOF_OP, BandwidthCeiling, ComputeCeiling, ComputePath, Corner, Roof, SomeCeiling
from ert.ceilings.model import Tool
from ert.checks import above_limit, is_above_limit, sweep_findings
from ert.config import SweepConfig
from ert.corners import RoofKey, fit_corners
from ert.devices.base import CeilingKey, Device
from ert.diagnose import by_kernel, latencies, on_zeros
from ert.findings import Finding
from ert.fit.compute import fit_ceiling
from ert.fit.levels import CapacityFact, Curve, Level, LevelFit, fit_levels
from ert.jsontypes import Json
from ert.levels import FAST_TO_SLOW
from ert.limits import Limit
from ert.plan import Plan
from ert.reported import add_reported
from ert.roofline import ridge
from ert.settle import settle
from ert.sweep import PointState

# A curve needs this many sizes before a level can be read off it.
_MIN_CURVE_POINTS = 4


@dataclass(frozen=True, slots=True)
class Run:
    """What belongs to the file beside the points; ``resumed``: UTC times at which an interrupted run went on."""

    created: str
    argv: tuple[str, ...]
    tool: Tool
    environment: Mapping[str, Json]
    resumed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def assemble(device: Device, config: SweepConfig, plan: Plan, states: Sequence[PointState], run: Run) -> Ceilings:
    """The ceilings of a finished sweep."""
    # Every sample was checked when it was taken: a device lost later on takes none of them back.
    measured = [to_candidate(device, state) for state in states if state.samples]
    candidates = [c for c in measured if not c.point.is_follow_up]
    shown = {s.planned.task.kernel.name: s.planned.task.kernel.levels for s in states if s.planned.is_curve}
    fit = _fit_curves(device, candidates, shown)
    fit = add_reported(device, fit, candidates, {name for names in shown.values() for name in names})
    bandwidth, refused_bandwidth = _publish(_bandwidth_ceilings(device, fit, candidates))
    compute, refused_compute = _publish(_compute_ceilings(device, candidates))
    # The mixed sweep is as short as the direct one: its corners belong to what was there before anything had to be sustained.
    corners, corner_findings = _corners(bandwidth, compute, candidates)
    sustained = [c for c in measured if c.point.sustain_s]
    bandwidth = list(_mark_roofs(settle(device, bandwidth, sustained)))
    compute = list(_mark_roofs(settle(device, compute, sustained)))
    ceilings = Ceilings(
        created=run.created,
        tool=run.tool,
        argv=run.argv,
        device=device.facts(),
        environment={**run.environment, **device.environment(), "resumed": list(run.resumed)},
        config=config.to_json(),
        bandwidth_ceilings=tuple(bandwidth),
        compute_ceilings=tuple(compute),
        roofs=_roofs(bandwidth, compute, corners),
        launch_overhead_s=device.launch_overhead_s(),
        diagnostics=(*latencies(measured), *on_zeros(measured), *by_kernel(candidates, bandwidth)),
        points=(*(to_point(device, state) for state in states), *(absent_point(p, why) for p, why in plan.unsupported)),
        warnings=(*run.findings, *plan.findings, *device.findings(), *fit.warnings, *refused_bandwidth, *refused_compute, *corner_findings),
    )
    return replace(ceilings, warnings=(*ceilings.warnings, *sweep_findings(ceilings)))


def _fit_curves(device: Device, candidates: Sequence[Candidate], shown: Mapping[str, Sequence[str]]) -> LevelFit:
    """Levels of every kernel that walked the curve; of a level that several show, the one on the longest plateau.

    shown  kernel -> the levels it can show

    A kernel that loads past L1 shows L2 where one that uses L1 does not: the L1 of all SMs of a GPU together is nearly as large as L2.
    """
    walked = list(dict.fromkeys(c.point.kernel for c in candidates if c.is_curve))
    fits = [_fit_curve(device, [c for c in candidates if c.point.kernel == name], shown[name]) for name in walked]
    if len(fits) <= 1:
        return fits[0] if fits else _fit_curve(device, [], ())
    longest: dict[str, Level] = {}
    for level in (level for fit in fits for level in fit.levels):
        if level.name and (level.name not in longest or _octaves(level) > _octaves(longest[level.name])):
            longest[level.name] = level
    levels = tuple(longest[name] for name in FAST_TO_SLOW if name in longest)
    return LevelFit(levels, tuple(warning for fit in fits for warning in fit.warnings))


def _octaves(level: Level) -> float:
    low, high = level.working_set_bytes
    return float(np.log2(high / low))


def _fit_curve(device: Device, candidates: Iterable[Candidate], names: Sequence[str]) -> LevelFit:
    """Levels of one kernel's curve, of those it can show; at each size the fastest variant stands for what the level can deliver."""
    best: dict[int, Candidate] = {}
    for candidate in candidates:
        size = candidate.point.working_set_bytes
        if candidate.is_curve and size:
            best[size] = _best([candidate, best[size]]) if size in best else candidate
    if len(best) < _MIN_CURVE_POINTS:
        return LevelFit(
            (), (Finding("no_curve", f"{len(best)} working sets are too few to find levels on", float(len(best)), "sweep more levels"),)
        )
    sizes = np.concatenate([np.full(c.times_s.size, float(size)) for size, c in best.items()])
    rates = np.concatenate([c.rates for c in best.values()])
    facts = [
        CapacityFact(level.name, level.capacity_bytes if level.name != "DRAM" else None) for level in device.levels() if level.name in names
    ]
    # Points are visited in rounds, so the number of a sample among its point's is its time, as far as it matters.
    order = np.concatenate([np.arange(c.times_s.size, dtype=np.float64) for c in best.values()])
    return fit_levels(Curve(sizes, rates, order=order), facts)


def _publish(found: Sequence[SomeCeiling]) -> tuple[list[SomeCeiling], list[Finding]]:
    """Ceilings that physics allows, with the roof of each group marked, and a finding for each that is refused."""
    allowed = [c for c in found if not is_above_limit(c)]
    refused = [above_limit(c) for c in found if is_above_limit(c)]
    return list(_mark_roofs(allowed)), refused


def _mark_roofs(ceilings: Sequence[SomeCeiling]) -> Iterator[SomeCeiling]:
    """Of a level the highest operation; of a precision and path the operation that defines it."""
    highest: dict[str, float] = {}
    for c in ceilings:
        if isinstance(c, BandwidthCeiling):
            highest[c.level] = max(c.value, highest.get(c.level, 0.0))
    for c in ceilings:
        is_roof = c.value == highest[c.level] if isinstance(c, BandwidthCeiling) else c.op == ROOF_OP[c.path]
        yield replace(c, roof=is_roof)


def _bandwidth_ceilings(device: Device, fit: LevelFit, candidates: Sequence[Candidate]) -> list[BandwidthCeiling]:
    """One per (level, op): the best of its variants and working sets. Only levels that stand on the curve."""
    levels = {level.name: level for level in fit.levels if level.name}
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for c in candidates:
        if c.point.measures == "bandwidth" and c.point.level == "shared":
            # Shared memory is addressed by itself and on no curve: what was measured there is that level and nothing else.
            size = float(c.point.working_set_bytes or 0)
            levels.setdefault("shared", Level("shared", c.median, (c.median, c.median), (size, size), 1))
        if c.point.measures == "bandwidth" and c.point.level in levels:
            groups.setdefault((c.point.level, c.point.op), []).append(c)
    order = sorted(groups, key=lambda key: FAST_TO_SLOW.index(key[0]))
    return [_bandwidth_ceiling(device, levels[level], op, groups[level, op]) for level, op in order]


def _best(group: Sequence[Candidate]) -> Candidate:
    """The fastest candidate. A disturbance only ever makes one too slow, so a disturbed one that is faster still is nearer the truth."""
    return max(group, key=lambda c: c.median)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a group of candidates says of its ceiling; the fields that bandwidth and compute ceilings share."""

    value: float
    ci95: tuple[float, float] | None
    kernel: str
    point_ids: tuple[str, ...]
    flags: tuple[str, ...]
    limit: float | None
    limit_source: str
    clock_hz: float | None
    power_w: float | None
    threads: int


def _find(device: Device, key: CeilingKey, group: Sequence[Candidate]) -> _Found:
    """The ceiling of a group; among undisturbed candidates without the bias of picking the highest of many medians."""
    best = _best(group)
    rivals = [best] if best.is_disturbed else [c for c in group if not c.is_disturbed]
    found = fit_ceiling({c.point.id: c.rates for c in rivals})
    limit = device.limit(key, best.clock_hz)
    return _Found(
        value=found.value_per_s,
        ci95=found.ci95,
        kernel=best.point.kernel,
        point_ids=tuple(c.point.id for c in group),
        flags=best.flags,
        limit=limit.value if isinstance(limit, Limit) else None,
        limit_source=limit.source if isinstance(limit, Limit) else limit.reason,
        clock_hz=best.clock_hz,
        power_w=best.power_w,
        threads=device.threads,
    )


def _bandwidth_ceiling(device: Device, level: Level, op: str, group: Sequence[Candidate]) -> BandwidthCeiling:
    found = asdict(_find(device, CeilingKey(op, level=level.name), group))
    sizes = [c.point.working_set_bytes for c in group if c.point.working_set_bytes]
    low, high = level.working_set_bytes if op == "read" else (min(sizes), max(sizes))
    return BandwidthCeiling(
        level=level.name or "",
        op=op,
        roof=False,
        working_set_bytes=(round(low), round(high)),
        capacity_bytes=round(level.capacity_bytes) if level.capacity_bytes else None,
        **{**found, "flags": (*level.flags, *found["flags"])},
    )


def _compute_ceilings(device: Device, candidates: Sequence[Candidate]) -> list[ComputeCeiling]:
    """One per (precision, path, op): the best of its chain counts."""
    groups: dict[tuple[str, str, str], list[Candidate]] = {}
    for c in candidates:
        if c.point.measures == "compute":
            groups.setdefault((c.point.precision, c.point.path, c.point.op), []).append(c)
    return [_compute_ceiling(device, key, group) for key, group in groups.items()]


def _compute_ceiling(device: Device, key: tuple[str, str, str], group: Sequence[Candidate]) -> ComputeCeiling:
    precision, path, op = key
    found = _find(device, CeilingKey(op, precision=precision, path=path), group)
    return ComputeCeiling(precision=precision, path=cast(ComputePath, path), op=op, roof=False, **asdict(found))


def _corners(
    bandwidth: Sequence[BandwidthCeiling], compute: Sequence[ComputeCeiling], candidates: Sequence[Candidate]
) -> tuple[dict[RoofKey, Corner], list[Finding]]:
    """Where a mixed sweep shows the corner of a roof."""
    peaks = [c for c in compute if c.roof]
    mixed = [(c.point, c.times_s) for c in candidates if c.point.measures == "mixed" and not c.is_disturbed]
    return fit_corners(mixed, bandwidth, peaks)


def _roofs(bandwidth: Sequence[BandwidthCeiling], compute: Sequence[ComputeCeiling], corners: Mapping[RoofKey, Corner]) -> tuple[Roof, ...]:
    """Every level under every compute roof, with the corner that was found."""
    return tuple(
        Roof(b.level, c.precision, c.path, ridge(b.value, c.value), corners.get((b.level, c.precision, c.path)))
        for b in bandwidth
        if b.roof
        for c in compute
        if c.roof
    )
