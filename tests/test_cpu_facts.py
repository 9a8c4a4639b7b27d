"""ert.devices.cpu_facts: what the system's files say, from trees of such files."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.devices import cpu_facts
from ert.devices.cpu_facts import (
    MEMORY_SHARE,
    cache_levels,
    cgroup_cpu_limit,
    cpu_identity,
    governor,
    memory_budget_bytes,
    parse_cpu_list,
    parse_size,
    usable_cpus,
)

KIB, MIB = 2**10, 2**20


@pytest.fixture
def system(monkeypatch, tmp_path) -> Path:
    """An empty /sys; tests write into it what a machine would say."""
    monkeypatch.setattr(cpu_facts, "SYSTEM_CPU", tmp_path / "cpu")
    monkeypatch.setattr(cpu_facts, "_CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    return tmp_path


def say(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def core(system: Path, cpu: int, siblings: str, l3: str) -> None:
    """A core with 32 KiB of L1 data, 32 KiB of L1 code, 512 KiB of L2, and a share of one L3."""
    say(system / f"cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    rows = [
        ("1", "Data", "32K", siblings),
        ("1", "Instruction", "32K", siblings),
        ("2", "Unified", "512K", siblings),
        ("3", "Unified", "16M", l3),
    ]
    for number, (level, kind, size, shared) in enumerate(rows):
        folder = system / f"cpu/cpu{cpu}/cache/index{number}"
        for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
            say(folder / name, text)


def test_of_two_hyperthreads_the_first_is_used(system):
    for cpu, siblings in enumerate(["0-1", "0-1", "2-3", "2-3"]):
        core(system, cpu, siblings, "0-3")
    assert usable_cpus() == [0, 2]


def test_a_hyperthread_whose_sibling_is_not_ours_is_a_core(system, monkeypatch):
    for cpu, siblings in enumerate(["0-1", "0-1", "2-3", "2-3"]):
        core(system, cpu, siblings, "0-3")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {1, 2})
    assert usable_cpus() == [1, 2]


def test_where_the_system_tells_nothing_every_cpu_is_a_core(system):
    assert usable_cpus() == [0, 1, 2, 3]


@pytest.mark.parametrize(("quota", "expected"), [("200000 100000", 2), ("150000 100000", 1), ("50000 100000", 1), ("max 100000", 4)])
def test_no_more_cores_are_used_than_the_quota_pays_for(system, quota, expected):
    say(system / "cgroup/cpu.max", quota)
    assert len(usable_cpus()) == expected


def test_the_older_kind_of_quota_counts_too(system):
    say(system / "cgroup/cpu/cpu.cfs_quota_us", "300000")
    say(system / "cgroup/cpu/cpu.cfs_period_us", "100000")
    assert cgroup_cpu_limit() == 3.0
    say(system / "cgroup/cpu/cpu.cfs_quota_us", "-1")
    assert cgroup_cpu_limit() is None


def test_caches_are_added_over_cores_and_a_shared_one_counts_once(system):
    for cpu in range(4):
        core(system, cpu, str(cpu), "0-3")
    found = {level.name: level.capacity_bytes for level in cache_levels([0, 1, 2])}
    assert list(found) == ["L1", "L2", "L3", "DRAM"]
    assert (found["L1"], found["L2"], found["L3"]) == (3 * 32 * KIB, 3 * 512 * KIB, 16 * MIB)


def test_two_core_complexes_have_two_last_caches(system):
    for cpu in range(4):
        core(system, cpu, str(cpu), "0-1" if cpu < 2 else "2-3")
    assert next(level.capacity_bytes for level in cache_levels([0, 1, 2, 3]) if level.name == "L3") == 32 * MIB


def test_a_machine_that_tells_no_caches_has_an_l1_of_unknown_size(system):
    levels = cache_levels([0])
    assert [level.name for level in levels] == ["L1", "DRAM"]
    assert levels[0].capacity_bytes is None
    assert levels[0].source == "sysfs names none"


def test_a_sweep_takes_half_of_what_is_available_and_of_what_the_cgroup_leaves(system, monkeypatch):
    monkeypatch.setattr(cpu_facts.psutil, "virtual_memory", lambda: SimpleNamespace(available=8000 * MIB))
    assert memory_budget_bytes() == int(8000 * MIB * MEMORY_SHARE)
    say(system / "cgroup/memory.max", str(3000 * MIB))
    say(system / "cgroup/memory.current", str(1000 * MIB))
    assert memory_budget_bytes() == int(2000 * MIB * MEMORY_SHARE)
    say(system / "cgroup/memory.current", str(4000 * MIB))
    assert memory_budget_bytes() == 0


def test_a_limit_of_the_address_space_is_one_of_memory(system, monkeypatch):
    monkeypatch.setattr(cpu_facts.psutil, "virtual_memory", lambda: SimpleNamespace(available=8000 * MIB))
    monkeypatch.setattr(cpu_facts.psutil, "Process", lambda: SimpleNamespace(memory_info=lambda: SimpleNamespace(vms=1000 * MIB)))
    monkeypatch.setattr(cpu_facts.resource, "getrlimit", lambda _which: (3000 * MIB, 3000 * MIB))
    assert memory_budget_bytes() == int(2000 * MIB * MEMORY_SHARE)


def test_one_governor_is_named_and_several_are_mixed(system):
    assert governor([0, 1]) is None
    for cpu, name in enumerate(("performance", "performance", "powersave")):
        say(system / f"cpu/cpu{cpu}/cpufreq/scaling_governor", name)
    assert governor([0, 1]) == "performance"
    assert governor([0, 1, 2]) == "mixed"


def test_an_x86_names_itself_by_family_and_model():
    first = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 26\nmodel : 2\nmodel name : AMD EPYC 9755\nstepping : 1\n"
    text = first + "\nprocessor : 1\nmodel : 9\n"
    found = cpu_identity(text)
    assert (found.vendor, found.family, found.model, found.stepping, found.name) == ("AuthenticAMD", 26, 2, 1, "AMD EPYC 9755")


def test_an_arm_names_itself_by_implementer_and_part():
    text = "processor : 0\nCPU implementer : 0x41\nCPU architecture: 8\nCPU variant : 0x1\nCPU part : 0xd40\nCPU revision : 1\n"
    found = cpu_identity(text)
    assert (found.vendor, found.family, found.model, found.stepping) == ("0x41", 8, 0xD40, 1)


def test_a_processor_that_tells_nothing_is_unknown():
    found = cpu_identity("nothing here")
    assert (found.vendor, found.family, found.model) == ("unknown", 0, 0)


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_are_read_as_the_system_writes_them(cpus):
    ordered = sorted(cpus)
    text, start = "", 0
    for i in range(len(ordered)):
        if i + 1 == len(ordered) or ordered[i + 1] != ordered[i] + 1:
            text += f",{ordered[start]}" + (f"-{ordered[i]}" if i > start else "")
            start = i + 1
    assert parse_cpu_list(text.lstrip(",")) == cpus


@pytest.mark.parametrize(("text", "size"), [("32K", 32 * KIB), ("16M", 16 * MIB), ("1G", 2**30), ("512", 512), ("1024 K", MIB)])
def test_sizes_are_read_as_the_system_writes_them(text, size):
    assert parse_size(text) == size


def test_this_machine_tells_enough_to_be_swept():
    cpus = usable_cpus()
    assert cpus
    assert set(cpus) <= os.sched_getaffinity(0)
    assert cache_levels(cpus)[-1].name == "DRAM"
    assert cpu_identity().vendor
