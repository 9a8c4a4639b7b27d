"""Burst and sustained ceilings on a soft GPU whose power cap lowers its clock after a while of the same work without a pause."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema
from softcuda.devices import H200_LIKE, environment

CONFIG = Path(__file__).parent / "data" / "cuda" / "sustained.toml"
ARGUMENTS = ("--config", str(CONFIG), "--no-plot", "--precision", "bf16", "--level", "DRAM", "--json", "-")
# Visits last some 50 ms; the clock falls to 70 % after 0.15 s of one kernel.
CAPPED = replace(H200_LIKE, ceilings={**H200_LIKE.ceilings, "cap_s": 0.15, "cap_clock": 0.7})


def sweep(device, folder, *arguments):
    done = subprocess.run(
        [PROGRAM, "sweep", "--device", "0", "--out", str(folder), *ARGUMENTS, *arguments],
        env=environment([device]),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    check_schema(found, "ceilings")
    return found


@pytest.fixture(scope="module")
def capped(tmp_path_factory):
    return sweep(CAPPED, tmp_path_factory.mktemp("capped"))


def compute(found, path):
    (ceiling,) = [c for c in found["ceilings"]["compute"] if c["path"] == path and c["roof"]]
    return ceiling


@pytest.mark.parametrize(("path", "planted"), [("tensor", "mma_bf16"), ("vector", "bf16")])
def test_a_power_cap_makes_the_sustained_rate_the_roof_with_the_burst_beside_it(capped, path, planted):
    roof = compute(capped, path)
    assert roof["value"] == pytest.approx(0.7 * CAPPED.ceilings[planted], rel=0.01)
    assert roof["burst"]["value"] == pytest.approx(CAPPED.ceilings[planted], rel=0.01)
    clock_hz = CAPPED.says["clock"] * 1e3
    assert (roof["clock_hz"], roof["burst"]["clock_hz"]) == (pytest.approx(0.7 * clock_hz), clock_hz)
    # A power cap is what a sustained ceiling is about, and no excuse for it.
    assert roof["flags"] == []


def test_the_limit_beside_a_sustained_roof_is_the_one_at_its_own_clock(capped):
    roof = compute(capped, "tensor")
    # 2048 FMAs in bf16 per SM and clock (CUDA C++ Programming Guide, arithmetic instructions), at 70 % of the highest clock.
    assert roof["limit"] == pytest.approx(2 * 2048 * 132 * 0.7 * 1.98e9, rel=1e-3)


def test_the_ridge_is_that_of_the_sustained_roof(capped):
    (dram,) = [c for c in capped["ceilings"]["bandwidth"] if c["level"] == "DRAM" and c["roof"]]
    (ridge,) = [r for r in capped["roofs"] if (r["level"], r["path"]) == ("DRAM", "tensor")]
    assert ridge["ridge_flop_per_byte"] == pytest.approx(compute(capped, "tensor")["value"] / dram["value"])


def test_what_sustains_its_rate_has_no_burst(capped):
    dram = [c for c in capped["ceilings"]["bandwidth"] if c["level"] == "DRAM"]
    assert dram
    assert not any("burst" in c for c in dram)


def test_sustained_samples_are_points_of_their_own_with_the_reason_beside_them(capped):
    points = [p for p in capped["points"] if p.get("sustain_s")]
    assert {p["sustain_s"] for p in points} == {0.3}
    (tensor,) = [p for p in points if p["path"] == "tensor"]
    assert tensor["id"].endswith("/sustained")
    assert tensor["id"] in compute(capped, "tensor")["point_ids"]
    assert {tuple(words) for words in tensor["throttled"]} == {("SwPowerCap",)}


def test_a_device_without_a_cap_sustains_everything(tmp_path):
    found = sweep(H200_LIKE, tmp_path)
    assert [p for p in found["points"] if p.get("sustain_s")]
    assert not [c for c in [*found["ceilings"]["compute"], *found["ceilings"]["bandwidth"]] if "burst" in c]
