"""Running a sweep, and the rows of what it found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from ert.ceilings import Ceilings, load
from ert.ceilings.kinds import Ceiling
from ert.checks import name_of
from ert.errors import ErtError
from ert.precisions import rate_unit
from ert.units import MEGA, SYMBOLS, with_prefix
from gpucheck.expected import REPEAT_TARGET, at_first, judge
from gpucheck.points import point_lines, tensor_rows
from gpucheck.programs import Programs
from gpucheck.table import Row, Rows, guarded

PROGRAM = Path(sys.executable).with_name("ert")


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found, and the file that holds it."""

    ceilings: Ceilings
    path: Path


@dataclass(frozen=True, slots=True)
class Asked:
    """A sweep to run; ``target_s``: how long it should take at most."""

    device_id: str
    config: str
    out: Path
    target_s: float | None = None


def sweep_rows(programs: Programs, asked: Asked, limit_s: float) -> Generator[Row, None, Swept]:
    """How long a sweep took; returns what it found. Raises ErtError if the program failed, or was interrupted after ``limit_s``."""
    out, target_s = asked.out, asked.target_s
    command = [str(PROGRAM), "sweep", "--device", asked.device_id, "--config", asked.config, "--out", str(out), "--no-plot"]
    before = _files_in(out, ".json")
    done = programs.run(command, limit_s)
    new = _files_in(out, ".json") - before
    if done.status != 0 or not new:
        raise ErtError(f"{done.how_it_ended(limit_s)}; {_what_is_left(out)}")
    path = max(new, key=lambda path: path.stat().st_mtime)
    ceilings = load(path)
    programs.note("\n".join([f"points of {path.name}:", *point_lines(ceilings)]))
    counts = Counter(point.status for point in ceilings.points)
    found = f"{done.time_s:.1f} s; points: {', '.join(f'{count} {status}' for status, count in counts.items())}"
    yield Row(f"{asked.config} sweep", found, f"<= {target_s:g} s" if target_s else "", done.time_s <= target_s if target_s else None)
    return Swept(ceilings, path)


def _what_is_left(out: Path) -> str:
    journals = sorted(_files_in(out, ".points.jsonl"), key=lambda path: path.stat().st_mtime)
    return f"its samples are kept in {journals[-1].name}" if journals else "it measured nothing"


def _files_in(out: Path, suffix: str) -> set[Path]:
    """Of all GPUs: a UUID does not say which number its folder has."""
    return set(out.glob(f"cuda-*/*{suffix}"))


def ceilings_of(ceilings: Ceilings) -> Iterator[tuple[str, Ceiling, str]]:
    """Name, ceiling and unit of every ceiling."""
    for b in ceilings.bandwidth_ceilings:
        yield f"{b.level} {b.op}", b, "B/s"
    for c in ceilings.compute_ceilings:
        yield f"{c.precision} {c.path}" + ("" if c.op in ("fma", "mma") else f" {c.op}"), c, rate_unit(c.precision)


def rates_of(ceilings: Ceilings) -> dict[str, float]:
    """Name -> what was reached in the first seconds."""
    return {name: at_first(c) for name, c, _ in ceilings_of(ceilings)}


def result_rows(ceilings: Ceilings) -> Rows:
    """What a sweep found."""
    yield from guarded("ceilings", ceiling_rows(ceilings))
    yield from guarded("tensor kernels", tensor_rows(ceilings))
    yield from guarded("diagnostics", diagnostic_rows(ceilings))
    yield from guarded("what went wrong", trouble_rows(ceilings))


def ceiling_rows(ceilings: Ceilings) -> Rows:
    """Every ceiling with the state it was measured in, beside what the device should reach."""
    for name, c, unit in ceilings_of(ceilings):
        verdict = judge(name, c, unit, ceilings.device)
        burst = f", {with_prefix(c.burst.value, unit)} at first" if c.burst else ""
        yield Row(name, f"{with_prefix(c.value, unit)}{burst}{state_of(c)}", verdict.expected, verdict.good)


def state_of(c: Ceiling) -> str:
    """Interval, share of the limit, clock, power, kernel and flags; what is not known is left out."""
    words = [
        f"+-{(c.ci95[1] - c.ci95[0]) / 2 / c.value:.2%}" if c.ci95 else "",
        f"({c.share_of_limit:.1%} of the limit)" if c.share_of_limit else "",
        f"{c.clock_hz / MEGA:.0f} MHz" if c.clock_hz else "",
        f"{c.power_w:.0f} W" if c.power_w else "",
        c.kernel,
        *c.flags,
    ]
    return "".join(f" {word}" for word in words if word)


def diagnostic_rows(ceilings: Ceilings) -> Rows:
    """What the sweep measured beside its ceilings: both readings of L2, latencies, rates on zeros, what is not sustained."""
    for d in ceilings.diagnostics:
        about = d.level or f"{d.precision} {d.path}"
        words = {"latency": "latency", "zero_operands": f"{d.kernel} on zeros", "by_kernel": f"{d.op}, {d.kernel}"}
        yield Row(f"{about} {words[d.what]}", with_prefix(d.value, SYMBOLS[d.unit]))
    for c in ceilings.all_ceilings:
        if c.burst:
            yield Row(f"{name_of(c)} sustained", f"{c.value / c.burst.value:.2f} of the first seconds")
    if ceilings.launch_overhead_s:
        yield Row("launch overhead", with_prefix(ceilings.launch_overhead_s, "s"))


def trouble_rows(ceilings: Ceilings) -> Rows:
    """The sweep's own warnings, and the reasons of points that failed."""
    for warning in ceilings.warnings:
        yield Row(f"warning {warning.code}", warning.message)
    reasons = Counter(str(point.reason) for point in ceilings.points if point.status == "error")
    for reason, count in reasons.items():
        yield Row(f"{count} points failed", " ".join(reason.split()))


def repeat_rows(what: str, first: Ceilings, second: Ceilings, *, is_judged: bool = True) -> Rows:
    """How much two sweeps differ: the largest difference, and every one that is too large."""
    before, after = rates_of(first), rates_of(second)
    changes = {name: rate / before[name] - 1 for name, rate in after.items() if name in before}
    if not changes:
        return
    order = sorted(changes, key=lambda name: -abs(changes[name]))
    above = [name for name in order if abs(changes[name]) > REPEAT_TARGET]
    found = f"largest difference {changes[order[0]]:+.2%} ({order[0]}); {len(above)} of {len(order)} above {REPEAT_TARGET:.0%}"
    yield Row(what, found, f"<= {REPEAT_TARGET:.0%}" if is_judged else "", not above if is_judged else None)
    for name in above:
        yield Row(f"{what}: {name}", f"{changes[name]:+.2%}")
