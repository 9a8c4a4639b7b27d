"""What the operating system says about the host CPU: who it is, which cores we may use, its caches, its governor."""

from __future__ import annotations

import os
import platform
import re
import resource
import uuid
from collections.abc import Sequence
from pathlib import Path

import psutil

from ert.devices.base import LevelFacts
from ert.errors import ConfigError
from ert.limits import CpuIdentity

_CPUINFO = Path("/proc/cpuinfo")
SYSTEM_CPU = Path("/sys/devices/system/cpu")
_CGROUP = Path("/sys/fs/cgroup")
# A sweep may take this share of the memory that is free: enough for DRAM, and the machine stays usable.
MEMORY_SHARE = 0.5


def read_text(path: Path) -> str | None:
    """The stripped text of a small system file, None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def cpu_identity(text: str | None = None) -> CpuIdentity:
    """Vendor, family, model from /proc/cpuinfo (or the text given)."""
    fields: dict[str, str] = {}
    for line in (text if text is not None else read_text(_CPUINFO) or "").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    if "CPU implementer" in fields:
        family = fields.get("CPU architecture", "8")
        return CpuIdentity(
            vendor=fields["CPU implementer"],
            family=int(family) if family.isdigit() else 8,
            model=int(fields.get("CPU part", "0"), 0),
            stepping=int(fields.get("CPU revision", "0")),
            name=fields.get("model name", ""),
        )
    number = {key: int(fields[key]) if fields.get(key, "").isdigit() else 0 for key in ("cpu family", "model", "stepping")}
    return CpuIdentity(
        fields.get("vendor_id", "unknown"),
        number["cpu family"],
        number["model"],
        number["stepping"],
        fields.get("model name", platform.machine()),
    )


def usable_cpus() -> list[int]:
    """CPUs this process may run on, one hyperthread of each core first; as many as the cgroup's quota pays for."""
    allowed = sorted(os.sched_getaffinity(0))
    first = [cpu for cpu in allowed if min(siblings(cpu) & set(allowed), default=cpu) == cpu]
    quota = cgroup_cpu_limit()
    return first if quota is None else first[: max(1, int(quota))]


def chosen_cpus(threads: int | None) -> list[int]:
    """The first ``threads`` usable CPUs, or all. Raises ConfigError for more than there are, or none."""
    usable = usable_cpus()
    if threads is not None and not 1 <= threads <= len(usable):
        named = "CPU " + ", ".join(map(str, usable)) if len(usable) <= 8 else f"CPUs {usable[0]} to {usable[-1]}"
        raise ConfigError(f"--threads {threads}: this process may use 1 to {len(usable)} cores ({named}).")
    return usable[:threads]


def siblings(cpu: int) -> set[int]:
    """Hyperthreads of the same core, itself included."""
    text = read_text(SYSTEM_CPU / f"cpu{cpu}/topology/thread_siblings_list")
    return parse_cpu_list(text) if text else {cpu}


def parse_cpu_list(text: str) -> set[int]:
    """``"0-2,8"`` -> {0, 1, 2, 8}."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        cpus.update(range(int(low), int(high or low) + 1))
    return cpus


def cgroup_cpu_limit() -> float | None:
    """CPUs' worth of time the cgroup allows (v2 or v1), None without a limit."""
    found: list[float] = []
    for folder in _cgroup_folders():
        words = (read_text(folder / "cpu.max") or "max").split()
        if words[0] != "max":
            found.append(int(words[0]) / int(words[1]))
    quota, period = read_text(_CGROUP / "cpu/cpu.cfs_quota_us"), read_text(_CGROUP / "cpu/cpu.cfs_period_us")
    if quota and period and int(quota) > 0:
        found.append(int(quota) / int(period))
    return min(found, default=None)


def memory_budget_bytes() -> int:
    """Bytes a sweep may touch: half of what is available, cgroup limits and `ulimit -v` included."""
    available = int(psutil.virtual_memory().available)
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        available = min(available, address_space - int(psutil.Process().memory_info().vms))
    for folder in _cgroup_folders():
        limit, used = read_text(folder / "memory.max"), read_text(folder / "memory.current")
        if limit and limit != "max" and used:
            available = min(available, int(limit) - int(used))
    limit, used = read_text(_CGROUP / "memory/memory.limit_in_bytes"), read_text(_CGROUP / "memory/memory.usage_in_bytes")
    if limit and used:
        available = min(available, int(limit) - int(used))
    return max(0, int(available * MEMORY_SHARE))


def _cgroup_folders() -> list[Path]:
    """This process's cgroup v2 folder and its parents, limits of all of which hold."""
    own = next((line[3:] for line in (read_text(Path("/proc/self/cgroup")) or "").splitlines() if line.startswith("0::")), "/")
    folder = _CGROUP / own.lstrip("/")
    return [folder, *(p for p in folder.parents if p == _CGROUP or _CGROUP in p.parents)]


def cache_levels(cpus: Sequence[int]) -> list[LevelFacts]:
    """Data caches of these CPUs, each instance counted once, then DRAM; fast to slow."""
    total: dict[int, int] = {}
    seen: set[tuple[int, str]] = set()
    for cpu in cpus:
        for folder in sorted((SYSTEM_CPU / f"cpu{cpu}/cache").glob("index*")):
            level, kind, size = (read_text(folder / name) for name in ("level", "type", "size"))
            shared = read_text(folder / "shared_cpu_list") or str(cpu)
            if not level or not size or kind == "Instruction" or (int(level), shared) in seen:
                continue
            seen.add((int(level), shared))
            total[int(level)] = total.get(int(level), 0) + parse_size(size)
    source = f"sysfs, sum over the caches of {len(cpus)} CPU{'s' * (len(cpus) > 1)}"
    levels = [LevelFacts(f"L{level}", total.get(level), source if level in total else "sysfs names none") for level in (1, 2, 3)]
    found = [level for level in levels if level.capacity_bytes is not None or level.name == "L1"]
    return [*found, LevelFacts("DRAM", memory_budget_bytes(), "half of the memory that is available")]


def parse_size(text: str) -> int:
    """``"32K"`` -> 32768."""
    factor = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:].upper(), 1)
    return int(re.sub(r"\D", "", text)) * factor


def governor(cpus: Sequence[int]) -> str | None:
    """The frequency governor, ``mixed`` if the CPUs differ, None where the system shows none (a virtual machine)."""
    found = {read_text(SYSTEM_CPU / f"cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus} - {None}
    return found.pop() if len(found) == 1 else "mixed" if found else None


def is_virtual() -> bool:
    """True inside a virtual machine that admits it."""
    return " hypervisor" in (read_text(_CPUINFO) or "")


def huge_pages_mode() -> str | None:
    """``always``, ``madvise`` or ``never``: whether transparent huge pages can be had."""
    found = re.search(r"\[(\w+)\]", read_text(Path("/sys/kernel/mm/transparent_hugepage/enabled")) or "")
    return found[1] if found else None


def machine_uuid() -> str | None:
    """A stable name of this machine that is not the system's own secret machine-id: its hash."""
    text = read_text(Path("/etc/machine-id"))
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"ert:{text}")) if text else None
