"""What the machine is: its CPU, the cores and memory a sweep may use, and the settings that bend its numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from ert.config import load_config
from ert.devices import cpu_facts
from ert.devices.base import LevelFacts
from ert.doctor.fact import Fact, collect
from ert.levels import DRAM_REACH
from ert.limits import CpuIdentity, cpu_limits, why_no_cpu_limits
from ert.plan import largest_working_set
from ert.units import capacity, with_prefix

_GOOD_GOVERNORS = ("performance",)


@dataclass(frozen=True, slots=True)
class Cores:
    """Logical CPUs: ``present`` on the machine, ``allowed`` by the affinity, ``usable`` by a sweep (one hyperthread a core).

    quota  CPUs' worth of time the cgroup grants, None without a limit
    """

    present: int
    allowed: Sequence[int]
    usable: Sequence[int]
    quota: float | None


def machine_facts() -> list[Fact]:
    """Read from the operating system; nothing is run."""
    usable = cpu_facts.usable_cpus()
    cores = Cores(os.cpu_count() or len(usable), sorted(os.sched_getaffinity(0)), usable, cpu_facts.cgroup_cpu_limit())
    levels = cpu_facts.cache_levels(usable)
    return collect(
        [
            ("CPU", lambda: identity_fact(cpu_facts.cpu_identity())),
            ("cores", lambda: cores_fact(cores)),
            ("caches", lambda: caches_fact(levels, len(usable))),
            ("memory", lambda: memory_fact(levels, int(psutil.virtual_memory().available))),
            ("huge pages", lambda: huge_pages_fact(cpu_facts.huge_pages_mode())),
            ("governor", lambda: governor_fact(cpu_facts.governor(usable))),
            ("turbo", lambda: turbo_fact(cpu_facts.SYSTEM_CPU)),
            ("throttling", lambda: throttling_fact(cpu_facts.SYSTEM_CPU)),
            ("virtual machine", lambda: virtual_fact(is_virtual=cpu_facts.is_virtual())),
        ]
    )


def identity_fact(identity: CpuIdentity) -> Fact:
    """Who the CPU is, and whether its limits per cycle are known."""
    limits = cpu_limits(identity)
    numbers = f"{identity.vendor} family {identity.family:#x} model {identity.model:#x}"
    if limits:
        return Fact("CPU", "ok", f"{identity.name}: {limits.name} ({numbers}), limits per cycle known", limits.name)
    remedy = "sweeps work, but no ceiling is compared with its limit; add the CPU to configs/limits/cpu.toml"
    return Fact("CPU", "note", f"{identity.name} ({numbers}): {why_no_cpu_limits(identity)}", None, remedy)


def cores_fact(cores: Cores) -> Fact:
    """How many cores a sweep takes, and why not more."""
    why = []
    if len(cores.allowed) < cores.present:
        why.append(f"affinity allows {len(cores.allowed)} CPUs")
    if cores.quota is not None and cores.quota < len(cores.allowed):
        why.append(f"the cgroup's quota is {cores.quota:.3g} CPUs")
    text = f"{len(cores.usable)} of {cores.present} CPUs used: {', '.join(map(str, cores.usable[:16]))}"
    text += ", ..." if len(cores.usable) > 16 else ""
    if why:
        remedy = "numbers are those of these cores only; widen it with taskset, or the container's --cpus and --cpuset-cpus"
        return Fact("cores", "note", f"{text} ({', '.join(why)})", [*cores.usable], remedy)
    hyperthreads = " (one hyperthread of each core)" if len(cores.usable) < len(cores.allowed) else ""
    return Fact("cores", "ok", text + hyperthreads, [*cores.usable])


def caches_fact(levels: Sequence[LevelFacts], cores: int) -> Fact:
    """Capacities over the cores in use; a level without one is found from the curve alone."""
    caches = [level for level in levels if level.name != "DRAM"]
    text = ", ".join(f"{c.name} {capacity(c.capacity_bytes) if c.capacity_bytes else 'unknown'}" for c in caches)
    text += f" over {cores} core{'s' * (cores != 1)}"
    unknown = [c.name for c in caches if c.capacity_bytes is None]
    remedy = "the system reports no size; levels are then found from the curve alone" if unknown else None
    return Fact("caches", "note" if unknown else "ok", text, {c.name: c.capacity_bytes for c in caches}, remedy)


def memory_fact(levels: Sequence[LevelFacts], available_bytes: int) -> Fact:
    """Whether the default sweep's largest working set fits and lies far beyond the last cache."""
    largest = largest_working_set(levels, load_config("default"))
    last = max((level.capacity_bytes or 0 for level in levels[:-1]), default=0)
    text = f"{capacity(available_bytes)} available; the largest working set is {capacity(largest)}"
    if last and largest < DRAM_REACH * last:
        text += f", less than {DRAM_REACH} times the last cache ({capacity(last)}): DRAM cannot be measured"
        return Fact("memory", "problem", text, available_bytes, "free memory, or sweep fewer cores with --threads")
    return Fact("memory", "ok", text, available_bytes)


def huge_pages_fact(mode: str | None) -> Fact:
    """Small pages make page walks part of every number beyond L2."""
    if mode in ("always", "madvise"):
        return Fact("huge pages", "ok", f"transparent, {mode}", mode)
    text = "never: numbers of L3 and DRAM include page walks" if mode else "the system does not say"
    remedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled" if mode else None
    return Fact("huge pages", "note", text, mode, remedy)


def governor_fact(governor: str | None) -> Fact:
    """What may move the clock; it is measured beside every sample in any case."""
    if governor is None:
        return Fact("governor", "ok", "not shown by this system; the clock is measured beside every sample")
    if governor in _GOOD_GOVERNORS:
        return Fact("governor", "ok", governor, governor)
    return Fact("governor", "note", f"{governor}: the clock may ramp up slowly", governor, "sudo cpupower frequency-set -g performance")


def turbo_fact(system_cpu: Path) -> Fact:
    """Whether the clock may rise above the nominal one, by the files of acpi-cpufreq, amd-pstate or intel_pstate."""
    boost = cpu_facts.read_text(system_cpu / "cpufreq/boost")
    no_turbo = cpu_facts.read_text(system_cpu / "intel_pstate/no_turbo")
    highest = cpu_facts.read_text(system_cpu / "cpu0/cpufreq/cpuinfo_max_freq")
    top = f", up to {with_prefix(1e3 * int(highest), 'Hz', 3)}" if highest and highest.isdigit() else ""
    if boost is None and no_turbo is None:
        return Fact("turbo", "ok", f"not shown by this system{top}")
    is_on = boost == "1" or no_turbo == "0"
    return Fact("turbo", "ok", f"{'on: the clock depends on load and heat' if is_on else 'off'}{top}", is_on)


def throttling_fact(system_cpu: Path) -> Fact:
    """How often heat lowered the clock since the start of the system, by Intel's counters."""
    counts = [cpu_facts.read_text(file) for file in sorted(system_cpu.glob("cpu[0-9]*/thermal_throttle/*_throttle_count"))]
    known = [int(count) for count in counts if count and count.isdigit()]
    if not known:
        return Fact("throttling", "ok", "no counter on this system; the clock is measured beside every sample")
    if not max(known):
        return Fact("throttling", "ok", "never since the system started", 0)
    remedy = "look at cooling and the power limit; compare the clock below with the CPU's nominal one"
    return Fact("throttling", "note", f"heat lowered the clock {max(known)} times since the system started", max(known), remedy)


def virtual_fact(*, is_virtual: bool) -> Fact:
    """A guest cannot see its neighbours, nor where its cores are."""
    if not is_virtual:
        return Fact("virtual machine", "ok", "no sign of one", False)
    remedy = "compare runs of one placement only: see core to core below, and in every ceilings file"
    return Fact("virtual machine", "note", "yes: the host may move the cores and share them with neighbours at any time", True, remedy)
