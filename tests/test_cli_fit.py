"""``ert fit`` as a program: what stands on stdout, what on stderr, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from programs import check_schema, ert

from ert.cli import cli, execute

CURVES = Path(__file__).parent / "data" / "curves"


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def ert_fit(capsys, monkeypatch):
    """Run the command line in this process: starting Python for every case would take most of the time."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments):
        code = execute(cli, ["fit", *map(str, arguments)])
        return Done(code, *capsys.readouterr())

    return call


def document_of(text):
    document = json.loads(text, parse_constant=pytest.fail)
    check_schema(document, "fit")
    return document


def test_the_installed_program_does_the_same():
    done = ert("fit", CURVES / "curve-2-levels.csv", "--json", "-")
    assert done.returncode == 0
    assert [level["level"] for level in document_of(done.stdout)["levels"]] == ["L1", "DRAM"]


def test_json_on_stdout_follows_the_schema_and_nothing_else_is_there(ert_fit):
    done = ert_fit(CURVES / "curve-3-levels.csv", "--json", "-")
    assert done.returncode == 0
    document = document_of(done.stdout)
    assert (document["schema"], document["schema_version"]) == ("ert.fit", 1)
    assert [level["level"] for level in document["levels"]] == ["L1", "L2", "DRAM"]
    assert [level["value"] for level in document["levels"]] == pytest.approx([19e12, 5.5e12, 1.8e12], rel=0.02)
    assert document["levels"][0]["working_set_bytes"][0] == 16384
    assert document["levels"][-1]["capacity_bytes"] is None


def test_table_goes_to_stdout_and_warnings_to_stderr(ert_fit):
    done = ert_fit(CURVES / "curve-timer-too-coarse.csv")
    assert done.returncode == 0
    assert "1.7 TB/s" in done.stdout
    assert "Warning" not in done.stdout
    assert "not measurable with this timer" in done.stderr
    assert "237 such rows of 725 are left out" in done.stderr  # times of 0 and -1 in the file


def test_json_file_and_table_come_together(ert_fit, tmp_path):
    done = ert_fit(CURVES / "curve-2-levels.csv", "--json", tmp_path / "fit.json")
    assert done.returncode == 0
    assert "900 GB/s" in done.stdout
    assert len(document_of((tmp_path / "fit.json").read_text())["levels"]) == 2


def test_device_facts_name_the_levels_and_leave_the_numbers(ert_fit):
    facts = CURVES / "curve-stops-inside-l2-device.json"
    named = document_of(ert_fit(CURVES / "curve-stops-inside-l2.csv", "--device-facts", facts, "--json", "-").stdout)
    plain = document_of(ert_fit(CURVES / "curve-stops-inside-l2.csv", "--json", "-").stdout)
    assert [level["level"] for level in named["levels"]] == ["L1", "L2"]
    assert [level["value"] for level in named["levels"]] == [level["value"] for level in plain["levels"]]
    assert "dram_not_reached" in [warning["code"] for warning in named["warnings"]]


def test_clocks_leave_throttled_rows_out(ert_fit):
    done = ert_fit(CURVES / "curve-throttle-midway.csv", "--clocks", CURVES / "curve-throttle-midway-clocks.csv", "--json", "-")
    document = document_of(done.stdout)
    assert [level["value"] for level in document["levels"]] == pytest.approx([11e12, 4e12, 1.5e12], rel=0.02)
    assert "throttled rows: 89 of 725" in done.stderr


def test_a_sweep_gives_back_the_compute_ceilings_that_it_published(ert_fit):
    kept = sorted((Path(__file__).parent.parent / "results" / "cpu").glob("*.json"))[-1]
    document = document_of(ert_fit(kept, "--json", "-").stdout)
    published = {(c["precision"], c["op"]): c for c in json.loads(kept.read_text())["ceilings"]["compute"]}
    found = {(c["precision"], c["op"]): c for c in document["compute"]}
    assert found.keys() == published.keys()
    for key, ceiling in found.items():
        low, high = published[key]["ci95"]
        assert low <= ceiling["value"] <= high
    assert {(c["level"], c["precision"]) for c in document["corners"]} >= {("L1", "fp64"), ("DRAM", "fp32")}


def test_a_pipe_gets_no_colour_and_no_folded_lines(ert_fit):
    done = ert_fit(CURVES / "curve-3-levels.csv")
    assert "\x1b" not in done.stdout
    assert sum("TB/s" in line for line in done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: empty"),
        ("working_set_bytes,bandwidth_bytes_per_s\n1024,3e9\n", "line 2, column working_set_bytes: 1 row of one size"),
        ("working_set_bytes,bandwidth_bytes_per_s\n1024,x\n", "line 2, column bandwidth_bytes_per_s: 'x' is not a number"),
        ("working_set_bytes,bandwidth_bytes_per_s\n0,3e9\n", "line 2, column working_set_bytes: 0 is no size"),
        ("size,gbps\n1,2\n", "line 1: the column 'working_set_bytes' is missing"),
        ("working_set_bytes,bytes_moved,time_us\n1024,1,0\n2048,1,-1\n", "line 2, column time_us: not positive"),
        ('{"schema": "something else"}', "not a ceilings file"),
        ('{"a": ', "line 1, column 7"),
    ],
)
def test_bad_input_is_one_error_with_file_and_place_and_exit_code_1(ert_fit, tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    done = ert_fit(path, "--json", "-")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert str(path) in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_file_and_missing_facts_are_errors_with_their_path(ert_fit, tmp_path):
    done = ert_fit(tmp_path / "gone.csv")
    assert (done.returncode, "gone.csv: cannot be read: No such file" in done.stderr) == (1, True)
    done = ert_fit(CURVES / "curve-2-levels.csv", "--device-facts", tmp_path / "gone.json")
    assert (done.returncode, "gone.json: cannot be read: No such file" in done.stderr) == (1, True)


def test_wrong_usage_is_exit_code_2(ert_fit):
    assert ert_fit().returncode == 2
    assert ert_fit("--levels", "3").returncode == 2


def test_help_ends_with_an_example(ert_fit):
    done = ert_fit("--help")
    assert done.returncode == 0
    assert done.stdout.rstrip().splitlines()[-1].strip().startswith("ert fit curve.csv")
