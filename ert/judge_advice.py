"""A judgement in words: the three steps of a reading. Which roof is lower, on which level, which single change would prove it."""

from __future__ import annotations

from ert import judge as j
from ert.judge import Judgement, Roofs
from ert.points.model import split_work, work_name
from ert.units import with_prefix

# At this share of a roof the roof itself is the limit, and only less work helps.
_AT_THE_ROOF = 0.9
# Below this share the roof is the lower one and still not what the time goes into.
_FAR_BELOW = 0.5
# Ratios that betray a mistake in the numbers rather than a fast kernel.
_TELLING_RATIOS = (
    (2.0, "an FMA counted twice over, or two launches counted as one"),
    (8.0, "bits taken for bytes"),
    (1000.0, "a decimal prefix or a thousands separator"),
    (1024.0, "KiB taken for kB"),
    (1e6, "two decimal prefixes"),
)
_RATIO_TOLERANCE = 0.03
# Clocks and caches explain less than this over the roof.
_NO_FAST_KERNEL = 1.5


def advice(judgement: Judgement, roofs: Roofs) -> str:
    """The three steps for one kernel, after what has to be cleared up first."""
    parts = [*_first(judgement, roofs), _steps(judgement, roofs), *_afterwards(judgement)]
    return " ".join(part for part in parts if part)


def _first(judgement: Judgement, roofs: Roofs) -> list[str]:
    parts = []
    if judgement.excess is not None:
        parts.append(_above(judgement, judgement.excess))
    if j.MISSING in judgement.flags:
        counters = "; ".join(judgement.point.missing) or "FLOPs"
        parts.append(f"Missing: {counters}. A limit that these counters would show cannot be seen.")
    if j.NO_ROOF in judgement.flags:
        lacking = j.without_roof(judgement, roofs) + [
            name for name, a in judgement.point.bytes.items() if a and name not in roofs.bandwidth
        ]
        parts.append(f"No roof in the ceilings file for {', '.join(map(work_name, lacking))}: measure it with `ert sweep`.")
    if j.INVERTED in judgement.flags:
        parts.append("A slower level moved more bytes than a faster one: check which counters were collected, and in how many passes.")
    return parts


def _above(judgement: Judgement, excess: float) -> str:
    percent = f"{100 * excess:.0f} % of the roof, beyond its interval."
    for ratio, cause in _TELLING_RATIOS:
        if abs(excess / ratio - 1) < _RATIO_TOLERANCE:
            return f"{percent} A factor of {ratio:g} is typical of an error of units, precision or counters: {cause}."
    if excess > _NO_FAST_KERNEL:
        return f"{percent} Suspect an error of units, precision or counters before a fast kernel."
    if judgement.bound is not None and judgement.bound.kind == "bandwidth":
        return f"{percent} Check: traffic served by a cache, compressible or zero data, memory clock, traffic counted at another level."
    return f"{percent} Check: clocks at the sweep and at profiling time, the precision, dual issue, the scope of the FLOP counter."


def _steps(judgement: Judgement, roofs: Roofs) -> str:
    bound = judgement.bound
    if bound is None:
        cause = "its precision has no roof here" if j.without_roof(judgement, roofs) else "its FLOPs are unknown"
        return f"Which roof binds stays open, because {cause}.{_shares(judgement)}"
    if bound.kind == "latency":
        each = with_prefix(judgement.point.time_s / judgement.point.launches, "s")
        return (
            f"1. Neither roof: at {each} per launch this is too little work. 2. The start of the kernel "
            f"(at least {with_prefix(roofs.launch_s, 's')}) outweighs compute and traffic. "
            "3. To prove it: launch the same work once with twice the size; the time must hardly grow. Then fuse or batch launches."
        )
    return _bandwidth_steps(judgement, roofs) if bound.kind == "bandwidth" else _compute_steps(judgement, roofs)


def _shares(judgement: Judgement) -> str:
    shares = ", ".join(f"{level} at {100 * share:.0f} %" for level, share in judgement.bandwidth_share.items() if share)
    return f" Bandwidth: {shares}." if shares else ""


def _bandwidth_steps(judgement: Judgement, roofs: Roofs) -> str:
    level = judgement.bound.level if judgement.bound else None
    assert level is not None  # a bandwidth bound has a level
    share, floor = judgement.bandwidth_share[level], judgement.time_floor_s or 0.0
    achieved = f"{with_prefix(share * roofs.bandwidth[level].value, 'B/s')} of {with_prefix(roofs.bandwidth[level].value, 'B/s')}"
    if j.NO_FLOPS in judgement.flags:
        lower = "1. No FLOPs: bandwidth only (integer work, if any, is not on this chart)."
    else:
        lower = f"1. Bandwidth is the lower roof at this AI{_ridge_remark(judgement)}."
    return f"{lower} 2. {level} binds: {achieved} ({100 * share:.0f} %). 3. {_bandwidth_proof(level, share, floor)}"


def _bandwidth_proof(level: str, share: float, floor_s: float) -> str:
    if share >= _AT_THE_ROOF:
        cure = f"only fewer bytes at {level} (blocking, fusion, a smaller type) make it faster"
        return f"It is at this roof: {cure}; halving them must halve the time."
    proof = f"One change to prove it: fewer or better ordered bytes at {level} (stride 8 -> 1, fusion) must lift the point along the slope"
    proof += f", towards {with_prefix(floor_s, 's')}."
    if share < _FAR_BELOW:
        proof += " This far below, a low roof does not prove that it waits for bandwidth:"
        proof += " look at coalescing, loads in flight and latency."
    return proof


def _compute_steps(judgement: Judgement, roofs: Roofs) -> str:
    key = judgement.bound.precision if judgement.bound else None
    fraction = judgement.fraction_of_roof or 0.0
    name = work_name(key) if key else "compute"
    peak = with_prefix(judgement.attainable_flop_per_s or 0.0, "FLOP/s")
    steps = f"1. Compute is the lower roof at this AI{_ridge_remark(judgement)}. 2. No memory level binds; the flat roof of {name} does"
    steps += f" ({peak}, reached to {100 * fraction:.0f} %). 3. "
    if fraction >= _AT_THE_ROOF:
        return steps + "It is at this roof: only fewer FLOPs or a faster precision or path make it faster."
    faster = _faster_roof(key, roofs)
    change = f"a faster roof ({faster})" if faster else "a lower precision"
    return steps + f"One change to prove it: a larger problem or {change} must lift the point towards the matching flat roof."


def _ridge_remark(judgement: Judgement) -> str:
    return ", though so near the ridge that the intervals leave it open" if j.NEAR_RIDGE in judgement.flags else ""


def _faster_roof(key: str | None, roofs: Roofs) -> str | None:
    """The tensor roof of the same precision, where this work ran on the vector path and the device has one."""
    if key is None:
        return None
    precision, path = split_work(key)
    return f"{precision} tensor" if path == "vector" and (precision, "tensor") in roofs.compute else None


def _afterwards(judgement: Judgement) -> list[str]:
    parts = []
    if j.MIXED in judgement.flags:
        parts.append("Several precisions: the roof takes the sum of their times, as if they did not overlap.")
    if judgement.point.family and judgement.point.family != "nersc":
        parts.append(f"L1 and L2 traffic by the {judgement.point.family}: not comparable with *__t_bytes.")
    return parts + [f"{note}." for note in judgement.point.notes]
