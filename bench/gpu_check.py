"""`make gpu-check`: the first and the last word about a real GPU, in under six minutes and without a network.

Holds the kernels against their compiled code, sweeps twice, asks cuBLAS and the driver's own copy as witnesses, and prints one
table of what was expected and what was found. The ceilings files and the table go to results/: each row is printed, and on disk,
before the next is looked for, and what goes wrong costs its own step. Exit status 1 if a step failed, 3 if a row falls short.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from ert.ceilings import Ceilings, load
from ert.ceilings.kinds import Ceiling
from ert.checks import name_of
from ert.devices import Options, canonical_id, folder_of, lock_name
from ert.devices.cuda import CudaDevice, open_device
from ert.errors import ErtError, UnsupportedError
from ert.files import write_text_atomic
from ert.hostcc import cache_folder
from ert.kernels import load_kernels
from ert.lock import device_lock
from ert.nvcompile import Target, find_compiler
from ert.precisions import rate_unit
from ert.sass_check import check_variants, default_variants
from ert.units import SYMBOLS, with_prefix
from ert.workloads.cublas import Cublas

PROGRAM = Path(sys.executable).with_name("ert")
RESULTS = Path(__file__).resolve().parent.parent / "results"
# Least values on devices that others have measured (byte/s, op/s), by words in the name; elsewhere shares of the limit serve.
KNOWN = {"H200": {"DRAM read": 4.35e12, "DRAM copy": 4.3e12, "L2 read": 9.5e12, "bf16 tensor": 800e12, "fp8 tensor": 1500e12}}
SHARES = {"L1 read": 0.95, "shared read": 0.95, "fp32 vector": 0.97, "fp64 vector": 0.97, "DRAM read": 0.85}
REPEAT_TARGET, SWEEP_TARGET_S = 0.01, 90.0
# Twice what the longest sweep should take: a device that hangs must leave time for the witnesses.
SWEEP_LIMIT_S = 300.0
COPY_BYTES, COPIES, GEMM_SIZE, GEMMS = 4 << 30, 20, 8192, 10


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """``good`` None: nothing was expected of it; ``has_failed``: its step broke off here."""

    what: str
    found: str
    expected: str = ""
    good: bool | None = None
    has_failed: bool = False

    def __str__(self) -> str:
        word = "FAILED" if self.has_failed else {True: "ok", False: "SHORT", None: ""}[self.good]
        return f"{self.what:<28} {self.found:<52} {self.expected:<24} {word}".rstrip()


Rows = Generator[Row, None, None]


class Table:
    """The rows as they come, in a file that is whole at any moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: list[Row] = []
        self._start_s = time.monotonic()
        self._is_kept = True

    def add(self, row: Row) -> None:
        """Have a row on disk, then print it."""
        self._rows.append(row)
        self._keep("not finished")
        print(row, flush=True)

    def finish(self) -> int:
        """The last line; the exit status."""
        failed, short = sum(row.has_failed for row in self._rows), sum(row.good is False for row in self._rows)
        print(self._keep(f"{short} rows fall short, {failed} steps failed"), flush=True)
        print(f"wrote {self.path}", file=sys.stderr)
        if failed or not self._is_kept:
            return 1
        return 3 if short else 0

    def _keep(self, outcome: str) -> str:
        last = f"{outcome}; {time.monotonic() - self._start_s:.0f} s in all. Made again by: make gpu-check"
        try:
            write_text_atomic(self.path, "\n".join([*map(str, self._rows), last, ""]))
        except ErtError as error:
            # A full disk must not end the check: what it finds is still printed.
            self._is_kept = False
            print(f"Error: {error}", file=sys.stderr)
        return last


def main() -> int:
    """Run, print, write; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="0")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--sweeps", nargs=2, default=("full", "default"), help="the first makes the table, the second repeats it")
    chosen = parser.parse_args()
    device_id = canonical_id(chosen.device)
    try:
        lock_name(device_id)
    except ErtError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    table = Table(chosen.out / folder_of(device_id) / f"gpu-check-{stamp}.txt")
    for row in check(device_id, chosen.out, chosen.sweeps):
        table.add(row)
    return table.finish()


def check(device_id: str, out: Path, sweeps: Sequence[str]) -> Iterator[Row]:
    """Every row, in the order of the work."""
    yield from guarded("compiled code", on_device(device_id, code_rows))
    first = yield from guarded(f"{sweeps[0]} sweep", sweep_rows(device_id, sweeps[0], out))
    if first:
        yield from result_rows(first)
    second = yield from guarded(f"{sweeps[1]} sweep", sweep_rows(device_id, sweeps[1], out, SWEEP_TARGET_S))
    if first and second:
        yield from guarded("two sweeps", repeat_rows(first, second))
    elif second:
        yield from result_rows(second)
    measured = rates_of(first or second)
    yield from guarded("driver's device copy", on_device(device_id, partial(copy_rows, measured=measured)))
    for precision in ("bf16", "fp16"):
        rows = partial(gemm_rows, precision=precision, measured=measured)
        yield from guarded(f"cuBLAS {precision} GEMM", on_device(device_id, rows))


def guarded(what: str, step: Generator[Row, None, T]) -> Generator[Row, None, T | None]:
    """The rows of a step and what it returns; what goes wrong in it is a row like the others, and the next step has its turn."""
    try:
        return (yield from step)
    except Exception as error:  # whatever a driver, a library or a file may come up with: the table is worth more
        if not isinstance(error, ErtError):
            traceback.print_exc()
        yield Row(what, " ".join(f"{type(error).__name__}: {error}".split()), has_failed=True)
        return None


def result_rows(ceilings: Ceilings) -> Rows:
    """What a sweep found."""
    yield from guarded("ceilings", ceiling_rows(ceilings))
    yield from guarded("diagnostics", diagnostic_rows(ceilings))


def on_device(device_id: str, rows: Callable[[CudaDevice], Rows]) -> Rows:
    """Rows of a step that needs the device itself, in a context of its own: an error sticks to that one only."""
    with device_lock(lock_name(device_id), device_id):
        device = open_device(device_id, Options())
        try:
            yield from rows(device)
        finally:
            device.close()


def code_rows(device: CudaDevice) -> Rows:
    """The kernels' code for exactly this device."""
    target = Target(str(device.facts()["architecture"]))
    try:
        variants = default_variants(load_kernels("cuda").values(), target)
        checks = check_variants(variants, target, find_compiler(), cache_folder()[0] / "cubins")
    except ErtError as error:
        yield Row("compiled code", f"not checked: {error}")
        return
    wrong = [f"{c.variant}: {'; '.join(c.differences)}" for c in checks if c.differences]
    yield Row(f"compiled code, {target.architecture}", "; ".join(wrong) or f"{len(checks)} kernels as declared", "all", not wrong)


def sweep_rows(device_id: str, config: str, out: Path, target_s: float | None = None) -> Generator[Row, None, Ceilings]:
    """How long a sweep took; returns its ceilings. Raises ErtError if the program failed or took too long."""
    command = [str(PROGRAM), "sweep", "--device", device_id, "--config", config, "--out", str(out), "--no-plot"]
    before, start_s = files_in(out), time.monotonic()
    try:
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, timeout=SWEEP_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise ErtError(f"{' '.join(command)} was not done after {SWEEP_LIMIT_S:g} s") from error
    time_s, new = time.monotonic() - start_s, files_in(out) - before
    if done.returncode or not new:
        raise ErtError(f"{' '.join(command)} ended with status {done.returncode} and {len(new)} files")
    expected = f"<= {target_s:g} s" if target_s else ""
    yield Row(f"{config} sweep", f"{time_s:.1f} s", expected, time_s <= target_s if target_s else None)
    return load(max(new, key=lambda path: path.stat().st_mtime))


def files_in(out: Path) -> set[Path]:
    """The ceilings files of all GPUs."""
    return set(out.glob("cuda-*/*.json"))


def ceilings_of(ceilings: Ceilings) -> Iterator[tuple[str, Ceiling, str]]:
    """Name, ceiling and unit of every ceiling."""
    for b in ceilings.bandwidth_ceilings:
        yield f"{b.level} {b.op}", b, "B/s"
    for c in ceilings.compute_ceilings:
        yield f"{c.precision} {c.path}" + ("" if c.op in ("fma", "mma") else f" {c.op}"), c, rate_unit(c.precision)


def rates_of(ceilings: Ceilings | None) -> dict[str, float]:
    """Name -> what was reached in the first seconds; nothing without ceilings."""
    return {name: at_first(c) for name, c, _ in ceilings_of(ceilings)} if ceilings else {}


def at_first(ceiling: Ceiling) -> float:
    """The value of the first seconds, which is what others measure."""
    return ceiling.burst.value if ceiling.burst else ceiling.value


def ceiling_rows(ceilings: Ceilings) -> Rows:
    """Every ceiling beside what this device, or any device, should reach."""
    known = next((least for word, least in KNOWN.items() if word in str(ceilings.device["name"])), {})
    for name, c, unit in ceilings_of(ceilings):
        found = with_prefix(c.value, unit) + (f" ({c.share_of_limit:.1%} of the limit)" if c.share_of_limit else "")
        expected, good = "", None
        if name in known:
            expected, good = f">= {with_prefix(known[name], unit)}", at_first(c) >= known[name]
        elif c.share_of_limit and name in SHARES:
            expected, good = f">= {SHARES[name]:.0%} of the limit", c.share_of_limit >= SHARES[name]
        yield Row(name, found, expected, good)


def diagnostic_rows(ceilings: Ceilings) -> Rows:
    """What the sweep measured beside its ceilings: both readings of L2, latencies, rates on zeros, what is not sustained."""
    for d in ceilings.diagnostics:
        about = d.level or f"{d.precision} {d.path}"
        words = {"latency": "latency", "zero_operands": f"{d.kernel} on zeros", "by_kernel": f"{d.op}, {d.kernel}"}
        yield Row(f"{about} {words[d.what]}", with_prefix(d.value, SYMBOLS[d.unit]))
    for c in ceilings.all_ceilings:
        if c.burst:
            yield Row(f"{name_of(c)} sustained", f"{c.value / c.burst.value:.2f} of the first seconds")


def repeat_rows(first: Ceilings, second: Ceilings) -> Rows:
    """The ceiling on which two sweeps differ most."""
    before, after = rates_of(first), rates_of(second)
    changes = {name: rate / before[name] - 1 for name, rate in after.items() if name in before}
    if changes:
        name, change = max(changes.items(), key=lambda pair: abs(pair[1]))
        yield Row("two sweeps", f"largest difference {change:+.2%} ({name})", f"<= {REPEAT_TARGET:.0%}", abs(change) <= REPEAT_TARGET)


def copy_rows(device: CudaDevice, measured: Mapping[str, float]) -> Rows:
    """The driver's own copy on the same device. The copy engine is no kernel: 2 % is what two ways of copying may differ by."""
    rate, reached = copy_rate(device), measured.get("DRAM copy")
    yield Row("driver's device copy", with_prefix(rate, "B/s"), "<= DRAM copy + 2 %", rate <= 1.02 * reached if reached else None)


def gemm_rows(device: CudaDevice, precision: str, measured: Mapping[str, float]) -> Rows:
    """Others' product on the same device: a tensor ceiling must not lie below what it reaches."""
    try:
        rate = gemm_rate(device, precision)
    except UnsupportedError as error:
        yield Row(f"cuBLAS {precision} GEMM", f"not measured: {error}")
        return
    reached = measured.get(f"{precision} tensor")
    found = with_prefix(rate, rate_unit(precision))
    yield Row(f"cuBLAS {precision} GEMM {GEMM_SIZE}", found, "<= tensor ceiling", rate <= reached if reached else None)


def timed(device: CudaDevice, work: Callable[[], object], count: int) -> float:
    """Seconds of one ``work``, from events around ``count`` of them, after a first one."""
    driver = device.driver
    work()
    before, after = driver.Event(), driver.Event()
    before.record()
    for _ in range(count):
        work()
    after.record()
    after.synchronize()
    return float(after.time_since(before)) / 1e3 / count


def copy_rate(device: CudaDevice) -> float:
    """byte/s of the driver's own copy, read and write counted."""
    size = min(COPY_BYTES, device.memory.budget_bytes // 4)
    start = device.memory.arrays(2 * size, "fp32")
    return 2 * size / timed(device, lambda: device.driver.memcpy_dtod(start + size, start, size), COPIES)


def gemm_rate(device: CudaDevice, precision: str) -> float:
    """A dense product of random matrices."""
    cublas = Cublas()
    try:
        size = 2 * GEMM_SIZE**2
        start = device.memory.arrays(3 * size, precision)
        time_s = timed(device, lambda: cublas.gemm(precision, GEMM_SIZE, start, start + size, start + 2 * size), GEMMS)
        device.memory.soil()
    finally:
        cublas.close()
    return 2 * GEMM_SIZE**3 / time_s


if __name__ == "__main__":
    sys.exit(main())
