"""What can go wrong on a GPU in the middle of a sweep, on soft ones: a fault costs the points it touches, never the file."""

import json
from dataclasses import replace

import pytest
from softcuda.devices import A100_LIKE
from softcuda.sweeps import CONFIGS, FEW, SECOND, ert, sweep


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
    done = ert([A100_LIKE], "sweep", "--device", "0", "--out", str(tmp_path), "--json", "-", *FEW, faults="lost@200")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    status = [p["status"] for p in found["points"]]
    assert status.count("ok") > 5
    assert status.count("error") > 5
    assert any("lost after an error" in (p["reason"] or "") for p in found["points"])
    (journal,) = (tmp_path / "cuda-0").glob("*.points.jsonl")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: cuda:0: lost after an error (")
    assert f"the rest: ert sweep --device cuda:0 --resume {journal} and the same options." in last


def test_what_a_lost_device_did_not_get_to_is_measured_by_resume(tmp_path):
    sweep([A100_LIKE], tmp_path, *FEW, faults="lost@200", expect=1)
    (journal,) = (tmp_path / "cuda-0").glob("*.points.jsonl")
    whole = sweep([A100_LIKE], tmp_path, *FEW, "--resume", str(journal))
    assert {p["status"] for p in whole["points"]} == {"ok", "unsupported"}
    assert not journal.exists()


def test_a_device_that_is_lost_late_has_the_ceilings_of_the_samples_before(tmp_path):
    config = tmp_path / "rounds.toml"
    # The first 800 launches or so visit every point once.
    config.write_text((CONFIGS / "few.toml").read_text().replace("_samples = 5", "_samples = 20"))
    found = sweep([A100_LIKE], tmp_path, "--config", str(config), *FEW[2:], faults="lost@1000", expect=1)
    assert {p["status"] for p in found["points"]} == {"ok", "unsupported"}
    short = [w["message"] for p in found["points"] for w in p["warnings"] if w["code"] == "cut_short"]
    assert len(short) > 5
    assert any("unknown error" in message for message in short)
    assert "points_cut_short" in {w["code"] for w in found["warnings"]}
    values = {(c["level"], c["op"]): c["value"] for c in found["ceilings"]["bandwidth"]}
    assert values["DRAM", "read"] == pytest.approx(A100_LIKE.ceilings["dram"], rel=0.01)
    assert {op for _, op in values} == {"read", "write", "copy", "triad", "update"}
    (fma,) = [c for c in found["ceilings"]["compute"] if c["op"] == "fma"]
    assert fma["value"] == pytest.approx(A100_LIKE.ceilings["fp32"], rel=0.01)


def test_a_device_that_is_lost_costs_nothing_of_the_next_one(tmp_path):
    first, second = sweep([A100_LIKE, SECOND], tmp_path, *FEW, device="all", faults="lost@200", expect=1)
    assert {p["status"] for p in first["points"]} == {"ok", "error", "unsupported"}
    assert {p["status"] for p in second["points"]} == {"ok", "unsupported"}
    assert second["ceilings"]["compute"]


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
