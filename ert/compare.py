"""Application measurements against a ceilings file: every kernel judged or skipped with a reason, other tools' ceilings beside ours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ert.ceilings import Ceilings
from ert.ceilings.kinds import Ceiling
from ert.codec import encode
from ert.findings import Finding
from ert.jsontypes import Json
from ert.judge import MISSING, Judgement, Roofs, judge, not_placeable, roofs_of, without_roof
from ert.judge_advice import advice
from ert.judge_trajectory import Step, Trajectory, trajectories
from ert.levels import DRAM_REACH
from ert.points.model import Reading, Skipped, Witness, work_name
from ert.units import capacity

SCHEMA = "ert.comparison"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Beside:
    """Another tool's number and the ceiling of ours for the same thing; None with the reason where they must not be compared."""

    witness: Witness
    ceiling: float | None
    reason: str | None

    @property
    def ratio(self) -> float | None:
        return self.witness.value / self.ceiling if self.ceiling and self.witness.value is not None else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All files of one call, in the order given."""

    ceilings: Ceilings
    roofs: Roofs
    kernels: tuple[Judgement, ...]
    skipped: tuple[Skipped, ...]
    witnesses: tuple[Beside, ...]
    trajectories: tuple[Trajectory, ...]
    findings: tuple[Finding, ...]

    @property
    def incomplete(self) -> tuple[Judgement, ...]:
        """Kernels that lack a counter, or the roof of their precision."""
        return tuple(k for k in self.kernels if MISSING in k.flags or k.bound is None)

    @property
    def is_complete(self) -> bool:
        """False if a kernel had to be skipped or could be judged in part only."""
        return not self.skipped and not self.incomplete


def compare(ceilings: Ceilings, readings: Sequence[Reading], *, with_trajectories: bool = True) -> Comparison:
    """Judge every kernel of every reading against the ceilings. Pure: reads and prints nothing."""
    roofs = roofs_of(ceilings)
    points = [(p, not_placeable(p, roofs)) for r in readings for p in r.points]
    kernels = tuple(judge(p, roofs) for p, reason in points if reason is None)
    unplaced = [Skipped(p.name, reason, p.origin, p.launches) for p, reason in points if reason is not None]
    return Comparison(
        ceilings=ceilings,
        roofs=roofs,
        kernels=kernels,
        skipped=(*(s for r in readings for s in r.skipped), *unplaced),
        witnesses=tuple(_beside(w, ceilings) for r in readings for w in r.witnesses),
        trajectories=tuple(trajectories(kernels)) if with_trajectories else (),
        findings=(*(f for r in readings for f in r.findings), *_family_finding(kernels)),
    )


def _family_finding(kernels: Sequence[Judgement]) -> list[Finding]:
    families = sorted({k.point.family for k in kernels if k.point.family})
    if len(families) < 2:
        return []
    message = (
        f"L1 and L2 traffic were collected with different metrics in different files ({', '.join(families)}): their AIs are not comparable"
    )
    return [Finding("traffic_families", message, remedy="Profile both with the same --metrics.")]


def _beside(witness: Witness, ceilings: Ceilings) -> Beside:
    reason = witness.not_comparable or ("not measured" if witness.value is None else _cached(witness, ceilings))
    ceiling = None if reason else _ceiling(witness, ceilings)
    return Beside(witness, ceiling, reason or (None if ceiling else "no such ceiling in this file"))


def _cached(witness: Witness, ceilings: Ceilings) -> str | None:
    """Why a DRAM figure is none: its working set fits the last cache, at least in part."""
    size = witness.working_set_bytes
    last_cache = max((c.capacity_bytes or 0 for c in ceilings.bandwidth_roofs.values() if c.level != "DRAM"), default=0)
    if witness.level != "DRAM" or size is None or size >= DRAM_REACH * last_cache:
        return None
    return (
        f"its working set of {capacity(size)} is below {DRAM_REACH} x the last cache ({capacity(last_cache)}), so caches serve part of it"
    )


def _ceiling(witness: Witness, ceilings: Ceilings) -> float | None:
    """Ours for the same operation, else the roof."""
    same: Sequence[Ceiling]
    if witness.kind == "bandwidth":
        same = [c for c in ceilings.bandwidth_ceilings if c.level == witness.level]
    else:
        same = [c for c in ceilings.compute_ceilings if (c.precision, c.path) == (witness.precision, witness.path)]
    by_op = {c.op: c.value for c in same}
    return by_op.get(witness.op or "", next((c.value for c in same if c.roof), None))


def missing_counts(comparison: Comparison) -> list[tuple[str, int]]:
    """(what is missing, in how many kernels), the most frequent first."""
    counters = Counter(name for k in comparison.incomplete for name in k.point.missing)
    roofs = Counter(f"a roof for {work_name(key)}" for k in comparison.incomplete for key in without_roof(k, comparison.roofs))
    return (counters + roofs).most_common()


def to_json(comparison: Comparison) -> str:
    """The text of ``to_dict``, strict JSON with one kernel a line: an indented one of 10,000 kernels takes seconds."""
    document = to_dict(comparison)
    parts = [f"{_compact(key)}: {_one_a_line(value) if isinstance(value, list) else _compact(value)}" for key, value in document.items()]
    return "{" + ",\n ".join(parts) + "}\n"


def _one_a_line(items: list[Json]) -> str:
    return "[" + ",".join(f"\n  {_compact(item)}" for item in items) + "]"


def _compact(value: Json) -> str:
    # ASCII: names may hold anything, and stdout may be unable to show it.
    return json.dumps(value, allow_nan=False)


def to_dict(comparison: Comparison) -> dict[str, Json]:
    """The document of the contract, strict JSON: what is not known is null."""
    device = comparison.ceilings.device
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "ceilings": {"device": device.get("id"), "name": device.get("name"), "created": comparison.ceilings.created},
        "kernels": [kernel_to_dict(k, comparison.roofs) for k in comparison.kernels],
        "skipped": [_skipped(s) for s in comparison.skipped],
        "witnesses": [_witness(b) for b in comparison.witnesses],
        "trajectories": [_trajectory(t) for t in comparison.trajectories],
        "warnings": encode(comparison.findings),
    }


def kernel_to_dict(k: Judgement, roofs: Roofs) -> dict[str, Json]:
    """One entry of ``kernels``."""
    p = k.point
    return {
        "name": p.name,
        "id": p.origin.id,
        "label": p.label,
        "file": p.origin.file,
        "line": p.origin.line,
        "launches": p.launches,
        "time_s": p.time_s,
        "flops": None if p.flops is None else dict(p.flops),
        "bytes": dict(p.bytes),
        "rate_flop_per_s": k.rate_flop_per_s,
        "ai": dict(k.ai),
        "bandwidth_share": dict(k.bandwidth_share),
        "bound": _bound(k),
        "attainable_flop_per_s": k.attainable_flop_per_s,
        "fraction_of_roof": k.fraction_of_roof,
        "time_floor_s": k.time_floor_s,
        "traffic": p.family,
        "flags": list(k.flags),
        "missing": list(p.missing),
        "advice": advice(k, roofs),
    }


def _bound(k: Judgement) -> dict[str, Json] | None:
    if k.bound is None:
        return None
    bound: dict[str, Json] = {"kind": k.bound.kind}
    if k.bound.kind == "bandwidth":
        bound["level"] = k.bound.level
    if k.bound.kind == "compute":
        bound["precision"] = k.bound.precision
    return bound


def _skipped(s: Skipped) -> dict[str, Json]:
    return {"name": s.name, "reason": s.reason, "launches": s.launches, "id": s.origin.id, "file": s.origin.file, "line": s.origin.line}


def _witness(b: Beside) -> dict[str, Json]:
    w = b.witness
    return {
        "what": w.what,
        "kind": w.kind,
        "level": w.level,
        "precision": w.precision,
        "path": w.path if w.kind == "compute" else None,
        "op": w.op,
        "device": w.device,
        "value": w.value,
        "interval": [w.low, w.high] if w.low is not None and w.high is not None else None,
        "ceiling": b.ceiling,
        "ratio": b.ratio,
        "spec": w.spec,
        "fraction_of_spec": w.value / w.spec if w.value is not None and w.spec else None,
        "working_set_bytes": w.working_set_bytes,
        "not_comparable": b.reason,
        "file": w.origin.file,
    }


def _trajectory(t: Trajectory) -> dict[str, Json]:
    return {"name": t.name, "kernels": list(t.kernels), "steps": [_step(s) for s in t.steps]}


def _step(s: Step) -> dict[str, Json]:
    return {
        "from": s.earlier,
        "to": s.later,
        "time_ratio": s.time_ratio,
        "per_launch": s.per_launch,
        "flops_ratio": s.flops_ratio,
        "rate_ratio": s.rate_ratio,
        "ai_ratio": dict(s.ai_ratio),
        "verdict": s.verdict,
        "flags": list(s.flags),
        "note": s.note,
    }
