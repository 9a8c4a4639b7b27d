"""ert.devices.cpu on the machine at hand: what it does and says, never how fast it is."""

from __future__ import annotations

import ctypes
import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from ert.devices import arena, cpu, cpu_facts, cpu_prepared, open_device
from ert.devices.base import CeilingKey, LevelFacts, Sample, Task
from ert.devices.cpu import CpuDevice
from ert.devices.cpu_prepared import CHUNK_BYTES
from ert.devices.pool import Job
from ert.errors import ConfigError, DeviceError, KernelError, MeasurementError, UnsupportedError
from ert.kernels import load_kernels, parse_kernel
from ert.limits import CpuIdentity, Limit, NoLimit

KERNELS = load_kernels("cpu")
LIES = Path(__file__).parent / "data" / "kernels"


@pytest.fixture(scope="module")
def device():
    device = CpuDevice(threads=1)
    yield device
    device.close()


@pytest.fixture
def calm(device, monkeypatch):
    """The device with a known plateau and known caches, whatever the machine at hand has."""
    monkeypatch.setattr(device.gate, "reference", 3.0)
    monkeypatch.setattr(device, "_last_cache_bytes", 32 * 2**20)
    monkeypatch.setattr(device, "_private_bytes", 2**20)
    return device


def task(name: str, precision: str = "fp64", size: int | None = None, **parameters: int) -> Task:
    return Task(KERNELS[name], precision, "L1" if size else None, size, {**KERNELS[name].defaults(), **parameters})


def unsupported(device: CpuDevice) -> tuple[str, str] | None:
    """Some kernel and type that this machine has not."""
    return next(((k.name, p) for k in KERNELS.values() for p in k.precisions if device.unsupported_reason(k, p)), None)


@pytest.mark.parametrize("threads", [0, -1, 10**6])
def test_threads_it_has_not_are_refused_with_those_it_has(threads):
    cores = len(cpu_facts.usable_cpus())
    with pytest.raises(ConfigError, match=rf"--threads {threads}: this process may use 1 to {cores} cores \(CPUs? 0"):
        CpuDevice(threads)


def test_there_is_one_cpu_device():
    with pytest.raises(DeviceError, match="there is one CPU device, called 'cpu'"):
        open_device("cpu:1")


def test_its_facts_are_json_and_name_the_machine(device):
    facts = device.facts()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert (facts["id"], facts["kind"], facts["threads"], facts["cpus"]) == ("cpu", "cpu", 1, [device.cpus[0]])
    assert facts["core_to_core_latency_s"] == []
    assert json.dumps(device.environment(), allow_nan=False)
    assert device.environment()["compiler"]


def test_what_a_repeat_does_follows_from_the_working_set_by_hand(device):
    prepared = device.prepare(task("copy", size=16384))
    assert prepared.working_set_bytes == 16384  # two arrays of 8192 bytes, whole trips for every vector width
    assert prepared.bytes_per_repeat == 16384
    assert prepared.flops_per_repeat == 0
    mixed = device.prepare(task("mixed", "fp32", 8192, ERT_FLOPS=64))
    assert mixed.flops_per_repeat == 64 * 8192 // 4
    assert mixed.bytes_per_repeat == 2 * 8192


def test_a_working_set_is_rounded_down_to_whole_trips_and_never_to_none(device):
    assert device.prepare(task("copy", size=16384 + 100)).working_set_bytes == 16384
    assert (device.prepare(task("copy", size=1)).working_set_bytes or 0) > 0


def test_kernels_in_registers_have_no_working_set(device):
    prepared = device.prepare(task("fma"))
    assert prepared.working_set_bytes is None
    assert prepared.bytes_per_repeat == 0
    assert prepared.flops_per_repeat > 0


def test_a_memory_kernel_without_a_working_set_is_an_error(device):
    with pytest.raises(MeasurementError, match="needs a working set"):
        device.prepare(replace(task("read", size=1), working_set_bytes=None))


def test_samples_are_as_many_as_asked_for_and_carry_clock_and_issue_width(device):
    samples = device.prepare(task("fma")).sample(1000, 5)
    assert len(samples) == 5
    assert all(s.time_s > 0 and (s.clock_hz or 0) > 1e8 and 0.1 < (s.issue_width or 0) < 12 for s in samples)
    assert all(s.core_latency_s is None for s in samples)  # one core has no other to talk to


def test_a_large_array_is_walked_in_chunks_that_follow_each_other(device):
    chunks = 12
    prepared = device.prepare(task("read", size=chunks * CHUNK_BYTES))
    assert prepared.working_set_bytes == chunks * CHUNK_BYTES
    assert prepared.bytes_per_repeat == CHUNK_BYTES
    prepared.sample(5, 2)
    assert prepared._jobs(1)[0].first_chunk == 10
    prepared.sample(1, 3)
    assert prepared._jobs(1)[0].first_chunk == 1


def ordered_by(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The first thread's job of every run from now on."""
    ordered: list[Job] = []
    run = device.run
    monkeypatch.setattr(device, "run", lambda loaded, jobs, *rest: ordered.append(jobs[0]) or run(loaded, jobs, *rest))
    return ordered


def test_what_a_cache_holds_is_walked_untimed_right_before_each_sample(calm, monkeypatch):
    ordered = ordered_by(calm, monkeypatch)
    for size, repeats in ((None, 9), (16384, 9), (4 * 2**20, 1), (4 * 2**20, 3), (4 * 2**20, 9), (12 * CHUNK_BYTES, 9)):
        calm.prepare(task("fma" if size is None else "read", size=size)).sample(repeats, 1)
    assert [job.warm_passes for job in ordered] == [0, 1, 4, 12, 16, 0]


def test_untimed_passes_change_the_data_and_count_no_trips(device):
    prepared = device.prepare(task("update", size=16384))
    start = device.arena_starts(prepared._loaded.variant, 16384)[0]
    values = np.ctypeslib.as_array((ctypes.c_double * 2).from_address(start))
    before = values.copy()
    prepared.sample(2, 1)  # with the untimed one three passes of a[i] = -a[i]
    assert values.tolist() == (-before).tolist()


@pytest.fixture
def clock_ms(monkeypatch):
    """A settable clock for warming up: so many milliseconds pass whenever it is read."""
    return lambda step_ms: monkeypatch.setattr(cpu_prepared, "time", SimpleNamespace(monotonic=count(0, step_ms / 1000).__next__))


@pytest.mark.parametrize(("size", "walked"), [(2**21, 256 * 2**21), (24 * 2**20, 32 * 2**25), (2**27, 2 * 2**25)])
def test_before_sampling_the_last_cache_is_walked_over_as_often_as_it_takes(calm, monkeypatch, clock_ms, size, walked):
    clock_ms(0)
    ordered = ordered_by(calm, monkeypatch)
    prepared = calm.prepare(task("update", size=size))
    prepared.warm_up()
    prepared.sample(1, 1)
    *warm, timed = ordered
    assert sum(job.calls * job.passes * job.chunk_bytes for job in warm) == pytest.approx(walked, rel=0.01)
    assert timed.first_chunk == (warm[-1].first_chunk + warm[-1].calls) % timed.chunks


def test_private_caches_are_used_for_two_milliseconds_before_sampling(calm, monkeypatch, clock_ms):
    ordered = ordered_by(calm, monkeypatch)
    clock_ms(0.4)
    calm.prepare(task("update", size=16384)).warm_up()
    assert [job.passes for job in ordered] == [1, 1, 2, 4, 8]  # the last one ends after 2 ms


def test_a_pass_over_a_shared_cache_that_computes_for_long_is_not_repeated_for_long(calm, monkeypatch, clock_ms):
    ordered = ordered_by(calm, monkeypatch)
    clock_ms(8)
    calm.prepare(task("update", size=2**21)).warm_up()
    assert [job.passes for job in ordered] == [1, 1, 2]  # of 256, in 24 ms


@pytest.mark.parametrize(("name", "chunks"), [("mixed", 4), ("update", 32)])
def test_memory_is_walked_twice_the_last_cache_for_bandwidth_however_long_it_takes(calm, monkeypatch, clock_ms, name, chunks):
    ordered = ordered_by(calm, monkeypatch)
    clock_ms(8)
    calm.prepare(task(name, size=2**26)).warm_up()
    assert sum(job.calls for job in ordered) == chunks


# 2**20 doubles of 32 FLOPs each are too much; a private set is walked whole, since a part of it would be in a cache nearer by.
@pytest.mark.parametrize(
    ("size", "flops", "walked"),
    [(2**19, 1024, 2**19), (2**22, 1, 2**22), (2**22, 32, 2**21), (2**22, 1024, 2**16), (2**26, 1, 2**21), (2**26, 1024, 2**16)],
)
def test_no_timed_walk_over_a_shared_cache_or_memory_computes_for_long(calm, size, flops, walked):
    prepared = calm.prepare(task("mixed", size=size, ERT_FLOPS=flops))
    assert (prepared.bytes_per_repeat, prepared.working_set_bytes) == (2 * walked, size)


@pytest.mark.parametrize(("name", "precision"), [("update", "fp64"), ("mixed", "fp64"), ("mixed", "fp32"), ("triad", "fp64")])
def test_the_data_stay_random_finite_and_the_same_but_for_the_sign_however_long_it_runs(device, name, precision):
    size = 3 * 8192
    given = task(name, precision, size)
    prepared = device.prepare(given)
    (start,) = device.arena_starts(cpu._variant(given), size)
    before = np.frombuffer((ctypes.c_char * 8192).from_address(start), np.float32).copy()
    prepared.warm_up()
    prepared.sample(1001, 3)
    after = np.frombuffer((ctypes.c_char * 8192).from_address(start), np.float32).copy()
    assert np.isfinite(after).all()
    # The arena holds singles; a kernel in double precision sees two of them as one number, and turns one sign bit of the two.
    seen = "float32" if precision == "fp32" else "float64"
    assert (np.abs(after.view(seen)) == np.abs(before.view(seen))).all()
    assert len(np.unique(np.abs(after))) > 0.9 * after.size


def test_a_type_the_machine_lacks_is_unsupported_with_the_reason(device):
    absent = unsupported(device)
    if absent is None:
        pytest.skip("this CPU has every type")
    with pytest.raises(UnsupportedError, match=f"has no {absent[1]} arithmetic"):
        device.prepare(task(*absent, size=4096 if KERNELS[absent[0]].levels else None))


def test_a_kernel_that_lies_is_refused_each_time_and_disturbs_no_other(device):
    lie = parse_kernel("wrong_flops.c", (LIES / "wrong_flops.c").read_text(), "cpu")
    device.make_ready([Task(lie, "fp64", parameters=lie.defaults()), task("fma")])
    for _ in range(2):
        with pytest.raises(KernelError, match="wrong_flops/fp64"):
            device.prepare(Task(lie, "fp64", parameters=lie.defaults()))
    assert device.prepare(task("fma")).sample(10, 1)


def test_a_timed_sample_that_ran_other_trips_than_ordered_is_an_error(device, monkeypatch):
    prepared = device.prepare(task("fma"))
    real = device.run

    def short(*arguments):
        stamps = real(*arguments)
        stamps["trips"] -= 1
        return stamps

    monkeypatch.setattr(device, "run", short)
    with pytest.raises(MeasurementError, match="ran 9 trips instead of 10 in a timed sample"):
        prepared.sample(10, 2)


def test_memory_that_was_promised_can_be_taken_though_less_is_free_later(monkeypatch):
    monkeypatch.setattr(cpu_facts, "memory_budget_bytes", lambda: 8 * 2**20)
    device = CpuDevice(threads=1)
    monkeypatch.setattr(cpu_facts, "memory_budget_bytes", lambda: 2**20)
    largest = device.levels()[-1].capacity_bytes
    assert largest == 8 * 2**20
    device.make_ready([task("triad", size=largest)])
    assert device.prepare(task("triad", size=largest)).sample(1, 1)
    device.close()


def test_a_sweep_reserves_what_it_walks_and_not_all_the_memory_there_is(monkeypatch):
    """Whoever may use little address space (`ulimit -v`) can sweep small working sets."""
    sizes = []
    reserve = arena._reserve
    monkeypatch.setattr(arena, "_reserve", lambda size: sizes.append(size) or reserve(size))
    device = CpuDevice(threads=1)
    device.make_ready([task("triad", size=8 * 2**20), task("read", size=2**20)])
    device.prepare(task("triad", size=8 * 2**20))
    device.close()
    assert len(sizes) == 1
    assert 8 * 2**20 < sizes[0] < 16 * 2**20


def test_memory_is_not_filled_for_a_type_that_the_cpu_lacks(monkeypatch):
    monkeypatch.setattr(cpu, "why_unsupported", lambda _compiler, _kernel, precision: "none here" if precision == "fp16" else None)
    kept = []
    monkeypatch.setattr(arena, "_reserve", lambda size, reserve=arena._reserve: kept.append(size) or reserve(size))
    device = CpuDevice(threads=1)
    device.make_ready([task("mixed", "fp16", size=2**26), task("mixed", "fp64", size=2**20)])
    device.close()
    assert len(kept) == 1
    assert kept[0] < 2**24


def test_a_limit_is_that_of_the_manual_times_threads_and_clock(device, monkeypatch):
    monkeypatch.setattr(cpu_facts, "cpu_identity", lambda: CpuIdentity("AuthenticAMD", 26, 2, 1, "a Zen 5"))
    limit = device.limit(CeilingKey("read", level="L1"), 4e9)
    assert isinstance(limit, Limit)
    assert limit.value % 4e9 == 0
    assert limit.source
    assert isinstance(device.limit(CeilingKey("read", level="L1"), None), NoLimit)


def test_an_unknown_cpu_has_no_limits_and_says_why(device, monkeypatch):
    monkeypatch.setattr(cpu_facts, "cpu_identity", lambda: CpuIdentity("GenuineNobody", 1, 2, 3, "nothing"))
    limit = device.limit(CeilingKey("read", level="L1"), 4e9)
    assert isinstance(limit, NoLimit)
    assert "GenuineNobody" in limit.reason or "nothing" in limit.reason
    assert device.facts()["microarchitecture"] is None


@pytest.mark.parametrize(("width", "is_disturbed"), [(3.0, False), (2.95, False), (2.9, True), (1.5, True), (None, False)])
def test_a_core_that_issues_less_than_its_plateau_is_disturbed(calm, width, is_disturbed):
    assert (calm.disturbance(Sample(1.0, issue_width=width), task("fma")) > 0) is is_disturbed


@pytest.mark.parametrize("size", [16 * 2**20, 512 * 2**20])
def test_a_neighbour_on_the_core_disturbs_memory_work_too(calm, size):
    assert calm.disturbance(Sample(1.0, issue_width=1.5), task("read", size=size)) > 0
    assert calm.disturbance(Sample(1.0, issue_width=3.0), task("read", size=size)) == 0


def test_the_last_level_is_the_memory_a_sweep_may_take(device):
    last = device.levels()[-1]
    assert isinstance(last, LevelFacts)
    assert last.name == "DRAM"
    assert last.capacity_bytes


def test_a_closed_device_gives_its_threads_back():
    before = psutil.Process().num_threads()
    device = CpuDevice(threads=1)
    assert psutil.Process().num_threads() > before
    device.close()
    device.close()
    assert psutil.Process().num_threads() == before


def test_two_threads_share_a_working_set():
    if len(cpu_facts.usable_cpus()) < 2:
        pytest.skip("one core")
    device = CpuDevice(threads=2)
    try:
        prepared = device.prepare(task("copy", size=32768))
        assert prepared.working_set_bytes == 32768
        assert prepared.bytes_per_repeat == 32768
        (sample,) = prepared.sample(10, 1)
        assert sample.time_s > 0
        assert (sample.core_latency_s or 0) > 0
        assert len(device.facts()["core_to_core_latency_s"]) == 1
    finally:
        device.close()
