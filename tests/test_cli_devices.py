"""``ert devices`` as a program."""

from __future__ import annotations

import json
import os
from pathlib import Path

from programs import check_schema, ert


def test_the_cpu_is_listed_with_the_cores_this_process_may_use():
    done = ert("devices")
    assert done.returncode == 0
    row = next(line for line in done.stdout.splitlines() if line.startswith("cpu "))
    assert row.rstrip().endswith("yes")
    assert "core" in row
    assert "ert sweep --device" in done.stderr


def test_the_json_fits_its_schema_and_stands_alone_on_stdout(tmp_path: Path):
    done = ert("devices", "--json", "-")
    document = json.loads(done.stdout)
    check_schema(document, "devices")
    assert {"cpu"} <= {device["id"] for device in document["devices"]}
    assert ert("devices", "--json", "devices.json", cwd=tmp_path).stdout.startswith("device")
    assert json.loads((tmp_path / "devices.json").read_text()) == document


def test_a_device_that_cannot_be_used_says_why_and_what_to_install():
    document = json.loads(ert("devices", "--json", "-", CC="/nowhere/cc").stdout)
    (cpu,) = (device for device in document["devices"] if device["id"] == "cpu")
    assert "/nowhere/cc does not run: No such file or directory" in cpu["reason"]
    assert "pip install 'ert-roofline[cc]'" in cpu["reason"]


def test_a_list_without_a_usable_device_is_no_error_and_points_to_the_doctor():
    done = ert("devices", CC="/nowhere/cc", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0
    assert "ert doctor" in done.stderr


def test_one_core_is_one_core():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert "1 core " in ert("devices").stdout
    finally:
        os.sched_setaffinity(0, allowed)


def test_help_ends_with_an_example():
    assert ert("devices", "--help").stdout.splitlines()[-1].strip().startswith("ert devices")
