"""``ert validate`` as a person meets it: stdout, stderr, exit code."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import programs
import pytest
from make_ceilings import H200_LEVELS, H200_PEAKS, make_ceilings
from programs import check_schema

from ert.ceilings import save

DATA = Path(__file__).parent / "data" / "specs"
K = TypeVar("K")


def ert(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return programs.ert(*arguments, cwd=cwd, COLUMNS="200")


def tera(table: dict[K, float]) -> dict[K, float]:
    return {key: value * 1e12 for key, value in table.items()}


@pytest.fixture
def h200(tmp_path: Path) -> str:
    path = tmp_path / "h200.json"
    save(make_ceilings(tera(H200_LEVELS), tera(H200_PEAKS), name="NVIDIA H200"), path)
    return str(path)


@pytest.fixture
def slow(tmp_path: Path) -> str:
    path = tmp_path / "slow.json"
    save(make_ceilings({"DRAM": 3e12}, tera(H200_PEAKS), name="NVIDIA H200"), path)
    return str(path)


def test_a_device_that_delivers_exits_0_and_shows_every_number(h200: str) -> None:
    done = ert("validate", h200)
    assert done.returncode == 0, done.stderr
    assert "NVIDIA H200 against the sheet H200-SXM-141GB" in done.stdout
    assert "91.2 %" in done.stdout
    assert "141 GB" in done.stdout
    assert "verdict: pass" in done.stdout
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_a_device_below_its_sheet_exits_3(slow: str) -> None:
    done = ert("validate", slow)
    assert done.returncode == 3
    assert "DRAM bandwidth: below the least, 88% of the sheet" in done.stdout
    assert "verdict: below" in done.stdout


def test_a_capacity_is_shown_as_it_was_held_against_the_device(tmp_path: Path) -> None:
    ceilings = make_ceilings({"DRAM": 0.95e12}, {}, name="NVIDIA A100-SXM4-80GB MIG 3g.40gb")
    save(replace(ceilings, device={**ceilings.device, "memory_bytes": 40 * 2**30}), tmp_path / "mig.json")
    line = next(line for line in ert("validate", str(tmp_path / "mig.json")).stdout.splitlines() if "DRAM capacity" in line)
    assert line.split() == ["DRAM", "capacity", "40", "GiB", "-", "40", "GiB", "100.0", "%", "-", "pass"]


def test_json_on_stdout_is_the_document_alone_and_fits_its_schema(slow: str) -> None:
    done = ert("validate", slow, "--json", "-")
    assert done.returncode == 3
    document = json.loads(done.stdout)
    check_schema(document, "validation")
    assert document["verdict"] == "below"
    first = next(row for row in document["rows"] if row["what"] == "DRAM bandwidth")
    assert first["ratio"] == pytest.approx(3 / 4.8)
    assert first["source"].startswith("NVIDIA H200")


def test_json_in_a_file_leaves_the_table_on_stdout(h200: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert "verdict" in ert("validate", h200, "--json", str(out)).stdout
    assert json.loads(out.read_text())["schema"] == "ert.validation"


def test_an_unknown_device_is_no_error_and_lists_candidates(tmp_path: Path) -> None:
    ceilings = make_ceilings({"DRAM": 3e12}, {("fp32", "vector"): 5e13}, name="NVIDIA H800")
    facts = {"compute_capability": "9.0", "sm_count": 132, "memory_bus_bits": 5120, "memory_bytes": 81559 * 2**20}
    save(replace(ceilings, device={**ceilings.device, **facts}), tmp_path / "h800.json")
    done = ert("validate", str(tmp_path / "h800.json"))
    assert done.returncode == 0
    assert "theoretical peak only: no sheet carries the name 'NVIDIA H800'" in done.stdout
    assert "--spec: H100-SXM5-80GB" in done.stdout
    assert "62.5 %" not in done.stdout


def test_a_sheet_of_ones_own_is_taken(h200: str, tmp_path: Path) -> None:
    sheet = tmp_path / "mine.toml"
    sheet.write_text('device = "Mine"\ndram = "4.5 TB/s"\n')
    done = ert("validate", h200, "--spec", "mine.toml", cwd=tmp_path)
    assert done.returncode == 0
    assert "97.3 %" in done.stdout
    assert "the device calls itself 'NVIDIA H200'" in done.stdout


def test_a_wrong_sheet_is_one_message_with_file_line_and_field(h200: str) -> None:
    done = ert("validate", h200, "--spec", str(DATA / "unit_typo.json"))
    assert done.returncode == 1
    assert "unit_typo.json, line 4: fp32: '3.35e3' has no unit" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("no-such-file.json",), 1, "no-such-file.json"),
        ((), 2, "CEILINGS"),
        (("{h200}", "--spec", "H300"), 2, "`ert specs` lists all"),
        (("{h200}", "--spec", "missing.toml"), 1, "missing.toml"),
        (("{h200}", "--sheet", "X"), 2, "--sheet"),
    ],
)
def test_wrong_calls_say_what_is_wrong(h200: str, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = ert("validate", *(a.format(h200=h200) for a in arguments))
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_help_ends_with_an_example() -> None:
    done = ert("validate", "--help")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].strip().startswith("ert validate ")
    assert "  validate " in ert("--help").stdout
