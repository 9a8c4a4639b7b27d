"""configs/reframe/ert_check.py under ReFrame itself, with its local scheduler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ert.ceilings import Ceilings, load, save

HERE = Path(__file__).parent
CHECK = HERE.parent / "configs" / "reframe" / "ert_check.py"
TINY = HERE / "data" / "history" / "tiny.toml"
REFRAME = str(Path(sys.executable).with_name("reframe"))
PLANTED = f"{sys.executable} {HERE / 'two_fakes.py'}"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Ceilings:
    """A healthy sweep of the planted device."""
    out = tmp_path_factory.mktemp("reference")
    command = [sys.executable, str(HERE / "two_fakes.py"), "sweep", "--device", "fake:0", "--config", str(TINY), "--out", str(out)]
    subprocess.run([*command, "--no-plot"], check=True, capture_output=True)
    return load(next(out.rglob("*.json")))


def reframe(folder: Path, **variables: str) -> tuple[int, dict[str, object]]:
    """(exit code, the report of the one test case) of a run with these variables of the check."""
    settings = [word for name, value in variables.items() for word in ("-S", f"ert_sweep.{name}={value}")]
    report = folder / "report.json"
    done = subprocess.run(
        [REFRAME, "-c", str(CHECK), "--prefix", str(folder / "out"), "--report-file", str(report), *settings, "-r"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=300,
        # ReFrame keeps the topology of the host in the home folder; a sweep keeps its kernels beside the test's.
        env={**os.environ, "HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert report.exists(), done.stdout + done.stderr
    return done.returncode, json.loads(report.read_text())["runs"][0]["testcases"][0]


def planted(folder: Path, reference: Ceilings | None = None, **variables: str) -> tuple[int, dict[str, object]]:
    """A run on the planted device."""
    if reference:
        save(reference, folder / "reference.json")
        variables["reference_file"] = str(folder / "reference.json")
    return reframe(folder, executable=PLANTED, device="fake:0", config=str(TINY), **variables)


def scaled(reference: Ceilings, level: str, factor: float) -> Ceilings:
    other = tuple(replace(c, value=c.value * factor, ci95=None) if c.level == level else c for c in reference.bandwidth_ceilings)
    return replace(reference, bandwidth_ceilings=other)


def test_a_healthy_device_passes_against_its_reference(tmp_path: Path, reference: Ceilings) -> None:
    code, case = planted(tmp_path, reference)
    assert (code, case["result"]) == (0, "pass")
    found = {name.rpartition(":")[2]: row for name, row in case["perfvalues"].items()}
    assert {"L1_bandwidth", "DRAM_bandwidth", "fp64_vector_rate"} <= set(found)
    value, expected, low, high, unit, result = found["DRAM_bandwidth"]
    assert value == pytest.approx(expected, rel=0.02)
    assert (expected, low, high, unit, result) == (reference.bandwidth("DRAM"), -0.03, None, "B/s", "pass")


def test_a_device_below_its_reference_fails_in_its_performance(tmp_path: Path, reference: Ceilings) -> None:
    code, case = planted(tmp_path, scaled(reference, "DRAM", 1.1))
    assert (code, case["result"], case["fail_phase"]) == (1, "fail", "performance")
    assert "DRAM_bandwidth" in case["fail_reason"]


def test_the_tolerance_is_the_persons(tmp_path: Path, reference: Ceilings) -> None:
    assert planted(tmp_path, scaled(reference, "DRAM", 1.1), tolerance="0.2")[0] == 0


def test_a_roof_of_the_reference_that_was_not_measured_fails_in_its_sanity(tmp_path: Path, reference: Ceilings) -> None:
    other = tuple(replace(c, level="shared") if c.level == "L1" else c for c in reference.bandwidth_ceilings)
    code, case = planted(tmp_path, replace(reference, bandwidth_ceilings=other, roofs=()))
    assert (code, case["fail_phase"]) == (1, "sanity")
    assert "shared_bandwidth" in case["fail_reason"]


def test_without_a_reference_the_ceilings_are_logged(tmp_path: Path) -> None:
    code, case = planted(tmp_path)
    assert (code, case["result"]) == (0, "pass")
    assert len(case["perfvalues"]) >= 5


def test_a_device_that_is_not_there_fails(tmp_path: Path) -> None:
    assert reframe(tmp_path, executable=PLANTED, device="cuda:9")[0] == 1
