"""``ert sweep --device 0`` end to end on soft GPUs: planted ceilings are found."""

from dataclasses import replace
from functools import cache

import pytest
from example_gpu import EXAMPLE_GPU
from softcuda.devices import A100_LIKE, H200_LIKE, RTX4090_LIKE
from softcuda.sweeps import CONFIGS, FEW, QUICKLY, SECOND, ert, sweep

from ert.ceilings import load, save


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


def neighbours(found, kernel, size):
    """The sizes of a kernel's curve on either side of a size; they are whole trips of every SM, whatever was asked for."""
    swept = {p["working_set_bytes"] for p in found["points"] if p["id"].startswith(f"{kernel}/fp32/curve/")}
    return max(s for s in swept if s <= size), min(s for s in swept if s > size)


@by_name
def test_the_levels_are_those_of_the_device_and_end_between_the_sizes_where_they_were_planted(full_sweep, device):
    found, says, planted = full_sweep(device), device.says, device.ceilings
    bandwidth = found["ceilings"]["bandwidth"]
    assert list(dict.fromkeys(c["level"] for c in bandwidth)) == ["shared", "L1", "L2", "DRAM"]
    ends = {
        "L1": ("read", left_at(says["l1"] * says["sms"], planted["l1bw"], planted["l2bw"])),
        "L2": ("read_l2", left_at(says["l2"], planted["l2bw"], planted["dram"])),
    }
    for c in bandwidth:
        if c["level"] not in ends:
            assert c["capacity_bytes"] is None
            continue
        low, high = neighbours(found, *ends[c["level"]])
        assert low <= c["capacity_bytes"] <= high, (c["level"], c["op"])
        # Four blocks per SM walk 16 KiB each in a trip: a third of the A100's L1.
        assert high / low < 1.34


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
