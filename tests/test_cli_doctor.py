"""``ert doctor`` as a program, on machines that lack this and that."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema, ert
from softcuda.build import driver_folder

from ert.lock import device_lock

SECTIONS = ("Devices", "Software", "CUDA", "Machine", "Right now")


def facts(**environment: str) -> dict[tuple[str, str], dict[str, object]]:
    done = ert("doctor", "--json", "-", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    check_schema(document, "doctor")
    return {(fact["section"], fact["name"]): fact for fact in document["facts"]}


@pytest.fixture(scope="module")
def here() -> dict[tuple[str, str], dict[str, object]]:
    return facts()


def test_every_section_is_there_and_the_last_line_says_what_can_run():
    done = ert("doctor")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    assert lines[-1].endswith("A sweep can run: ert sweep --device cpu")
    assert "\x1b" not in done.stdout


def test_what_a_sweep_stands_on_is_reported(here: dict[tuple[str, str], dict[str, object]]):
    names = {name for _, name in here}
    wanted = {"Python", "packages", "C compiler", "kernel cache", "driver", "PyCUDA", "NVML", "CUDA compiler", "CPU", "cores", "caches"}
    wanted |= {"memory", "huge pages", "governor", "turbo", "throttling", "virtual machine", "load", "busy programs", "sweep of cpu"}
    assert wanted <= names
    assert here["Machine", "cores"]["value"] == sorted(here["Machine", "cores"]["value"])


def test_clock_quiet_cores_and_latency_are_measured(here: dict[tuple[str, str], dict[str, object]]):
    clocks = here["Right now", "clock"]["value"]
    assert all(0.5e9 < core["clock_hz"] < 7e9 for core in clocks)
    assert {"cpu", "issue_width", "disturbed_share"} <= set(here["Right now", "quiet cores"]["value"][0])
    if len(clocks) > 1:
        assert all(1e-9 < pair["latency_s"] < 1e-4 for pair in here["Right now", "core to core"]["value"])


def test_without_a_compiler_it_says_what_to_install_and_goes_on():
    found = facts(CC="/nowhere/cc", CUDA_VISIBLE_DEVICES="")
    assert found["Software", "C compiler"]["status"] == "problem"
    assert "pip install 'ert-roofline[cc]'" in str(found["Software", "C compiler"]["remedy"])
    assert found["Devices", "cpu"]["status"] == "problem"
    assert found["Right now", "probes"]["status"] == "note"
    assert found["Machine", "memory"]["status"] in ("ok", "problem")


def test_a_driver_and_a_gpu_make_missing_parts_a_problem():
    found = facts(LD_LIBRARY_PATH=str(driver_folder()), SOFTCUDA_DEVICES="name=Soft GPU")
    assert found["CUDA", "driver"]["text"] == "for CUDA 13.0, 1 GPU"
    assert str(found["CUDA", "GPU 0"]["text"]).startswith("Soft GPU")
    assert found["CUDA", "PyCUDA"]["status"] in ("ok", "problem")
    assert found["CUDA", "PyCUDA"]["status"] == "ok" or "python -m ert.pycuda_setup" in str(found["CUDA", "PyCUDA"]["remedy"])


def test_a_cache_that_cannot_be_written_is_a_note_with_the_variable_to_set(tmp_path: Path):
    (tmp_path / "file").write_text("")
    found = facts(ERT_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert found["Software", "kernel cache"]["status"] == "note"
    assert "ERT_CACHE_DIR" in str(found["Software", "kernel cache"]["remedy"])


def test_kernels_of_ones_own_are_mentioned(tmp_path: Path):
    assert facts(ERT_KERNELS_CPU=str(tmp_path))["Software", "CPU kernels"]["status"] == "note"


def test_a_running_sweep_is_named_and_not_disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ERT_LOCK_DIR", str(tmp_path))
    with device_lock("cpu"):
        found = facts(ERT_LOCK_DIR=str(tmp_path))
    assert f"process {os.getpid()} " in str(found["Right now", "sweep of cpu"]["text"])
    assert "would disturb the sweep" in str(found["Right now", "probes"]["text"])
    assert ("Right now", "clock") not in found


def test_while_a_sweep_runs_the_last_line_says_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ERT_LOCK_DIR", str(tmp_path))
    with device_lock("cpu"):
        last = ert("doctor", ERT_LOCK_DIR=str(tmp_path)).stdout.splitlines()[-1]
    assert last.endswith("A sweep runs already: wait for it, then ert sweep --device cpu")


def test_one_core_is_enough():
    script = "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [str(Path(PROGRAM).with_name("python")), "-c", script, PROGRAM, "doctor"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0
    assert "one core only" in done.stdout


def test_help_ends_with_an_example():
    assert ert("doctor", "--help").stdout.splitlines()[-1].strip().startswith("ert doctor")
