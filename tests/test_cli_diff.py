"""``ert diff`` as a person meets it: stdout, stderr, exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from history_store import a_run, usual
from programs import check_schema, ert

from ert.ceilings import save


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save(a_run(0, usual()), tmp_path / "base.json")
    save(a_run(1, usual() | {"DRAM read": 1.9e12}, environment={"driver": "560.2"}), tmp_path / "worse.json")
    save(a_run(1, usual(1.001)), tmp_path / "same.json")
    save(a_run(1, usual(0.5), config={"sha256": "b" * 64}), tmp_path / "other.json")
    return tmp_path


@pytest.mark.parametrize(("new", "code", "verdict"), [("worse", 3, "worse"), ("same", 0, "same"), ("other", 0, "not comparable")])
def test_the_exit_code_is_3_for_worse_alone(files: Path, new: str, code: int, verdict: str) -> None:
    done = ert("diff", "base.json", f"{new}.json", cwd=files)
    assert (done.returncode, done.stderr) == (code, "")
    assert f"verdict: {verdict}" in done.stdout
    assert done.stdout.isascii() or "─" in done.stdout


def test_both_values_their_intervals_the_change_and_the_driver_are_shown(files: Path) -> None:
    lines = ert("diff", "base.json", "worse.json", cwd=files).stdout.splitlines()
    row = next(line for line in lines if line.startswith("DRAM read"))
    assert " ".join(row.split()) == "DRAM read * 2 TB/s +-1.0 % 1.9 TB/s +-1.0 % -5.0 % [-6.3, -3.6] worse"
    assert "changed as well: driver: 550.1 -> 560.2" in lines


def test_a_larger_threshold_forgives(files: Path) -> None:
    assert ert("diff", "base.json", "worse.json", "--threshold", "6%", cwd=files).returncode == 0
    assert ert("diff", "base.json", "worse.json", "--threshold", "0.06", cwd=files).returncode == 0


def test_json_on_stdout_is_the_document_alone(files: Path) -> None:
    done = ert("diff", "base.json", "worse.json", "--json", "-", cwd=files)
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    check_schema(document, "diff")
    assert (done.returncode, document["verdict"], document["base"]) == (3, "worse", "base.json")
    ert("diff", "base.json", "other.json", "--json", "out.json", cwd=files)
    check_schema(json.loads((files / "out.json").read_text()), "diff")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("base.json",), 2, "NEW"),
        (("base.json", "gone.json"), 1, "gone.json: cannot be read"),
        (("base.json", "same.json", "--threshold", "much"), 2, "'--threshold': much: not a share from 0 to 1"),
        (("base.json", "same.json", "--threshold", "200%"), 2, "share from 0 to 1"),
        (("base.json", "same.json", "--threshold", "nan"), 2, "share from 0 to 1"),
    ],
)
def test_wrong_calls_say_what_is_wrong(files: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = ert("diff", *arguments, cwd=files)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_help_ends_with_an_example() -> None:
    done = ert("diff", "--help")
    assert done.stdout.splitlines()[-1].strip().startswith("ert diff ")
