"""A file of another kind than is wanted: one line that says what it is, what is wanted and what to try, with exit code 1."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from make_ceilings import DATA
from programs import ert

from ert.cli import cli, execute
from ert.file_kinds import kind_of

FOREIGN = DATA.parent / "foreign"
# name -> (its content, what ert calls it, what to try)
FILES: dict[str, tuple[str | bytes, str, str]] = {
    "points.csv": (
        "name,time_s,precision,flops,dram_bytes\nstep,1e-3,fp32,1e9,1e8\n",
        "measurements of kernels (ert points CSV)",
        "ert compare CEILINGS points.csv",
    ),
    "sheet.toml": ('device = "X"\ndram = "2 TB/s"\n', "a spec sheet", "ert specs sheet.toml"),
    "sheet.json": ('{"device": "X", "dram": "2 TB/s"}', "a spec sheet", "ert specs sheet.json"),
    "sweep.toml": ("[budget]\ntotal_s = 9\n[curve]\npoints_per_octave = 2\n", "the configuration of a sweep", "--config sweep.toml"),
    "rules.toml": ("[baseline]\nleast_nights = 10\n[step]\n", "the rules of a store", "ert history check --rules rules.toml"),
    "curve.csv": ("# from a bench\nworking_set_bytes,bandwidth_bytes_per_s\n1024,1e9\n", "a working-set curve", "ert fit curve.csv"),
    "run.points.jsonl": ('{"schema": "ert.points", "schema_version": 1}\n', "the journal of a sweep", "ert fit run.points.jsonl"),
    "comparison.json": (
        '{\n "schema": "ert.comparison",\n "kernels": []}',
        "ert's own output of kind 'comparison'",
        "give the file it was made from",
    ),
    "page.html": ("\n<!DOCTYPE html>\n<html></html>", "a web page", "give the ceilings file it was drawn from"),
    "roof.svg": ('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "a picture", "give the ceilings file it was drawn"),
    "roof.png": (b"\x89PNG\r\n\x1a\n\0\0", "a picture", "give the ceilings file it was drawn from"),
    "roof.pdf": (b"%PDF-1.4\n\x80", "a picture", "give the ceilings file it was drawn from"),
    "c.json.gz": (b"\x1f\x8b\x08\0", "a compressed file", "Unpack it first"),
}
# command line, the parameter that FILE stands for, and the files above that it takes
PLACES: list[tuple[str, str, set[str]]] = [
    ("show FILE", "CEILINGS", set()),
    ("validate FILE", "CEILINGS", set()),
    ("plot FILE -o x.png", "CEILINGS", set()),
    ("report FILE -o x.html", "CEILINGS", set()),
    ("export FILE --to csv", "CEILINGS", set()),
    ("compare FILE points.csv", "CEILINGS", {"points.csv"}),
    ("analyze FILE --flops 1 --bytes 1", "CEILINGS", set()),
    ("diff FILE c.json", "BASE", set()),
    ("diff c.json FILE", "NEW", set()),
    ("compare c.json FILE", "POINTS", {"points.csv"}),
    ("plot c.json FILE -o x.png", "POINTS", {"points.csv"}),
    ("validate c.json --spec FILE", "--spec", {"sheet.toml", "sheet.json"}),
    ("specs FILE", "NAME", {"sheet.toml", "sheet.json"}),
    ("sweep --device cpu --config FILE", "--config", {"sweep.toml"}),
    ("sweep --device cpu --resume FILE", "--resume", {"run.points.jsonl"}),
    ("history check --store . --rules FILE", "--rules", {"rules.toml"}),
    ("fit FILE", "FILE", {"curve.csv", "run.points.jsonl"}),
    ("fit good.csv --device-facts FILE", "--device-facts", {"comparison.json"}),
    ("run axpy --device cpu --ceilings FILE", "--ceilings", set()),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, (content, _, _) in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    shutil.copy(DATA / "cpu.json", tmp_path / "c.json")
    shutil.copy(DATA.parent / "curves" / "curve-2-levels.csv", tmp_path / "good.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that fails."""
    assert execute(cli, list(arguments)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    return captured.err


@pytest.mark.parametrize(("line", "label", "taken"), PLACES, ids=[line for line, _, _ in PLACES])
def test_a_file_of_another_kind_is_one_line_that_says_what_it_is(folder, capsys, line, label, taken):
    for name in sorted(set(FILES) - taken):
        message = refused(capsys, *line.replace("FILE", name).split())
        assert message.startswith(f"Error: {name}: this is {FILES[name][1]}; {label} wants "), message
        assert FILES[name][2] in message


@pytest.mark.parametrize(
    "line",
    [
        "specs c.json",
        "validate c.json --spec c.json",
        "compare c.json c.json",
        "sweep --device cpu --config c.json",
        "sweep --device cpu --resume c.json",
        "history check --store . --rules c.json",
    ],
)
def test_a_ceilings_file_is_called_so_wherever_another_kind_is_wanted(folder, capsys, line):
    message = refused(capsys, *line.split())
    assert message.startswith("Error: c.json: this is a ceilings file; ")
    assert message.endswith(" Try `ert show c.json`.\n")


@pytest.mark.parametrize("name", ["ert110.json", "babelstream.txt", "carm.csv", "mixbench.txt", "nvbandwidth.json", "kerncraft.yml"])
def test_ceilings_of_another_tool_are_exported_before_they_are_shown(folder, capsys, name):
    shutil.copy(FOREIGN / name, folder / name)
    assert f"{name}: this is ceilings of another tool (" in (message := refused(capsys, "show", name))
    assert f"Try `ert export {name} --to ert-json`." in message


@pytest.mark.parametrize(
    ("line", "content", "words"),
    [
        ("show torn.json", '{"schema": "ert.ceilings", "sche', "not valid JSON"),
        ("sweep --device cpu --config typo.toml", "[sampling]\nmin_tim_s = 1\n", "Did you mean 'min_time_s'?"),
        ("specs own.toml", 'device = "X"\ndramm = "2 TB/s"\nl2 = "4 MB"\n', "line 2: dramm: is unknown"),
        ("compare c.json bad.csv", "name,time_s,flops\nstep,soon,1\n", "line 2, column 2 (time_s)"),
        ("history check --store . --rules rules.toml", "[baseline]\nleast_nights = 10\n", "drift: is missing"),
        ("show notes.txt", "hello\n", "line 1, column 1"),
    ],
)
def test_a_broken_file_of_the_right_kind_keeps_the_complaint_of_its_reader(folder, capsys, line, content, words):
    (folder / line.split()[-1]).write_text(content)
    assert words in refused(capsys, *line.split())


def test_a_complaint_about_something_else_stays_as_it_is(folder, capsys):
    assert "'shared' has no roof" in refused(capsys, "analyze", "c.json", "--flops", "1", "--bytes", "1", "--level", "shared")


def test_a_file_that_is_not_there_keeps_its_message(folder, capsys):
    assert refused(capsys, "show", "none.json") == "Error: none.json: cannot be read: No such file or directory.\n"


def test_ceilings_are_taken_for_ridge_points_and_never_blamed_for_another_file(folder, capsys):
    assert execute(cli, ["specs", "--ridge", "c.json"]) == 0
    capsys.readouterr()
    assert refused(capsys, "specs", "--ridge", "c.json", "page.html").startswith("Error: page.html: this is a web page; ")


def test_clocks_beside_a_file_that_has_its_own_are_refused(folder, capsys):
    (folder / "clocks.csv").write_text("row,clock_hz\n0,1e9\n")
    assert "--clocks clocks.csv: for a CSV; c.json has the clock of every sample itself" in refused(
        capsys, "fit", "c.json", "--clocks", "clocks.csv"
    )


def test_what_has_no_marks_or_is_not_there_or_is_a_pipe_has_no_kind(folder):
    (folder / "notes.txt").write_text("hello")
    (folder / "empty").write_text("")
    assert [kind_of(name) for name in ("notes.txt", "empty", "none", "/dev/null")] == [None] * 4


def test_as_a_program(folder):
    done = ert("validate", "c.json", "--spec", "c.json", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "Error: c.json: this is a ceilings file; --spec wants a spec sheet (`ert specs` lists them). Try `ert show c.json`.\n"
    )
