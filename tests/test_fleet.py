"""ert.fleet: devices that stand out among their like, on planted fleets."""

from __future__ import annotations

import datetime
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from history_store import NAMES, a_run, night_of, usual, write_fleet
from programs import check_schema

from ert.errors import AnalysisError
from ert.fleet import compare_fleet, fleet_z
from ert.history_index import open_index
from ert.store import add_run

DRAM, L2 = NAMES.index("DRAM read"), NAMES.index("L2 read")


def planted(devices: int, nights: int, seed: int = 1) -> np.ndarray:
    """(devices, nights, 4): cards differ by 0.8 % for good and by 0.4 % from night to night."""
    generator = np.random.default_rng(seed)
    return 0.008 * generator.standard_normal((devices, 1, 4)) + 0.004 * generator.standard_normal((devices, nights, 4))


def test_a_card_that_was_always_slow_is_found_with_its_size_and_start(tmp_path: Path) -> None:
    values = planted(40, 6)
    values[17, :, DRAM] = np.log(0.92)
    values[3, 4:, L2] = np.log(1.08)
    write_fleet(tmp_path, values)
    found = compare_fleet(open_index(tmp_path))
    assert [(o.device, o.ceiling, o.since) for o in found.outliers] == [
        ("GPU-0017", "DRAM read", night_of(0)),
        ("GPU-0003", "L2 read", night_of(4)),
    ]
    median = float(np.median(np.exp(values[:, -1, DRAM])))
    assert found.outliers[0].change == pytest.approx(0.92 / median - 1)
    assert found.outliers[0].host == "node0008"
    assert found.is_alarming
    check_schema(found.to_dict(), "fleet")
    json.dumps(found.to_dict(), allow_nan=False)


def test_an_outlier_upwards_alone_is_no_alarm(tmp_path: Path) -> None:
    values = planted(20, 1)
    values[3, 0, L2] = np.log(1.2)
    write_fleet(tmp_path, values)
    found = compare_fleet(open_index(tmp_path))
    assert len(found.outliers) == 1
    assert not found.is_alarming


def test_an_earlier_night_is_judged_by_its_own_fleet(tmp_path: Path) -> None:
    values = planted(20, 4)
    values[5, 3, DRAM] = np.log(0.9)
    values[6, 2, :] = np.nan
    write_fleet(tmp_path, values)
    index = open_index(tmp_path)
    assert compare_fleet(index, datetime.date.fromisoformat(night_of(2))).outliers == ()
    assert {c.devices for c in compare_fleet(index, datetime.date.fromisoformat(night_of(2))).ceilings} == {19}
    assert len(compare_fleet(index).outliers) == 1
    with pytest.raises(AnalysisError, match="has nights from"):
        compare_fleet(index, datetime.date(2030, 1, 1))


def test_devices_of_another_kind_or_sweep_are_not_compared(tmp_path: Path) -> None:
    write_fleet(tmp_path, planted(10, 1))
    for number in range(3):
        add_run(tmp_path, a_run(0, usual(0.5), uuid=f"OTHER-{number}", device={"name": "Small GPU"}))
        add_run(tmp_path, a_run(0, usual(0.5), uuid=f"QUICK-{number}", config={"sha256": "b" * 64}))
    found = compare_fleet(open_index(tmp_path))
    assert found.outliers == ()
    assert {c.devices for c in found.ceilings} == {10}
    assert [f.message for f in found.findings] == [
        "Example GPU: fewer than 8 devices; not compared",
        "Small GPU: fewer than 8 devices; not compared",
    ]


def test_less_than_one_in_ten_thousand_healthy_devices_stands_out() -> None:
    values = 0.015 * np.random.default_rng(3).standard_normal((30, 30_000))
    _, _, z = fleet_z(values)
    away = np.abs(values - np.median(values, axis=0))
    assert ((np.abs(z) > 3.9) & (away > 0.03)).mean() < 1e-4


def test_center_and_spread_are_median_and_mad() -> None:
    values = np.array([[0.0], [0.01], [0.02], [0.03], [np.nan], [9.0]])
    center, sigma, z = fleet_z(values)
    assert center[0] == pytest.approx(0.02)
    assert sigma[0] == pytest.approx(1.4826 * 0.01)
    assert np.isnan(z[4, 0])
    assert z[2, 0] == 0


def test_a_fleet_that_agrees_to_the_last_bit_has_no_outliers() -> None:
    _, _, z = fleet_z(np.zeros((20, 1)))
    assert (z == 0).all()


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """In memory where there is such a folder: making 180,000 files on a disk takes longer than everything that is tested."""
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 4e9 else None
    folder = Path(tempfile.mkdtemp(prefix="ert-fleet-", dir=parent))
    yield folder
    shutil.rmtree(folder)


PROGRAM = """
import resource, sys
from ert.cli import cli, execute
code = execute(cli, ["history", "fleet", "--store", sys.argv[1], "--json", sys.argv[2]])
used = resource.getrusage(resource.RUSAGE_SELF)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
"""


def test_two_thousand_devices_and_ninety_nights_take_less_than_a_minute_and_4_gb(memory_folder: Path) -> None:
    values = planted(2000, 90)
    values[1234, 60:, DRAM] += np.log(0.9)
    store, out = memory_folder / "store", memory_folder / "fleet.json"
    write_fleet(store, values)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(store), str(out)], capture_output=True, text=True, check=True)
    code, cpu_s, peak_bytes = map(float, done.stdout.split()[-3:])
    # The lowest; of eight thousand healthy ceilings one may be beyond the limits by chance.
    outlier = json.loads(out.read_text())["outliers"][0]
    assert (outlier["device"], outlier["ceiling"], outlier["since"]) == ("GPU-1234", "DRAM read", night_of(60))
    assert code == 3
    # Processor time: what else runs on this machine is not what is tested.
    assert cpu_s < 60
    assert peak_bytes < 4e9
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < 4e9
