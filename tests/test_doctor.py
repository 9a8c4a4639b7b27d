"""What the doctor concludes from what it was told; no machine is looked at here but the folders a test makes."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from ert.devices import Listed
from ert.devices.base import LevelFacts
from ert.devices.cuda_monitor import Reading, State
from ert.devices.pool import STAMP
from ert.doctor.cuda import Driver, driver_fact, gpu_fact
from ert.doctor.fact import Fact, collect
from ert.doctor.machine import (
    Cores,
    cores_fact,
    governor_fact,
    huge_pages_fact,
    identity_fact,
    memory_fact,
    throttling_fact,
    turbo_fact,
    virtual_fact,
)
from ert.doctor.now import Busy, CoreNow, busiest, busy_fact, clock_fact, latency_fact, load_fact, lock_fact, quiet_fact, summarize
from ert.doctor.report import doctor_document, summary
from ert.doctor.software import device_fact, packages_fact, required_packages
from ert.errors import DeviceError
from ert.limits import CpuIdentity
from ert.lock import device_lock, lock_holder

GIB = 2**30


def levels(last_cache: int, memory: int) -> list[LevelFacts]:
    return [LevelFacts("L1", 32 << 10, "test"), LevelFacts("L3", last_cache, "test"), LevelFacts("DRAM", memory, "test")]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_question_that_fails_is_a_problem_and_the_next_one_is_asked():
    def fails() -> Fact:
        raise PermissionError(13, "Permission denied")

    found = collect([("first", fails), ("second", lambda: Fact("second", "ok", "yes"))])
    assert [(f.name, f.status) for f in found] == [("first", "problem"), ("second", "ok")]
    assert "Permission denied" in found[0].text


def test_the_summary_counts_and_says_what_can_be_swept():
    usable = {"Devices": [Fact("cpu", "ok", "")], "Machine": [Fact("a", "note", ""), Fact("b", "note", ""), Fact("c", "problem", "")]}
    assert summary(usable) == "1 problem, 2 notes. A sweep can run: ert sweep --device cpu"
    assert summary({"Devices": [Fact("cpu", "problem", "")]}) == "1 problem, 0 notes. Nothing can be swept yet."


def test_the_summary_offers_a_device_that_no_sweep_holds():
    devices = [Fact("cuda:0", "ok", "A"), Fact("cuda:1", "ok", "B")]
    held = {"Devices": devices, "Right now": [lock_fact("cuda:0", "process 1 on here"), lock_fact("cuda:1", None)]}
    assert summary(held) == "0 problems, 1 note. A sweep can run: ert sweep --device cuda:1"
    both = {"Devices": devices, "Right now": [lock_fact(device.name, "process 1 on here") for device in devices]}
    assert summary(both) == "0 problems, 2 notes. A sweep runs already: wait for it, then ert sweep --device cuda:0"


def test_the_document_has_one_row_a_fact():
    document = doctor_document({"Machine": [Fact("clock", "ok", "3 GHz", 3e9)]})
    assert document["facts"] == [{"section": "Machine", "name": "clock", "status": "ok", "text": "3 GHz", "value": 3e9, "remedy": None}]


def test_required_packages_are_those_of_no_extra():
    lines = ["numpy>=1.26", "PyYAML", 'pycuda>=2025.1; extra == "cuda"', "typing-extensions>=4; python_version < '3.12'"]
    assert required_packages(lines) == ["numpy", "PyYAML", "typing-extensions"]


def test_a_missing_package_is_a_problem_with_the_command_that_brings_it():
    fact = packages_fact(["numpy", "rich", "click"], {"numpy": "2.0"}.get)
    assert (fact.status, fact.remedy) == ("problem", "pip install rich click")
    assert "rich MISSING" in fact.text


def test_a_gpu_that_is_not_there_is_a_note_and_a_cpu_that_cannot_be_swept_a_problem():
    assert device_fact(Listed("cuda", "NVIDIA GPU", "no driver")).status == "note"
    assert device_fact(Listed("cpu", "EPYC", "no compiler")).status == "problem"
    assert device_fact(Listed("cpu", "EPYC")).status == "ok"


def test_a_driver_with_a_gpu_is_ok_and_says_its_version():
    fact = driver_fact(Driver(12080, 2), None)
    assert (fact.status, fact.text) == ("ok", "for CUDA 12.8, 2 GPUs")


def test_hidden_gpus_are_blamed_on_the_variable_that_hides_them():
    fact = driver_fact(Driver(13000, 0, "no CUDA-capable device is detected (code 100)"), "")
    assert fact.status == "note"
    assert "CUDA_VISIBLE_DEVICES is ''" in (fact.remedy or "")


def test_no_driver_says_how_to_get_one():
    fact = driver_fact(Driver(None, error="libcuda.so.1 is not on this machine"), None)
    assert fact.status == "note"
    assert "install the NVIDIA driver" in (fact.remedy or "")


def test_a_throttled_shared_gpu_says_by_what_and_how_many():
    reading = Reading(clock_hz=1.2e9, power_w=700, temperature_c=86, reasons=0x4 | 0x40)
    fact = gpu_fact("GPU 0", "H200", reading, State(power_limit_w=700, other_pids=(4711,)))
    assert fact.status == "note"
    assert fact.text == "H200, 1.2 GHz, 700 W of 700 W, 86 C, throttled by SwPowerCap, HwThermalSlowdown, 1 other program on it"


def test_an_idle_gpu_is_ok():
    assert gpu_fact("GPU 0", "H200", Reading(power_w=75, reasons=0x1), State(other_pids=())).status == "ok"


def test_a_cpu_without_known_limits_is_a_note():
    assert identity_fact(CpuIdentity("AuthenticAMD", 0x19, 0x1, 1, "EPYC 7763")).value == "Zen 3"
    unknown = identity_fact(CpuIdentity("SomeVendor", 99, 1, 1, "Future CPU"))
    assert (unknown.status, unknown.value) == ("note", None)


def test_all_cores_are_ok_and_fewer_say_why():
    assert cores_fact(Cores(2, [0, 1], [0, 1], None)).status == "ok"
    pinned = cores_fact(Cores(8, [0, 1], [0, 1], None))
    assert (pinned.status, pinned.text) == ("note", "2 of 8 CPUs used: 0, 1 (affinity allows 2 CPUs)")
    assert "quota is 1.5 CPUs" in cores_fact(Cores(4, [0, 1, 2, 3], [0], 1.5)).text
    assert cores_fact(Cores(4, [0, 1, 2, 3], [0, 2], None)).text == "2 of 4 CPUs used: 0, 2 (one hyperthread of each core)"


def test_memory_must_reach_far_beyond_the_last_cache():
    assert memory_fact(levels(32 << 20, 8 * GIB), 16 * GIB).status == "ok"
    # Half a GiB at most, against four times 256 MiB.
    short = memory_fact(levels(256 << 20, GIB // 2), GIB)
    assert short.status == "problem"
    assert "DRAM cannot be measured" in short.text


@pytest.mark.parametrize(("mode", "status"), [("always", "ok"), ("madvise", "ok"), ("never", "note"), (None, "note")])
def test_huge_pages(mode: str | None, status: str):
    assert huge_pages_fact(mode).status == status


@pytest.mark.parametrize(("governor", "status"), [("performance", "ok"), (None, "ok"), ("powersave", "note"), ("schedutil", "note")])
def test_governor(governor: str | None, status: str):
    fact = governor_fact(governor)
    assert fact.status == status
    assert ("cpupower" in (fact.remedy or "")) == (status == "note")


def test_turbo_is_read_from_either_kind_of_driver(tmp_path: Path):
    assert turbo_fact(tmp_path).text == "not shown by this system"
    write(tmp_path / "amd/cpufreq/boost", "1\n")
    write(tmp_path / "amd/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n")
    assert turbo_fact(tmp_path / "amd").text == "on: the clock depends on load and heat, up to 3.5 GHz"
    write(tmp_path / "intel/intel_pstate/no_turbo", "1\n")
    assert turbo_fact(tmp_path / "intel").text == "off"


def test_throttle_counters_are_summed_up_as_their_highest(tmp_path: Path):
    assert throttling_fact(tmp_path).status == "ok"
    for cpu, count in enumerate((0, 0)):
        write(tmp_path / f"cpu{cpu}/thermal_throttle/core_throttle_count", f"{count}\n")
    assert throttling_fact(tmp_path).text == "never since the system started"
    write(tmp_path / "cpu1/thermal_throttle/package_throttle_count", "17\n")
    assert (throttling_fact(tmp_path).status, throttling_fact(tmp_path).value) == ("note", 17)


def test_a_virtual_machine_is_a_note():
    assert virtual_fact(is_virtual=True).status == "note"
    assert virtual_fact(is_virtual=False).status == "ok"


def stamps(widths: list[list[float]], clock: float = 3e9) -> np.ndarray:
    """(samples, threads) of equal clocks, with these issue widths before and after."""
    found = np.zeros(np.shape(widths), STAMP)
    found["width_before"] = found["width_after"] = widths
    found["clock_before_hz"], found["clock_after_hz"] = clock / 2, clock
    return found


def test_probes_become_one_line_a_core():
    cores = summarize(stamps([[3.0, 1.6], [3.0, 3.0], [3.0, 1.5], [2.9, 1.4]]), [4, 6], threshold=2.8)
    assert cores == [CoreNow(4, 3e9, 3.0, 0.0), CoreNow(6, 3e9, 1.55, 0.75)]


def test_a_disturbed_core_is_named_with_its_share():
    quiet, half, always = CoreNow(0, 3e9, 3.0, 0.02), CoreNow(1, 3e9, 2.9, 0.4), CoreNow(2, 3e9, 1.5, 0.9)
    assert quiet_fact([quiet], 3.0).status == "ok"
    note = quiet_fact([quiet, half], 3.0)
    assert (note.status, note.text) == ("note", "disturbed part of the time: CPU 1 40%")
    assert quiet_fact([quiet, half, always], 3.0).status == "problem"
    assert quiet_fact([quiet], None).status == "problem"


def test_a_core_with_another_clock_is_named():
    same = [CoreNow(0, 3.00e9, 3, 0), CoreNow(1, 2.99e9, 3, 0)]
    assert clock_fact(same).text == "3 GHz, measured"
    slow = clock_fact([CoreNow(0, 3.0e9, 3, 0), CoreNow(5, 2.0e9, 3, 0)])
    assert (slow.status, slow.text) == ("note", "2 GHz to 3 GHz by core, measured")
    assert "CPU 5" in (slow.remedy or "")


def test_latency_is_a_range_over_the_cores():
    rows = [{"cpus": [0, i], "latency_s": t} for i, t in ((1, 40e-9), (2, 200e-9))]
    assert latency_fact(rows).text == "40 ns to 200 ns"
    assert latency_fact([]).text == "one core only"


def test_load_and_busy_programs():
    assert load_fact(0.2).status == "ok"
    assert load_fact(3.5).status == "note"
    assert busy_fact([Busy(1, "idle", 0.01)]).status == "ok"
    busy = busy_fact([Busy(7, "make", 0.93), Busy(8, "cc1", 0.5)])
    assert busy.text == "make (process 7) 93%, cc1 (process 8) 50% of a CPU"


def test_a_spinning_process_is_found():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
        try:
            deadline_s = time.monotonic() + 20
            found: list[Busy] = []
            while not any(b.pid == spinner.pid for b in found) and time.monotonic() < deadline_s:
                found = busiest(0.2)
        finally:
            spinner.kill()
    assert any(b.pid == spinner.pid and b.cpus > 0 for b in found)
    assert not any(b.pid == psutil.Process().pid for b in found)


def test_the_holder_of_a_device_is_named_while_it_sweeps_and_never_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ERT_LOCK_DIR", str(tmp_path))
    assert lock_holder("cuda:3") is None
    with device_lock("cuda:3"):
        holder = lock_holder("cuda:3")
        assert f"process {psutil.Process().pid} " in (holder or "")
        assert lock_fact("cuda:3", holder).status == "note"
    assert lock_holder("cuda:3") is None
    assert lock_fact("cuda:3", None).text == "none is running"


def test_looking_for_the_holder_takes_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ERT_LOCK_DIR", str(tmp_path))
    with device_lock("cpu"):
        lock_holder("cpu")
        with pytest.raises(DeviceError, match="is being measured already"), device_lock("cpu"):
            pass
    (file,) = tmp_path.glob("*.lock")
    with file.open() as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
