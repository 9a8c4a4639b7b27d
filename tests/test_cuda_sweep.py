"""``ert sweep --device 0`` end to end on soft GPUs: planted ceilings are found, and a fault costs the points it touches, never the file."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from example_gpu import EXAMPLE_GPU
from softcuda.devices import A100_LIKE, H200_LIKE, RTX4090_LIKE, environment

from ert.ceilings import load, save

ERT = Path(sys.executable).with_name("ert")
CONFIGS = Path(__file__).parent / "data" / "cuda"
QUICKLY = ("--config", str(CONFIGS / "small.toml"), "--no-plot")
FEW = ("--config", str(CONFIGS / "few.toml"), "--no-plot", "--precision", "fp32", "--level", "DRAM")


def ert(devices, *arguments, visible=None, **options):
    given = environment(devices, **options) | ({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    return subprocess.run([ERT, *arguments], env=given, capture_output=True, text=True, check=False, timeout=300)


def sweep(devices, folder, *arguments, device="0", expect=0, **options):
    """The ceilings file of a sweep, as JSON."""
    done = ert(devices, "sweep", "--device", device, "--out", str(folder), "--json", "-", *arguments, **options)
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def full_sweep(tmp_path_factory):
    """Each of the three devices swept once."""

    @cache
    def of(name):
        return sweep([THREE[name]], tmp_path_factory.mktemp("sweep"), *QUICKLY)

    return lambda device: of(device.name)


THREE = {device.name: device for device in (A100_LIKE, H200_LIKE, RTX4090_LIKE)}
PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int32", "int8")
by_name = pytest.mark.parametrize("device", THREE.values(), ids=THREE)


@by_name
def test_planted_compute_ceilings_are_found_within_one_percent(full_sweep, device):
    found = {(c["precision"], c["path"], c["op"]): c["value"] for c in full_sweep(device)["ceilings"]["compute"]}
    planted = {key: rate for key, rate in device.ceilings.items() if key.removeprefix("mma_") in PRECISIONS}
    for key, rate in planted.items():
        path, op = ("tensor", "mma") if key.startswith("mma_") else ("vector", "fma")
        assert found[key.removeprefix("mma_"), path, op] == pytest.approx(rate, rel=0.01), key
    assert found["fp32", "vector", "add"] == pytest.approx(device.ceilings["fp32"] / 2, rel=0.01)


@by_name
def test_planted_memory_ceilings_are_found_within_one_percent(full_sweep, device):
    found = {(c["level"], c["op"]): c["value"] for c in full_sweep(device)["ceilings"]["bandwidth"]}
    read, write = device.ceilings["dram"], device.ceilings["dram_write"]
    # Of what an operation moves so many parts are read, and so many are written.
    for op, (reads, writes) in {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1), "update": (1, 1)}.items():
        assert found["DRAM", op] == pytest.approx((reads + writes) / (reads / read + writes / write), rel=0.01), op
        assert found["L2", op] == pytest.approx(device.ceilings["l2bw"], rel=0.01), op
    for op in ("read", "write", "copy"):
        assert found["shared", op] == pytest.approx(device.ceilings["smembw"], rel=0.01), op
    assert found["L1", "read"] == pytest.approx(device.ceilings["l1bw"], rel=0.01)


def left_at(capacity_bytes, rate, below):
    """Where a quarter of the way from a level's rate to the one below is lost, in log: there a level ends (ert/fit/capacity.py).

    From its capacity on a soft cache misses linearly more, and everything once the working set is a quarter larger (``FADE`` in
    softcuda/driver/model.cpp): bandwidth is the rate below over the share of misses, and that is rate^3/4 below^1/4 here.
    """
    return capacity_bytes * (1 + 0.25 * (below / rate) ** 0.75)


@by_name
def test_the_levels_are_those_of_the_device_and_end_where_they_were_planted(full_sweep, device):
    bandwidth = full_sweep(device)["ceilings"]["bandwidth"]
    assert list(dict.fromkeys(c["level"] for c in bandwidth)) == ["shared", "L1", "L2", "DRAM"]
    says, planted = device.says, device.ceilings
    ends = {
        "shared": None,
        "L1": pytest.approx(left_at(says["l1"] * says["sms"], planted["l1bw"], planted["l2bw"]), rel=0.02),
        "L2": pytest.approx(left_at(says["l2"], planted["l2bw"], planted["dram"]), rel=0.02),
        "DRAM": None,
    }
    for c in bandwidth:
        assert c["capacity_bytes"] == ends[c["level"]], (c["level"], c["op"])


@by_name
def test_the_mixed_sweep_finds_the_planted_roofs_of_every_level_from_its_own_side(full_sweep, device):
    corners = {(r["level"], r["precision"], r["path"]): r["corner"] for r in full_sweep(device)["roofs"]}
    # A kernel that loads and stores moves DRAM as a copy does; one that only loads is as fast as a read.
    copied = 2 / (1 / device.ceilings["dram"] + 1 / device.ceilings["dram_write"])
    for level, moved in {
        "L1": [device.ceilings["l1bw"]],
        "L2": [device.ceilings["l2bw"]],
        "DRAM": [copied, device.ceilings["dram"]],
    }.items():
        corner = corners[level, "fp32", "vector"]
        assert min(abs(corner["bandwidth_bytes_per_s"] / rate - 1) for rate in moved) < 0.005, level
        assert corner["rate_flop_per_s"] == pytest.approx(device.ceilings["fp32"], rel=0.01), level


@by_name
def test_the_launch_overhead_is_the_planted_one(full_sweep, device):
    assert full_sweep(device)["launch_overhead_s"] == pytest.approx(device.ceilings["overhead"], rel=0.01)


@by_name
def test_the_latency_of_every_level_is_the_planted_one(full_sweep, device):
    found = {d["level"]: d for d in full_sweep(device)["diagnostics"] if d["what"] == "latency"}
    assert {level: d["value"] for level, d in found.items()} == {
        level: pytest.approx(device.ceilings[f"lat_{level.lower()}"], rel=0.01) for level in ("L1", "L2", "DRAM")
    }
    sizes = {p["level"]: p["working_set_bytes"] for p in full_sweep(device)["points"] if p["measures"] == "latency"}
    assert sizes["L1"] < device.says["l1"] < sizes["L2"] < device.says["l2"] < sizes["DRAM"]


@by_name
def test_figures_on_zeros_stand_beside_the_tensor_ceilings_and_make_none(full_sweep, device):
    found = {(d["precision"], d["kernel"]): d["value"] for d in full_sweep(device)["diagnostics"] if d["what"] == "zero_operands"}
    ceilings = {(c["precision"], c["kernel"]): c for c in full_sweep(device)["ceilings"]["compute"] if c["path"] == "tensor"}
    assert found == {key: pytest.approx(c["value"], rel=0.01) for key, c in ceilings.items()}
    units = {d["precision"]: d["unit"] for d in full_sweep(device)["diagnostics"] if d["what"] == "zero_operands"}
    assert {precision for precision, unit in units.items() if unit == "op/s"} == {p for p in units if p.startswith("int")}
    on_zeros = {p["id"] for p in full_sweep(device)["points"] if p.get("operands") == "zeros"}
    assert len(on_zeros) == len(found)
    assert not on_zeros & {id_ for c in full_sweep(device)["ceilings"]["compute"] for id_ in c["point_ids"]}


@by_name
def test_both_readings_of_l2_are_there_and_the_roof_is_the_faster_one(full_sweep, device):
    found = {d["kernel"]: d["value"] for d in full_sweep(device)["diagnostics"] if (d["what"], d["level"]) == ("by_kernel", "L2")}
    assert {"read_l2", "read_l2_shared"} <= set(found)
    for kernel in ("read_l2", "read_l2_shared"):
        assert found[kernel] == pytest.approx(device.ceilings["l2bw"], rel=0.01)


@by_name
def test_clocks_power_and_temperature_stand_beside_every_sample(full_sweep, device):
    for p in full_sweep(device)["points"]:
        if p["status"] == "ok":
            count = len(p["samples_s"])
            assert p["memory_clock_hz"] == [device.says["memclock"] * 1e3] * count
            assert p["power_w"] == [350] * count
            assert p["temperature_c"] == [55] * count


@by_name
def test_nothing_failed_and_what_is_missing_has_a_reason(full_sweep, device):
    points = full_sweep(device)["points"]
    assert {p["status"] for p in points} <= {"ok", "unsupported"}
    assert all(p["reason"] for p in points if p["status"] == "unsupported")
    # Of the curve nothing is asked that no kernel can hold on the device.
    assert {p["status"] for p in points if p["id"].split("/")[2] == "curve"} == {"ok"}


@by_name
def test_clock_and_limit_stand_beside_every_ceiling(full_sweep, device):
    for ceiling in full_sweep(device)["ceilings"]["compute"]:
        assert ceiling["clock_hz"] == device.says["clock"] * 1e3
        assert ceiling["power_w"] == 350
        assert ceiling["limit"] is None or ceiling["value"] < ceiling["limit"]


@pytest.mark.parametrize("name", ["quick", "default"])
def test_the_shipped_sweeps_run_on_a_gpu(tmp_path, name):
    found = sweep([A100_LIKE], tmp_path, "--config", name, "--no-plot", "--precision", "fp32", "--level", "DRAM")
    assert {p["status"] for p in found["points"]} <= {"ok", "unsupported"}
    (dram,) = [c for c in found["ceilings"]["bandwidth"] if (c["level"], c["op"]) == ("DRAM", "read")]
    assert dram["value"] == pytest.approx(A100_LIKE.ceilings["dram"], rel=0.01)


def test_the_file_is_a_ceilings_file_that_loads(tmp_path):
    sweep([A100_LIKE], tmp_path, *FEW)
    (path,) = tmp_path.glob("*/*.json")
    ceilings = load(path)
    assert ceilings.device["uuid"] == f"GPU-{A100_LIKE.uuid}"
    assert ceilings.bandwidth("DRAM") == pytest.approx(A100_LIKE.ceilings["dram"], rel=0.01)


SECOND = replace(H200_LIKE, uuid="bbbbbbbb-1111-1111-1111-111111111111", pci="0000:b1:00.0")


def test_devices_lists_every_gpu_with_its_uuid():
    listed = ert([A100_LIKE, SECOND], "devices").stdout
    assert "cuda:0" in listed
    assert "cuda:1" in listed
    assert f"GPU-{SECOND.uuid}" in listed


@pytest.mark.parametrize("name", ["1", "cuda:1", "GPU-bbbbbbbb"])
def test_the_second_gpu_is_swept_with_its_own_clock(tmp_path, name):
    found = sweep([A100_LIKE, SECOND], tmp_path, *FEW, device=name)
    assert found["device"]["name"] == SECOND.name
    assert found["ceilings"]["compute"][0]["clock_hz"] == SECOND.says["clock"] * 1e3


def test_a_hidden_gpu_moves_the_indices_but_not_the_clocks(tmp_path):
    found = sweep([A100_LIKE, SECOND], tmp_path, *FEW, visible="1")
    assert found["device"]["id"] == "cuda:0"
    assert found["device"]["uuid"] == f"GPU-{SECOND.uuid}"
    assert found["ceilings"]["compute"][0]["clock_hz"] == SECOND.says["clock"] * 1e3


def test_a_mig_slice_is_swept_and_has_no_clocks_of_its_own(tmp_path):
    says = {**A100_LIKE.says, "sms": 14, "mem": 10e9, "mig": 1}
    a_slice = replace(A100_LIKE, name="A100-like MIG 1g.10gb", says=says, uuid="cccccccc-0000-0000-0000-000000000000")
    found = sweep([a_slice], tmp_path, *FEW, device="MIG-cccccccc")
    assert found["device"]["is_mig"]
    assert found["device"]["sms"] == 14
    assert all(clock is None for point in found["points"] for clock in point["clock_hz"])
    assert "no_clocks" in {w["code"] for w in found["warnings"]}


@pytest.mark.parametrize(
    ("device", "words"),
    [("2", "there is no such device; 2 can be seen"), ("GPU-dddd", "0 devices match"), ("GPU-", "0 devices match")],
)
def test_a_gpu_that_is_not_there_is_refused_in_words(tmp_path, device, words):
    done = ert([A100_LIKE, SECOND], "sweep", "--device", device, "--out", str(tmp_path))
    assert done.returncode == 1
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", [("sweep",), ("run", "axpy", "--ceilings", "roof.json")])
def test_threads_are_refused_for_a_gpu(tmp_path, monkeypatch, command):
    save(EXAMPLE_GPU, tmp_path / "roof.json")
    monkeypatch.chdir(tmp_path)
    done = ert([A100_LIKE], *command, "--device", "0", "--threads", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--threads is for the CPU; a GPU is always measured with all its SMs (cuda:0)." in done.stderr


@pytest.mark.parametrize("visible", ["", "-1"])
def test_hidden_gpus_are_explained(tmp_path, visible):
    done = ert([A100_LIKE], "sweep", "--device", "0", "--out", str(tmp_path), visible=visible)
    assert done.returncode == 1
    assert f"CUDA_VISIBLE_DEVICES is '{visible}'" in " ".join(done.stderr.split())


# Launches and allocations are counted from the start of the process: the first are those that verify a kernel, the last ones sample.
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("failed@1", "unspecified launch failure"),
        ("failed@500", "unspecified launch failure"),
        ("illegal@5", "illegal memory access"),
        ("illegal@300", "illegal memory access"),
        ("refused@40", "too many resources requested"),
        # PyCUDA collects garbage and asks a second time when memory runs out.
        ("oom@5-6", "out of memory"),
        ("oom@30-31", "out of memory"),
    ],
)
def test_a_fault_costs_one_point(tmp_path, fault, words):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults=fault)
    (failed,) = [p for p in found["points"] if p["status"] not in ("ok", "unsupported")]
    assert failed["status"] == "error"
    assert words in failed["reason"]
    assert {(c["level"], c["op"]) for c in found["ceilings"]["bandwidth"]} >= {("DRAM", "read"), ("DRAM", "copy")}


def test_an_allocation_that_fails_once_costs_nothing(tmp_path):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults="oom@1")
    assert {p["status"] for p in found["points"]} == {"ok", "unsupported"}


def test_memory_that_runs_out_for_a_while_costs_the_points_that_wanted_it(tmp_path):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults="oom@1-9")
    failed = [p for p in found["points"] if p["status"] == "error"]
    assert 0 < len(failed) < 10
    assert all("out of memory" in p["reason"] for p in failed)
    assert len([p for p in found["points"] if p["status"] == "ok"]) > 30


def test_launches_that_do_nothing_are_never_fast_samples(tmp_path):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults="skipped@60-70")
    for point in found["points"]:
        for time_s in point["samples_s"]:
            assert time_s > 1e-3, point["id"]
    for ceiling in [*found["ceilings"]["bandwidth"], *found["ceilings"]["compute"]]:
        assert ceiling["value"] <= ceiling["limit"]
    assert any("run to its end" in (p["reason"] or "") or "are wrong" in (p["reason"] or "") for p in found["points"])


def test_a_device_that_is_lost_leaves_a_file_with_what_was_measured(tmp_path):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults="lost@200")
    status = [p["status"] for p in found["points"]]
    assert status.count("ok") > 5
    assert status.count("error") > 5
    assert any("lost after an error" in (p["reason"] or "") for p in found["points"])


@pytest.mark.parametrize(
    ("fault", "code", "words", "others"),
    [
        ("busy", 4, "busy or unavailable. It is in exclusive use by another program, or prohibited to all", "hold the memory"),
        ("full", 4, "out of memory. Another program may hold the memory: see `nvidia-smi`.", "exclusive use"),
        ("ordinal", 1, "invalid device ordinal. `ert devices` lists what is here", "exclusive use"),
    ],
)
def test_a_device_that_cannot_be_taken_is_told_why_in_one_line_and_leaves_nothing(tmp_path, fault, code, words, others):
    done = ert([A100_LIKE], "sweep", "--device", "0", "--out", str(tmp_path), "--json", "-", faults=fault)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: cuda:0: taking the device: ")
    assert words in line
    assert others not in line
    assert list(tmp_path.iterdir()) == []


def test_a_prohibited_device_is_listed_with_the_remedy_and_the_next_one_is_taken(tmp_path):
    prohibited = replace(A100_LIKE, says={**A100_LIKE.says, "compute_mode": 2})
    first, second, *_ = json.loads(ert([prohibited, SECOND], "devices", "--json", "-").stdout)["devices"]
    assert f"compute mode is Prohibited. An administrator can allow it: nvidia-smi -i GPU-{A100_LIKE.uuid} -c DEFAULT" in first["reason"]
    assert second["reason"] is None
    done = ert([prohibited, SECOND], "sweep", "--out", str(tmp_path), *FEW)
    assert done.returncode == 0, done.stderr
    assert "device: cuda:1 (H200-like" in done.stderr


def test_the_compute_mode_is_in_the_file(tmp_path):
    found = sweep([replace(A100_LIKE, says={**A100_LIKE.says, "compute_mode": 3})], tmp_path, *FEW)
    assert found["device"]["compute_mode"] == "Exclusive_Process"


def test_a_throttling_spell_is_flagged_and_left_out(tmp_path):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults="throttle@100-160")
    flagged = [p for p in found["points"] if p["throttled"]]
    assert flagged
    assert {word for p in flagged for words in p["throttled"] for word in words} == {"SwPowerCap"}
    fma = next(c for c in found["ceilings"]["compute"] if c["op"] == "fma")
    assert fma["value"] == pytest.approx(A100_LIKE.ceilings["fp32"], rel=0.01)


def test_nvml_is_asked_beside_every_sample_not_once_for_all_of_a_visit(tmp_path):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults=",".join(f"throttle@{k}" for k in range(1, 2000, 3)))
    clock = A100_LIKE.says["clock"] * 1e3
    mixed = [p for p in found["points"] if p["throttled"] and 0 < sum(map(bool, p["throttled"])) < len(p["throttled"])]
    assert mixed
    for point in mixed:
        for clock_hz, words in zip(point["clock_hz"], point["throttled"], strict=True):
            assert (clock_hz, words) in [(clock, []), (pytest.approx(0.6 * clock), ["SwPowerCap"])]
    # What is flagged is what was slow: 60 % of the clock are 60 % of the rate, where the SMs alone decide.
    (point, *_) = [p for p in mixed if p["measures"] == "compute"]
    slow_s = {time_s for time_s, words in zip(point["samples_s"], point["throttled"], strict=True) if words}
    quick_s = {time_s for time_s, words in zip(point["samples_s"], point["throttled"], strict=True) if not words}
    assert min(slow_s) == pytest.approx(max(quick_s) / 0.6, rel=0.01)


def test_a_device_that_always_throttles_keeps_its_ceilings_with_a_flag(tmp_path):
    found = sweep([A100_LIKE], tmp_path, *FEW, faults="throttle")
    fma = next(c for c in found["ceilings"]["compute"] if c["op"] == "fma")
    assert fma["value"] == pytest.approx(0.6 * A100_LIKE.ceilings["fp32"], rel=0.01)
    assert fma["flags"] == ["throttled"]
    (warning,) = [w for w in found["warnings"] if w["code"] == "throttled"]
    assert "10 of 10 samples of DRAM copy were throttled" in warning["message"]
    assert "(SwPowerCap), median clock 846 MHz of 1.41 GHz" in warning["message"]
    assert "disturbed" not in {w["code"] for w in found["warnings"]}
    assert fma["clock_hz"] == pytest.approx(0.6 * A100_LIKE.says["clock"] * 1e3, rel=0.01)


@pytest.mark.parametrize(("nvml", "code"), [("absent", "no_nvml"), ("unsupported", "no_clocks"), ("forbidden", "no_nvml")])
def test_without_nvml_everything_works_and_says_what_is_missing(tmp_path, nvml, code):
    found = sweep([A100_LIKE], tmp_path, *FEW, nvml=nvml)
    assert code in {w["code"] for w in found["warnings"]}
    assert {c["op"] for c in found["ceilings"]["bandwidth"]} == {"read", "write", "copy", "triad", "update"}
    assert all(clock is None for point in found["points"] for clock in point["clock_hz"])


@pytest.mark.parametrize(("mask", "word"), [(0x10, "SyncBoost"), (0x100, "DisplayClockSetting"), (0x4000, "unknown:0x4000")])
def test_clocks_that_somebody_holds_are_a_warning_and_no_throttling(tmp_path, mask, word):
    found = sweep([replace(A100_LIKE, says={**A100_LIKE.says, "reasons": mask})], tmp_path, *FEW)
    (warning,) = [w for w in found["warnings"] if w["code"] == "clocks_held"]
    assert word in warning["message"]
    assert not any(p["throttled"] for p in found["points"])


def test_another_program_on_the_device_is_a_warning(tmp_path):
    shared = replace(A100_LIKE, says={**A100_LIKE.says, "others": 2})
    found = sweep([shared], tmp_path, *FEW)
    (warning,) = [w for w in found["warnings"] if w["code"] == "device_shared"]
    assert warning["value"] == 2
    assert "2 other processes compute on cuda:0 (4242, 4243)" in warning["message"]
    assert found["environment"]["other_processes"] == 2


CROWDED = replace(A100_LIKE, says={**A100_LIKE.says, "mem_of_others": 79.6e9})


def test_little_free_memory_is_said_before_the_sweep(tmp_path):
    config = tmp_path / "any_size.toml"
    config.write_text((CONFIGS / "few.toml").read_text().replace("largest_bytes = 268435456\n", ""))
    found = sweep([CROWDED], tmp_path, "--config", str(config), "--no-plot", "--precision", "fp32")
    assert "dram_not_reached" in {w["code"] for w in found["warnings"]}
    assert not [c for c in found["ceilings"]["bandwidth"] if c["level"] == "DRAM"]


def test_a_size_of_one_s_own_that_free_memory_cannot_hold_is_refused(tmp_path):
    done = ert([CROWDED], "sweep", "--device", "0", "--out", str(tmp_path), *FEW)
    assert done.returncode == 1
    # 0.4 GB are free, of which 256 MiB are left alone.
    assert "268435456 is beyond the 131564544 bytes that a sweep may take here" in done.stderr


@pytest.mark.parametrize(("device", "near_bytes"), [(H200_LIKE, 25e6), (A100_LIKE, 20e6)], ids=["H200", "A100"])
def test_the_near_part_of_an_l2_in_two_halves_makes_the_ceiling(tmp_path, device, near_bytes):
    """A100 and H100 reach their L2 rate only as far as half of it; beyond, the rest comes over the bridge between the halves."""
    halves = replace(device, ceilings={**device.ceilings, "l2near": near_bytes, "l2far": 0.6 * device.ceilings["l2bw"]})
    found = sweep([halves], tmp_path, *QUICKLY, "--precision", "fp32")
    l2 = {c["op"]: c for c in found["ceilings"]["bandwidth"] if c["level"] == "L2"}
    for op in ("read", "write", "copy", "triad", "update"):
        assert l2[op]["value"] == pytest.approx(device.ceilings["l2bw"], rel=0.01), op
    assert l2["read"]["capacity_bytes"] > near_bytes / 2
