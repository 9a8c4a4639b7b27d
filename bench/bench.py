"""`make bench`: how close to the physical limits this machine's ceilings come, and how long a sweep takes. A report, no test.

Runs the real program: two default sweeps on all cores, one on a single core, one quick sweep. Takes about two minutes.
Run it on a quiet machine; `ert doctor` says whether it is one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ert
from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling
from ert.ceilings.point import Point
from ert.levels import FAST_TO_SLOW
from ert.provenance import provenance
from ert.units import with_prefix

PROGRAM = Path(sys.executable).with_name("ert")
# What the project asks of itself, as a share of the limit at the measured clock. Compute: every operation.
COMPUTE_TARGET = 0.98
BANDWIDTH_TARGETS = {("L1", "read"): 0.98, ("L1", "write"): 0.97, ("L1", "triad"): 0.88, ("L2", "read"): 0.94}
BRANCH_TARGET = 0.05
REPEAT_TARGETS = {"L3": 0.05, "DRAM": 0.05}
REPEAT_TARGET = 0.015
TIME_TARGETS_S = {"ert --help": 0.3, "ert sweep --config quick": 12.0, "ert sweep": 34.0}


@dataclass(frozen=True, slots=True)
class Timed:
    """A command and how long it took."""

    command: str
    time_s: float


def main() -> None:
    """Four sweeps, then the report."""
    with tempfile.TemporaryDirectory(prefix="ert-bench-") as folder:
        out = Path(folder)
        times = [Timed("ert --help", min(run("--help") for _ in range(5)))]
        first, time_s = sweep(out / "first")
        times.append(Timed("ert sweep", time_s))
        second, _ = sweep(out / "second")
        single, _ = sweep(out / "single", "--threads", "1")
        _, time_s = sweep(out / "quick", "--config", "quick")
        times.append(Timed("ert sweep --config quick", time_s))
    found = provenance(first)
    print(f"{found.device}, {found.clock}, {found.date}, {found.tool}\nMade again by: make bench")
    show("Share of the physical limit at the measured clock", shares(single, first))
    show("Mixed kernel: its left branch against update, its right branch against fma (target: within 5 %)", branches(first))
    show("Two sweeps in a row (target: within 1.5 %, L3 and DRAM 5 %)", repeats(first, second))
    show("Time", (f"{t.command:<28} {t.time_s:6.2f} s   target {TIME_TARGETS_S[t.command]:g} s" for t in times))


def run(*arguments: str) -> float:
    """Seconds one call of the program takes."""
    start_s = time.perf_counter()
    subprocess.run([PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start_s


def sweep(out: Path, *options: str) -> tuple[Ceilings, float]:
    """One sweep of the CPU with its picture, as a user runs it, and the seconds it took."""
    time_s = run("sweep", "--device", "cpu", "--out", str(out), *options)
    (path,) = out.glob("cpu/*.json")
    return ert.load(path), time_s


def show(title: str, lines: Iterator[str]) -> None:
    """One block of the report."""
    print(f"\n{title}")
    for line in lines:
        print(f"  {line}")


def by_name(ceilings: Ceilings) -> dict[str, Ceiling]:
    """``L1 read``, ``fp64 fma``: slow levels and narrow precisions last."""
    rows = sorted(ceilings.bandwidth_ceilings, key=lambda c: (FAST_TO_SLOW.index(c.level), c.op))
    named: dict[str, Ceiling] = {f"{c.level} {c.op}": c for c in rows}
    return named | {f"{c.precision} {c.op}": c for c in ceilings.compute_ceilings}


def shares(single: Ceilings, every: Ceilings) -> Iterator[str]:
    """One line a ceiling: value and share of its limit on one core and on all; ~ marks one that was flagged."""
    one, all_ = by_name(single), by_name(every)
    yield f"{'':<14} {'1 thread':>22} {'all threads':>22}   target"
    for name in all_:
        c = all_[name]
        target = BANDWIDTH_TARGETS.get((c.level, c.op)) if isinstance(c, BandwidthCeiling) else COMPUTE_TARGET
        wanted = f"   {target:.0%}" if target else ""
        yield f"{name:<14} {reach(one.get(name)):>22} {reach(c):>22}{wanted}".rstrip()


def reach(c: Ceiling | None) -> str:
    """``269.3 GFLOP/s   99.8%``."""
    if c is None:
        return "-"
    unit = "B/s" if isinstance(c, BandwidthCeiling) else "FLOP/s" if c.is_float else "OP/s"
    share = "no limit" if c.share_of_limit is None else f"{c.share_of_limit:.1%}"
    mark = "~" if c.flags else " "
    return f"{with_prefix(c.value, unit)} {share:>8}{mark}"


def branches(ceilings: Ceilings) -> Iterator[str]:
    """The lowest and the highest intensity of every level and precision against the ceilings measured directly."""
    direct = by_name(ceilings)
    for (level, precision), points in mixed_points(ceilings).items():
        left, right = points[0], points[-1]
        update, fma = direct.get(f"{level} update"), direct.get(f"{precision} fma")
        if update and fma and left.bandwidth_bytes_per_s and right.rate_flop_per_s:
            low, high = left.bandwidth_bytes_per_s / update.value - 1, right.rate_flop_per_s / fma.value - 1
            yield f"{level:<5} {precision:<5} left {low:+6.1%}{missed(low)}  right {high:+6.1%}{missed(high)}"


def missed(difference: float) -> str:
    """A mark of constant width behind a difference beyond the target."""
    return " MISSED" if abs(difference) > BRANCH_TARGET else "       "


def mixed_points(ceilings: Ceilings) -> dict[tuple[str, str], Sequence[Point]]:
    """(level, precision) -> the measured points of the mixed kernel, lowest intensity first."""
    found: dict[tuple[str, str], list[Point]] = {}
    for point in ceilings.points:
        if point.measures == "mixed" and point.level and point.ai_flop_per_byte and point.median_time_s:
            found.setdefault((point.level, point.precision), []).append(point)
    return {key: sorted(points, key=lambda p: p.ai_flop_per_byte or 0) for key, points in sorted(found.items())}


def repeats(first: Ceilings, second: Ceilings) -> Iterator[str]:
    """How far the second sweep is from the first, ceiling by ceiling."""
    again = by_name(second)
    for name, c in by_name(first).items():
        if name in again:
            change = again[name].value / c.value - 1
            target = REPEAT_TARGETS.get(c.level, REPEAT_TARGET) if isinstance(c, BandwidthCeiling) else REPEAT_TARGET
            yield f"{name:<14} {change:+6.1%}{' MISSED' if abs(change) > target else ''}"


if __name__ == "__main__":
    main()
