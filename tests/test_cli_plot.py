"""``ert plot`` as a program: files, streams, exit codes, and homes that do not exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_ceilings import DATA
from programs import ert

CPU = str(DATA / "cpu.json")


@pytest.mark.parametrize(("name", "magic"), [("roof.png", b"\x89PNG"), ("roof.svg", b"<?xml"), ("deep/roof.PDF", b"%PDF")])
def test_picture_is_written_and_only_stderr_speaks(tmp_path: Path, name: str, magic: bytes):
    done = ert("plot", CPU, "-o", name, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"Wrote {name}\n")
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_rounded_draws_another_picture(tmp_path: Path):
    assert ert("plot", CPU, "--output", "ideal.svg", cwd=tmp_path).returncode == 0
    assert ert("plot", CPU, "--output", "rounded.svg", "--rounded", cwd=tmp_path).returncode == 0
    assert (tmp_path / "ideal.svg").read_bytes() != (tmp_path / "rounded.svg").read_bytes()


@pytest.mark.parametrize("name", ["roof.gif", "roof"])
def test_unknown_suffix_is_wrong_usage_and_names_the_known_ones(tmp_path: Path, name: str):
    done = ert("plot", CPU, "-o", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "-o" in done.stderr
    assert "Known: .png, .svg, .pdf, .html." in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_output_has_to_be_named():
    done = ert("plot", CPU)
    assert done.returncode == 2
    assert "--output" in done.stderr


def test_bad_file_and_missing_corner_are_one_line_each(tmp_path: Path):
    bare = json.loads(Path(CPU).read_text()) | {"roofs": []}
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    for arguments, words in [(("none.json",), "none.json: cannot be read"), (("bare.json", "--rounded"), "no fitted corner")]:
        done = ert("plot", *arguments, "-o", "x.png", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize(
    "environment",
    [{"HOME": "/dev/null"}, {"HOME": "/nonexistent"}, {"MPLCONFIGDIR": "/dev/null/x"}, {"MPLBACKEND": "TkAgg", "DISPLAY": ""}],
    ids=lambda e: next(iter(e)) + "=" + next(iter(e.values())),
)
def test_home_and_display_do_not_matter(tmp_path: Path, environment: dict[str, str]):
    done = ert("plot", CPU, "-o", "x.png", cwd=tmp_path, **environment)
    assert (done.returncode, done.stderr) == (0, "Wrote x.png\n")


def test_help_ends_with_an_example():
    done = ert("plot", "--help")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].strip().startswith("ert plot ")
