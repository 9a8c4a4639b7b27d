"""Steps that need the device itself, each in a process of its own: one that hangs or crashes costs its own rows."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ert.ceilings import load
from ert.devices import Options, lock_name
from ert.devices.cuda import CudaDevice, open_device
from ert.errors import ErtError, KernelError
from ert.hostcc import cache_folder
from ert.jsontypes import Json
from ert.kernels import load_kernels
from ert.lock import device_lock
from ert.nvcompile import Target, find_compiler
from ert.sass import find_nvdisasm
from ert.sass_check import VariantCheck, check_variants, default_variants
from ert.units import capacity
from gpucheck.programs import Programs
from gpucheck.sweeps import rates_of
from gpucheck.table import Row, Rows, guarded, in_one_line
from gpucheck.witnesses import GEMM_PRECISIONS, copy_rows, gemm_rows

SCRIPT = Path(__file__).resolve().parent.parent / "gpu_check.py"
# The rows, from the device and what a sweep has reached on it.
Step = Callable[[CudaDevice, Mapping[str, float]], Rows]


def machine_rows(device: CudaDevice, _: Mapping[str, float]) -> Rows:
    """What the device says of itself, and what about it may disturb."""
    facts, around = device.facts(), device.environment()
    size = capacity(float(str(facts["memory_bytes"])))
    yield Row("device", f"{facts['name']}, {facts['sms']} SMs, {size}, {facts['uuid']}, PCI {facts['pci_bus_id']}")
    yield Row(
        "driver, compiler", f"{around['driver']}, CUDA API {around['cuda_driver_api']}; {around['compiler']}, {facts['architecture']}"
    )
    asked = ("clock_max_hz", "memory_clock_max_hz", "power_limit_w", "ecc", "is_mig", "persistence", "compute_mode")
    yield Row("state", ", ".join(f"{name} {told(facts[name])}" for name in asked))
    yield Row("NVML", f"{around['nvml']}; other processes on the device: {told(around['other_processes'])}")
    for finding in device.findings():
        yield Row(f"warning {finding.code}", finding.message)


def told(value: Json) -> Json:
    """A fact, or the word for one that nobody tells."""
    return "unknown" if value is None else value


def code_rows(device: CudaDevice, _: Mapping[str, float]) -> Rows:
    """The kernels' code for exactly this device. Where it cannot be looked at the sweeps still hold every result against NumPy."""
    target = Target(str(device.facts()["architecture"]))
    try:
        checks = code_checks(target, device.gpu.driver_api)
    except KernelError as error:
        yield Row("compiled code", f"not checked: {in_one_line(error)}")
        return
    wrong = [f"{c.variant}: {'; '.join(c.differences)}" for c in checks if c.differences]
    found = f"{len(checks) - len(wrong)} of {len(checks)} kernels as declared"
    yield Row(f"compiled code, {target.architecture}", "; ".join([found, *wrong]), "all", not wrong)


def code_checks(target: Target, driver_api: int | None = None) -> list[VariantCheck]:
    """One by one, side by side: a compiler takes a second. Raises KernelError if machine code cannot be looked at here."""
    compiler = find_compiler(driver_api=driver_api)
    find_nvdisasm()
    if target.is_ptx:
        raise KernelError(f"{compiler.version} makes no machine code for this device, only {target.architecture}")
    variants = default_variants(load_kernels("cuda").values(), target)
    check = partial(check_variants, target=target, compiler=compiler, cache_folder=cache_folder()[0] / "cubins")
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as workers:
        return [found for checked in workers.map(lambda variant: check([variant]), variants) for found in checked]


# name -> (what its rows are about, the rows)
STEPS: dict[str, tuple[str, Step]] = {
    "machine": ("device", machine_rows),
    "code": ("compiled code", code_rows),
    "copy": ("driver's device copy", copy_rows),
    **{
        f"gemm-{precision}": (f"cuBLAS {precision} GEMM", lambda device, measured, p=precision: gemm_rows(device, p, measured))
        for precision in GEMM_PRECISIONS
    },
}


def run_here(name: str, device_id: str, ceilings: Path | None) -> int:
    """The rows of one step as lines of JSON; what goes wrong is one of them."""
    what, rows = STEPS[name]
    for row in guarded(what, _on_device(device_id, lambda device: rows(device, rates_of(load(ceilings)) if ceilings else {}))):
        print(json.dumps(asdict(row)), flush=True)
    return 0


def _on_device(device_id: str, rows: Callable[[CudaDevice], Rows]) -> Rows:
    with device_lock(lock_name(device_id), device_id):
        start_s = time.monotonic()
        device = open_device(device_id, Options())
        print(f"{device_id} opened in {time.monotonic() - start_s:.1f} s", file=sys.stderr)
        try:
            yield from rows(device)
        finally:
            device.close()


def run_apart(programs: Programs, name: str, device_id: str, ceilings: Path | None, limit_s: float) -> Rows:
    """The rows of one step, made by another process. Raises ErtError if that ended without saying why."""
    words = ["--step", name, "--device", device_id, *(["--ceilings", str(ceilings)] if ceilings else [])]
    done = programs.run([sys.executable, str(SCRIPT), *words], limit_s)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            yield Row(**json.loads(line))
    if done.status != 0:
        raise ErtError(done.how_it_ended(limit_s))
