"""What goes on right now: who sweeps, who burns CPU time, how fast each core is and whether something shares it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import psutil
from numpy.typing import NDArray

from ert.devices import Listed, lock_name
from ert.devices.cpu import CpuDevice
from ert.doctor.fact import Fact, Status, collect
from ert.errors import DeviceError, KernelError
from ert.jsontypes import Json
from ert.lock import lock_holder
from ert.units import with_prefix

# A person waits for these: long enough to see what works in every second, short enough not to mind.
_WATCH_S = 0.5
# Bursts with pauses between them, since others come and go within milliseconds.
_BURSTS = 10
_PROBES_PER_BURST = 40
_PAUSE_S = 0.03
# A burst of another program touches a few probes; beyond this share a sweep has to wait for quiet moments,
_SOME_DISTURBED = 0.1
# and beyond this one it rarely finds them.
_MOSTLY_DISTURBED = 0.5
# The clock is measured to about half a percent: a core below this share of the fastest is a slower one.
_SLOW_CLOCK = 0.97
# What takes less of a CPU touches few samples, and every machine runs some of it.
_BUSY_SHARE = 0.05
_SHOWN_PROCESSES = 3


@dataclass(frozen=True, slots=True)
class CoreNow:
    """One core as its probes saw it.

    clock_hz         the highest of the probes: disturbance only makes the chain look slow
    issue_width      instructions per cycle of the median probe
    disturbed_share  share of the probes below the quiet threshold
    """

    cpu: int
    clock_hz: float
    issue_width: float
    disturbed_share: float


@dataclass(frozen=True, slots=True)
class Busy:
    """A process and the CPUs' worth of time it used."""

    pid: int
    name: str
    cpus: float


def now_facts(devices: Sequence[Listed]) -> list[Fact]:
    """Half a second of watching, half a second of probing; no probing while a sweep runs, which it would disturb."""
    facts = collect([(sweep_of(device.id), partial(_lock, device.id)) for device in devices if device.reason is None])
    is_swept = any(fact.status != "ok" for fact in facts)
    facts += collect([("load", lambda: load_fact(os.getloadavg()[0])), ("busy programs", lambda: busy_fact(busiest(_WATCH_S)))])
    if is_swept:
        return [*facts, Fact("probes", "note", "none: that would disturb the sweep that runs", remedy="ask again when it is done")]
    return facts + _core_facts()


def sweep_of(device_id: str) -> str:
    """The name of the fact that says whether the device is being swept."""
    return f"sweep of {device_id}"


def _lock(device_id: str) -> Fact:
    return lock_fact(device_id, lock_holder(lock_name(device_id)))


def lock_fact(device_id: str, holder: str | None) -> Fact:
    """Whether a sweep holds the device."""
    name = sweep_of(device_id)
    if holder is None:
        return Fact(name, "ok", "none is running")
    return Fact(name, "note", f"runs already: {holder}", holder, "wait for it: two sweeps would measure each other")


def load_fact(load: float) -> Fact:
    """Average number of running programs in the last minute."""
    if load < 1:
        return Fact("load", "ok", f"{load:.2f} running programs on average in the last minute", load)
    return Fact("load", "note", f"{load:.2f} running programs on average in the last minute", load, "stop them, or sweep later")


def busiest(watch_s: float) -> list[Busy]:
    """Processes that used the CPU while we watched, this one left out, the busiest first."""
    own = os.getpid()
    before = {p.pid: _cpu_time_s(p) for p in psutil.process_iter() if p.pid != own}
    start_s = time.monotonic()
    time.sleep(watch_s)
    passed_s = time.monotonic() - start_s
    found = []
    for process in psutil.process_iter(["name"]):
        used_s = _cpu_time_s(process) - before.get(process.pid, np.inf)
        if used_s > 0:
            found.append(Busy(process.pid, process.info["name"] or "?", used_s / passed_s))
    return sorted(found, key=lambda busy: -busy.cpus)


def _cpu_time_s(process: psutil.Process) -> float:
    """0 for a process that is gone or is not ours to look at."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system


def busy_fact(processes: Sequence[Busy]) -> Fact:
    """The programs a person could stop before sweeping."""
    busy = [p for p in processes if p.cpus > _BUSY_SHARE][:_SHOWN_PROCESSES]
    if not busy:
        return Fact("busy programs", "ok", f"none above {_BUSY_SHARE:.0%} of a CPU")
    text = ", ".join(f"{p.name} (process {p.pid}) {p.cpus:.0%}" for p in busy)
    value: list[Json] = [{"pid": p.pid, "name": p.name, "cpus": p.cpus} for p in busy]
    return Fact("busy programs", "note", f"{text} of a CPU", value, "stop them while a sweep runs")


def _core_facts() -> list[Fact]:
    try:
        device = CpuDevice()
    except KernelError:
        return [Fact("probes", "note", "none: they need a C compiler that works (see Software)")]
    except DeviceError as error:
        return [Fact("probes", "problem", str(error))]
    try:
        stamps = np.concatenate([_burst(device) for _ in range(_BURSTS)])
        cores = summarize(stamps, device.cpus, device.gate.threshold)
        latencies = device.facts()["core_to_core_latency_s"]
    finally:
        device.close()
    return [clock_fact(cores), quiet_fact(cores, device.gate.reference), latency_fact(latencies)]


def _burst(device: CpuDevice) -> NDArray[np.void]:
    time.sleep(_PAUSE_S)
    return device.probe_cores(_PROBES_PER_BURST)


def summarize(stamps: NDArray[np.void], cpus: Sequence[int], threshold: float) -> list[CoreNow]:
    """Stamps (samples, threads) of dtype ``ert.devices.pool.STAMP`` -> one line a core."""
    clocks = np.maximum(stamps["clock_before_hz"], stamps["clock_after_hz"]).max(axis=0)
    widths = np.minimum(stamps["width_before"], stamps["width_after"])
    columns = zip(cpus, clocks, np.median(widths, axis=0), (widths < threshold).mean(axis=0), strict=True)
    return [CoreNow(cpu, float(clock), float(width), float(share)) for cpu, clock, width, share in columns]


def clock_fact(cores: Sequence[CoreNow]) -> Fact:
    """The core clock by a chain of dependent adds, the method every sample uses."""
    clocks = [core.clock_hz for core in cores]
    low, high = min(clocks), max(clocks)
    text = with_prefix(high, "Hz", 3) if low > high * _SLOW_CLOCK else f"{with_prefix(low, 'Hz', 3)} to {with_prefix(high, 'Hz', 3)}"
    value: list[Json] = [{"cpu": core.cpu, "clock_hz": core.clock_hz} for core in cores]
    if low > high * _SLOW_CLOCK:
        return Fact("clock", "ok", f"{text}, measured", value)
    slowest = min(cores, key=lambda core: core.clock_hz).cpu
    remedy = f"CPU {slowest} is slower: a core of another kind, or one that is busy or hot"
    return Fact("clock", "note", f"{text} by core, measured", value, remedy)


def quiet_fact(cores: Sequence[CoreNow], reference: float | None) -> Fact:
    """Whether anything shares a core: another program, or the other hyperthread, which may belong to a neighbour's guest."""
    value: list[Json] = [
        {"cpu": c.cpu, "issue_width": c.issue_width, "disturbed_share": c.disturbed_share, "reference": reference} for c in cores
    ]
    if reference is None:
        remedy = "stop what else runs on the machine, and ask again"
        return Fact("quiet cores", "problem", "no two probes agree: something runs on the cores all the time", value, remedy)
    shares = ", ".join(f"CPU {c.cpu} {c.disturbed_share:.0%}" for c in cores if c.disturbed_share > _SOME_DISTURBED)
    if not shares:
        return Fact("quiet cores", "ok", f"yes, {reference:.3g} instructions per cycle", value)
    worst = max(core.disturbed_share for core in cores)
    status: Status = "problem" if worst > _MOSTLY_DISTURBED else "note"
    remedy = "stop other programs; on a virtual machine it may be a neighbour: sweep again later, and use --config full"
    return Fact("quiet cores", status, f"disturbed part of the time: {shares}", value, remedy)


def latency_fact(latencies: Json) -> Fact:
    """One-way latency of a cache line from the first core to each other one: across chips it is several times that within one."""
    rows = [row for row in latencies or () if isinstance(row, dict)] if isinstance(latencies, list) else []
    times = [float(t) for row in rows if isinstance(t := row["latency_s"], float)]
    if not times:
        return Fact("core to core", "ok", "one core only")
    low, high = with_prefix(min(times), "s", 3), with_prefix(max(times), "s", 3)
    return Fact("core to core", "ok", low if low == high else f"{low} to {high}", latencies)
