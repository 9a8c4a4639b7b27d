"""Launches of one kernel -> one point: F, D and t are summed and divided afterwards, never the ratios averaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ert.points.model import KernelPoint, Skipped


def by_name(points: Iterable[KernelPoint]) -> list[KernelPoint]:
    """One point per kernel name, in the order names first appear."""
    groups: dict[str, list[KernelPoint]] = {}
    for point in points:
        groups.setdefault(point.name, []).append(point)
    return [_summed(group) for group in groups.values()]


def skipped_by_name(skipped: Iterable[Skipped]) -> list[Skipped]:
    """One entry per name and reason; the first line stands for all."""
    groups: dict[tuple[str, str], list[Skipped]] = {}
    for one in skipped:
        groups.setdefault((one.name, one.reason), []).append(one)
    return [Skipped(name, reason, group[0].origin, sum(s.launches for s in group)) for (name, reason), group in groups.items()]


def _summed(group: Sequence[KernelPoint]) -> KernelPoint:
    first = group[0]
    if len(group) == 1:
        return first
    levels = dict.fromkeys(level for p in group for level in p.bytes)
    return KernelPoint(
        name=first.name,
        time_s=sum(p.time_s for p in group),
        flops=_flops(group),
        bytes={level: _total([p.bytes.get(level) for p in group]) for level in levels},
        origin=first.origin,
        launches=sum(p.launches for p in group),
        label=first.label,
        missing=_missing(group),
        notes=_unique(note for p in group for note in p.notes),
        flags=_unique(flag for p in group for flag in p.flags),
        family=first.family,
    )


def _flops(group: Sequence[KernelPoint]) -> Mapping[str, float | None] | None:
    parts = [p.flops for p in group if p.flops is not None]
    if len(parts) < len(group):
        return None
    # A key that one launch lacks is work it did not do; a None is work nobody knows.
    return {key: _total([part.get(key, 0.0) for part in parts]) for key in dict.fromkeys(k for part in parts for k in part)}


def _total(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if len(known) == len(values) else None


def _missing(group: Sequence[KernelPoint]) -> tuple[str, ...]:
    lacking = sum(bool(p.missing) for p in group)
    names = _unique(name for p in group for name in p.missing)
    if not names or lacking == len(group):
        return names
    return tuple(f"{name} (in {sum(name in p.missing for p in group)} of {len(group)} launches)" for name in names)


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
