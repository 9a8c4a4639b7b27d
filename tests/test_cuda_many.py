"""Several GPUs on one host: all of them by one command, and each by a process of its own that calls its GPU ``cuda:0``."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema
from softcuda.devices import A100_LIKE, H200_LIKE, environment

from ert.ceilings import load
from ert.lock import device_lock

CONFIG = Path(__file__).parent / "data" / "cuda" / "few.toml"
FEW = ("--config", str(CONFIG), "--no-plot", "--precision", "fp32", "--level", "DRAM")
SECOND = replace(H200_LIKE, uuid="bbbbbbbb-1111-1111-1111-111111111111", pci="0000:b1:00.0")
BOTH = [A100_LIKE, SECOND]


def start(*arguments, visible=None, devices=BOTH, **options):
    given = environment(devices, **options) | ({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    return subprocess.Popen([PROGRAM, "sweep", *FEW, *arguments], env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ert(*arguments, **options):
    process = start(*arguments, **options)
    stdout, stderr = process.communicate(timeout=200)
    assert "Traceback" not in stderr
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def names(folder):
    """Device folder -> names of the devices whose ceilings lie there."""
    return {path.name: [load(file).device["name"] for file in sorted(path.glob("*.json"))] for path in folder.iterdir()}


def test_all_sweeps_every_gpu_into_its_own_folder_and_lists_them_as_json(tmp_path):
    done = ert("--device", "all", "--out", str(tmp_path), "--json", "-")
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == {"cuda-0": [A100_LIKE.name], "cuda-1": [SECOND.name]}
    found = json.loads(done.stdout)
    assert [each["device"]["uuid"] for each in found] == [f"GPU-{A100_LIKE.uuid}", f"GPU-{SECOND.uuid}"]
    for each, planted in zip(found, BOTH, strict=True):
        check_schema(each, "ceilings")
        (dram,) = [c for c in each["ceilings"]["bandwidth"] if (c["level"], c["op"]) == ("DRAM", "read")]
        assert dram["value"] == pytest.approx(planted.ceilings["dram"], rel=0.01)


def test_a_device_that_fails_costs_its_own_file_only_and_the_exit_code_says_so(tmp_path):
    with device_lock(f"GPU-{A100_LIKE.uuid}"):
        done = ert("--device", "all", "--out", str(tmp_path), "--json", str(tmp_path / "all.json"))
    assert done.returncode == 1
    assert "Error: cuda:0 was not measured. cuda:0: is being measured already by" in done.stderr
    assert not (tmp_path / "cuda-0").exists()
    assert [each["device"]["id"] for each in json.loads((tmp_path / "all.json").read_text())] == ["cuda:1"]
    assert "H200-like" in done.stdout


def test_when_every_device_fails_nothing_is_written(tmp_path):
    done = ert("--device", "all", "--out", str(tmp_path), "--json", "-", faults="busy")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("was not measured") == 2
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_the_device_at_hand_and_those_behind_it(tmp_path):
    process = start("--device", "all", "--out", str(tmp_path))
    for _ in range(600):
        if any(path.read_text().count("\n") > 3 for path in tmp_path.glob("cuda-0/*.points.jsonl")):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "go on with: ert sweep --device cuda:0 --resume" in stderr
    assert not (tmp_path / "cuda-1").exists()


def test_one_sweep_is_resumed_not_all(tmp_path):
    done = ert("--device", "all", "--out", str(tmp_path), "--resume", "x.points.jsonl")
    assert done.returncode == 2
    assert "name it with --device" in done.stderr


@pytest.mark.parametrize("first", ["0", f"GPU-{A100_LIKE.uuid}"])
def test_ranks_that_see_one_gpu_each_measure_side_by_side_into_one_folder(tmp_path, first):
    ranks = [start("--device", "cuda:0", "--out", str(tmp_path), visible=visible) for visible in (first, "1")]
    said = [rank.communicate(timeout=200)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert sorted(names(tmp_path)["cuda-0"]) == sorted([A100_LIKE.name, SECOND.name])


@pytest.mark.parametrize(
    ("device", "visible"),
    [("cuda:1", None), ("cuda:0", "1"), ("GPU-bbbbbbbb", None), ("0", f"GPU-{SECOND.uuid}")],
)
def test_one_gpu_is_measured_by_one_process_whatever_it_is_called(tmp_path, device, visible):
    with device_lock(f"GPU-{SECOND.uuid}"):
        done = ert("--device", device, "--out", str(tmp_path), visible=visible)
    assert done.returncode == 4
    shown = "cuda:0" if device == "0" else device
    assert f"{shown}: is being measured already by process {os.getpid()}" in done.stderr


def test_two_slices_of_one_gpu_have_locks_of_their_own(tmp_path):
    slices = [
        replace(A100_LIKE, name="A100-like MIG 1g.10gb", says={**A100_LIKE.says, "sms": 14, "mem": 10e9, "mig": 1}, uuid=uuid)
        for uuid in ("cccccccc-0000-0000-0000-000000000000", "cccccccc-0000-0000-0000-000000000001")
    ]
    with device_lock("MIG-cccccccc-0000-0000-0000-000000000001"):
        done = ert("--device", "0", "--out", str(tmp_path), visible="MIG-cccccccc-0000-0000-0000-000000000000", devices=slices)
    assert done.returncode == 0, done.stderr


ONE, OTHER = "aaaaaaaa-0000-0000-0000-000000000000", "bbbbbbbb-1111-1111-1111-111111111111"
# CUDA's devices in the order of their addresses, and NVML's in the other order: no index of one is good for the other.
PAIR = [replace(A100_LIKE, uuid=ONE, pci="0000:b1:00.0"), replace(H200_LIKE, uuid=OTHER, pci="0000:65:00.0")]
# CUDA_VISIBLE_DEVICES -> what cuda:0, cuda:1, ... are; the list ends at the first entry that is no device.
VISIBLE = {
    None: [ONE, OTHER],
    "1": [OTHER],
    "1,0": [OTHER, ONE],
    "GPU-bbbb": [OTHER],
    f"GPU-{ONE},1": [ONE, OTHER],
    "1,-1,0": [OTHER],
    "-1": [],
    "": [],
    "MIG-cccccccc-0000-0000-0000-000000000000": [],
}
CLOCKS = """
import json
from ert.devices import list_devices
from ert.devices.cuda import CudaDevice

found = []
for listed in (each for each in list_devices() if each.id.startswith("cuda:")):
    device = CudaDevice(int(listed.id.partition(":")[2]))
    found.append([device.facts()["uuid"], device.read_monitor().clock_hz])
    device.close()
print(json.dumps(found))
"""


@pytest.mark.parametrize(("visible", "uuids"), VISIBLE.items())
def test_every_visible_gpu_has_its_own_uuid_and_its_own_clock(visible, uuids):
    given = environment(PAIR) | ({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    done = subprocess.run([sys.executable, "-c", CLOCKS], env=given, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    clocks = {f"GPU-{gpu.uuid}": 1e3 * gpu.says["clock"] for gpu in PAIR}
    assert json.loads(done.stdout) == [[f"GPU-{uuid}", clocks[f"GPU-{uuid}"]] for uuid in uuids]


@pytest.mark.parametrize("visible", [visible for visible, uuids in VISIBLE.items() if not uuids])
def test_a_list_without_a_device_is_named_in_the_message(tmp_path, visible):
    done = ert("--device", "0", "--out", str(tmp_path), visible=visible, devices=PAIR)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: No GPU can be used: ")
    assert f"CUDA_VISIBLE_DEVICES is '{visible}'" in line
    assert "`nvidia-smi` lists the devices of this machine." in line


def test_a_device_behind_the_end_of_the_list_is_refused_with_how_many_there_are(tmp_path):
    done = ert("--device", "1", "--out", str(tmp_path), visible="1,-1,0", devices=PAIR)
    assert done.returncode == 1
    assert "--device cuda:1: there is no such device; 1 can be seen (`ert devices`)." in done.stderr


def test_a_file_says_why_a_slice_has_no_clock_of_its_own(tmp_path):
    a_slice = replace(PAIR[1], name="H200-like MIG 1g.18gb", says={**H200_LIKE.says, "sms": 16, "mem": 18e9, "mig": 1})
    done = ert("--device", "cuda:0", "--out", str(tmp_path), "--json", "-", visible=f"MIG-{OTHER}", devices=[PAIR[0], a_slice])
    found = json.loads(done.stdout)
    assert found["device"]["uuid"] == f"MIG-{OTHER}"
    assert {clock for point in found["points"] for clock in point["clock_hz"]} == {None}
    untold = found["environment"]["nvml_not_available"]
    assert untold["clock_hz"] == "not available on this device: Not Supported"
    assert {"memory_clock_hz", "power_w", "temperature_c", "reasons", "power_limit_w", "compute_mode"} <= set(untold)
    assert found["device"]["power_limit_w"] is None


def test_a_driver_that_tells_no_clocks_leaves_them_and_the_limits_out(tmp_path):
    silent = replace(A100_LIKE, says={**A100_LIKE.says, "clock": 0, "memclock": 0, "bus": 0})
    done = ert("--device", "0", "--out", str(tmp_path), "--json", "-", devices=[silent])
    found = json.loads(done.stdout)
    assert [found["device"][key] for key in ("clock_max_hz", "memory_clock_max_hz", "memory_bus_bits")] == [None] * 3
    assert found["environment"]["nvml_not_available"]["clock_hz"] == "not available on this device: NVML answers 0"
    (dram,) = [c for c in found["ceilings"]["bandwidth"] if (c["level"], c["op"]) == ("DRAM", "read")]
    assert (dram["limit"], dram["clock_hz"]) == (None, None)
    assert found["ceilings"]["compute"]
    assert {c["limit"] for c in found["ceilings"]["compute"]} == {None}
