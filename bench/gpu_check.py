"""`make gpu-check`: the first and the last word about a real GPU, in under six minutes and without a network.

Holds the kernels against their compiled code, sweeps twice, asks cuBLAS and the driver's own copy as witnesses, and prints one
table of what was expected and what was found. The ceilings files and the table go to results/. Exit status 3 if a row falls short.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ert.ceilings import Ceilings, load
from ert.ceilings.kinds import Ceiling
from ert.checks import name_of
from ert.devices import Options, canonical_id, lock_name
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
COPY_BYTES, COPIES, GEMM_SIZE, GEMMS = 4 << 30, 20, 8192, 10


@dataclass(frozen=True, slots=True)
class Row:
    """``good`` None: nothing was expected of it."""

    what: str
    found: str
    expected: str = ""
    good: bool | None = None


def main() -> int:
    """Run, print, write; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="0")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--sweeps", nargs=2, default=("full", "default"), help="the first makes the table, the second repeats it")
    chosen = parser.parse_args()
    device_id, out = canonical_id(chosen.device), chosen.out
    start = time.monotonic()
    try:
        rows = list(check(device_id, out, chosen.sweeps))
    except ErtError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    text = table(rows, time.monotonic() - start)
    print(text)
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    path = out / device_id.replace(":", "-") / f"gpu-check-{stamp}.txt"
    write_text_atomic(path, text)
    print(f"wrote {path}", file=sys.stderr)
    return 3 if any(row.good is False for row in rows) else 0


def check(device_id: str, out: Path, sweeps: Sequence[str]) -> Iterator[Row]:
    """Every row, in the order of the work."""
    yield from on_device(device_id, code_rows)
    first, _ = sweep(device_id, sweeps[0], out)
    second, time_s = sweep(device_id, sweeps[1], out)
    yield Row(f"{sweeps[1]} sweep", f"{time_s:.1f} s", f"<= {SWEEP_TARGET_S:g} s", time_s <= SWEEP_TARGET_S)
    yield from ceiling_rows(first)
    yield from diagnostic_rows(first)
    yield from repeat_rows(first, second)
    yield from on_device(device_id, lambda device: witness_rows(device, first))


def on_device(device_id: str, rows: Callable[[CudaDevice], Iterator[Row]]) -> list[Row]:
    """Rows of a step that needs the device itself, which is free again afterwards."""
    with device_lock(lock_name(device_id), device_id):
        device = open_device(device_id, Options())
        try:
            return list(rows(device))
        finally:
            device.close()


def code_rows(device: CudaDevice) -> Iterator[Row]:
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


def sweep(device_id: str, config: str, out: Path) -> tuple[Ceilings, float]:
    """The ceilings of one sweep, and how long it took. Raises ErtError if the program failed."""
    command = [str(PROGRAM), "sweep", "--device", device_id, "--config", config, "--out", str(out), "--no-plot"]
    start = time.monotonic()
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise ErtError(f"{' '.join(command)} ended with status {done.returncode}")
    newest = max(out.glob("cuda-*/*.json"), key=lambda path: path.stat().st_mtime)
    return load(newest), time.monotonic() - start


def ceilings_of(ceilings: Ceilings) -> Iterator[tuple[str, Ceiling, str]]:
    """Name, ceiling and unit of every ceiling."""
    for b in ceilings.bandwidth_ceilings:
        yield f"{b.level} {b.op}", b, "B/s"
    for c in ceilings.compute_ceilings:
        yield f"{c.precision} {c.path}" + ("" if c.op in ("fma", "mma") else f" {c.op}"), c, rate_unit(c.precision)


def at_first(ceiling: Ceiling) -> float:
    """The value of the first seconds, which is what others measure."""
    return ceiling.burst.value if ceiling.burst else ceiling.value


def ceiling_rows(ceilings: Ceilings) -> Iterator[Row]:
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


def diagnostic_rows(ceilings: Ceilings) -> Iterator[Row]:
    """What the sweep measured beside its ceilings: both readings of L2, latencies, rates on zeros, what is not sustained."""
    for d in ceilings.diagnostics:
        about = d.level or f"{d.precision} {d.path}"
        words = {"latency": "latency", "zero_operands": f"{d.kernel} on zeros", "by_kernel": f"{d.op}, {d.kernel}"}
        yield Row(f"{about} {words[d.what]}", with_prefix(d.value, SYMBOLS[d.unit]))
    for c in ceilings.all_ceilings:
        if c.burst:
            yield Row(f"{name_of(c)} sustained", f"{c.value / c.burst.value:.2f} of the first seconds")


def repeat_rows(first: Ceilings, second: Ceilings) -> Iterator[Row]:
    """The ceiling on which two sweeps differ most."""
    before = {name: at_first(c) for name, c, _ in ceilings_of(first)}
    changes = {name: at_first(c) / before[name] - 1 for name, c, _ in ceilings_of(second) if name in before}
    if changes:
        name, change = max(changes.items(), key=lambda pair: abs(pair[1]))
        yield Row("two sweeps", f"largest difference {change:+.2%} ({name})", f"<= {REPEAT_TARGET:.0%}", abs(change) <= REPEAT_TARGET)


def witness_rows(device: CudaDevice, ceilings: Ceilings) -> Iterator[Row]:
    """Others' code on the same device: a ceiling must not lie below what they reach."""
    measured = {name: at_first(c) for name, c, _ in ceilings_of(ceilings)}
    rate = copy_rate(device)
    reached = measured.get("DRAM copy")
    # The copy engine is no kernel, and 2 % is what two ways of copying may differ by.
    yield Row("driver's device copy", with_prefix(rate, "B/s"), "<= DRAM copy + 2 %", rate <= 1.02 * reached if reached else None)
    for precision in ("bf16", "fp16"):
        try:
            rate = gemm_rate(device, precision)
        except UnsupportedError as error:
            yield Row(f"cuBLAS {precision} GEMM", f"not measured: {error}")
            continue
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


def table(rows: list[Row], time_s: float) -> str:
    """The rows, aligned."""
    words = {True: "ok", False: "SHORT", None: ""}
    lines = [f"{row.what:<28} {row.found:<52} {row.expected:<24} {words[row.good]}".rstrip() for row in rows]
    failed = sum(row.good is False for row in rows)
    return "\n".join([*lines, f"{failed} rows fall short; {time_s:.0f} s in all. Made again by: make gpu-check", ""])


if __name__ == "__main__":
    sys.exit(main())
