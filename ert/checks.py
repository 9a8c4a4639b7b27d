"""What is wrong or doubtful about a sweep, as findings with a number and a remedy. Pure functions of its ceilings and samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling
from ert.columns import unit_of
from ert.findings import Finding
from ert.jsontypes import Json
from ert.levels import FAST_TO_SLOW
from ert.stopping import WIDE_INTERVAL
from ert.units import with_prefix

# The clock beside a sample is itself measured to about half a percent; what stays above the limit by more is impossible.
LIMIT_TOLERANCE = 0.01


def name_of(ceiling: Ceiling) -> str:
    """``L1 read`` or ``fp64 vector fma``."""
    if isinstance(ceiling, BandwidthCeiling):
        return f"{ceiling.level} {ceiling.op}"
    return f"{ceiling.precision} {ceiling.path} {ceiling.op}"


def is_above_limit(ceiling: Ceiling) -> bool:
    """True for a value no hardware of this kind can reach at the clock that was measured."""
    return ceiling.limit is not None and ceiling.value > ceiling.limit * (1 + LIMIT_TOLERANCE)


def above_limit(ceiling: Ceiling) -> Finding:
    """Why such a ceiling is not published (physics is the judge)."""
    value, limit = (with_prefix(number, unit_of(ceiling)) for number in (ceiling.value, ceiling.limit or 0))
    message = (
        f"{name_of(ceiling)} measured {value}, above the physical limit of {limit} "
        f"at the measured clock ({ceiling.limit_source}); it is not published"
    )
    return Finding("above_limit", message, ceiling.value, "ert kernels --verify, and check the limit's entry in configs/limits")


def sweep_findings(ceilings: Ceilings) -> list[Finding]:
    """Everything worth a warning in a finished sweep."""
    return [
        *_failed_points(ceilings),
        *_disturbed(ceilings.all_ceilings),
        *_throttled(ceilings),
        *_wide(ceilings.all_ceilings),
        *_order(ceilings),
        *_surroundings(ceilings),
    ]


def _failed_points(ceilings: Ceilings) -> Iterable[Finding]:
    failed = [p for p in ceilings.points if p.status == "error"]
    if failed:
        message = f"{len(failed)} points failed, the first: {failed[0].id}: {failed[0].reason}"
        yield Finding("points_failed", message, float(len(failed)), "ert kernels --verify shows whether a kernel is at fault")
    short = [(p, found) for p in ceilings.points for found in p.warnings if found.code == "cut_short"]
    if short:
        point, found = short[0]
        message = f"{len(short)} points have fewer samples than they should, the first: {point.id}: {found.message}"
        yield Finding("points_cut_short", message, float(len(short)), "measure again, or go on with --resume where a device was lost")


def _disturbed(ceilings: Sequence[Ceiling]) -> Iterable[Finding]:
    disturbed = [name_of(c) for c in ceilings if "disturbed" in c.flags]
    if disturbed:
        message = f"another program shared a core during most samples of {_list(disturbed)}: these ceilings may be too low"
        yield Finding("disturbed", message, float(len(disturbed)), "run when the machine is quiet, or longer: --config full")


def _throttled(ceilings: Ceilings) -> Iterable[Finding]:
    """Ceilings that rest on samples taken while the device slowed itself down, for want of others."""
    slowed = [c for c in ceilings.all_ceilings if "throttled" in c.flags]
    if slowed:
        count, of_all, reasons = _count_throttled(ceilings, slowed[0])
        clock = _clocks(slowed[0].clock_hz, ceilings.device.get("clock_max_hz"))
        message = f"{count} of {of_all} samples of {name_of(slowed[0])} were throttled ({', '.join(reasons)}){clock}"
        if len(slowed) > 1:
            message += f"; so were those of {_list([name_of(c) for c in slowed[1:]])}: these ceilings may be too low"
        yield Finding("throttled", message, float(len(slowed)), "see to the power limit and the cooling, or lock clocks")


def _count_throttled(ceilings: Ceilings, ceiling: Ceiling) -> tuple[int, int, list[str]]:
    """Throttled samples behind a ceiling, all of them, and the reasons the device gave."""
    marks = [words for p in ceilings.points if p.id in ceiling.point_ids for words in p.throttled or ((),) * len(p.samples_s)]
    return sum(map(bool, marks)), len(marks), sorted({word for words in marks for word in words})


def _clocks(clock_hz: float | None, highest_hz: Json) -> str:
    """``, median clock 1.29 of 1.98 GHz``; nothing where one is not known."""
    if clock_hz is None or not isinstance(highest_hz, int | float):
        return ""
    return f", median clock {with_prefix(clock_hz, 'Hz', 3)} of {with_prefix(float(highest_hz), 'Hz', 3)}"


def _wide(ceilings: Sequence[Ceiling]) -> Iterable[Finding]:
    halves = {name_of(c): (c.ci95[1] - c.ci95[0]) / 2 / c.value for c in ceilings if c.ci95 is not None}
    wide = sorted((name for name in halves if halves[name] > WIDE_INTERVAL), key=lambda name: -halves[name])
    if wide:
        worst = halves[wide[0]]
        message = f"the 95 % interval is wider than +-{WIDE_INTERVAL:.0%} for {_list(wide)}; the widest is +-{worst:.1%}"
        yield Finding("wide_interval", message, worst, "run when the machine is quiet, or longer: --config full")


def _order(ceilings: Ceilings) -> Iterable[Finding]:
    """A slower level above a faster one: one of both is not what it says. Shared memory lies beside L1, not above it."""
    reads = {c.level: c.value for c in ceilings.bandwidth_ceilings if c.op == "read" and c.level != "shared"}
    names = [name for name in FAST_TO_SLOW if name in reads]
    for fast, slow in pairwise(names):
        if reads[slow] > reads[fast]:
            message = f"{slow} reads faster than {fast}: {with_prefix(reads[slow], 'B/s')} against {with_prefix(reads[fast], 'B/s')}"
            yield Finding("levels_out_of_order", message, reads[slow] / reads[fast], "the machine was disturbed: measure again")


def _surroundings(ceilings: Ceilings) -> Iterable[Finding]:
    governor = ceilings.environment.get("governor")
    if governor not in (None, "performance"):
        message = f"the frequency governor is {governor}: the clock may not be the highest"
        yield Finding("governor", message, None, "cpupower frequency-set -g performance")
    if ceilings.environment.get("huge_pages") == "never":
        message = "transparent huge pages are off: TLB misses lower L3 and DRAM"
        yield Finding("no_huge_pages", message, None, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")


def _list(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
