"""``ert show`` as a program: what it prints where, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from make_ceilings import DATA
from programs import PROGRAM, ert

CPU = str(DATA / "cpu.json")


def test_table_goes_to_stdout_and_nothing_to_stderr():
    done = ert("show", CPU)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1.439 .. 1.445" in done.stdout
    assert "\x1b" not in done.stdout


def test_json_to_stdout_is_the_file_and_nothing_else():
    done = ert("show", CPU, "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(Path(CPU).read_text())


def test_json_to_a_file_leaves_the_table_on_stdout(tmp_path: Path):
    done = ert("show", CPU, "--json", "out/again.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ert("show", CPU).stdout
    assert json.loads((tmp_path / "out/again.json").read_text()) == json.loads(Path(CPU).read_text())


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_any_encoding_of_stdout_will_do(encoding: str):
    done = ert("show", CPU, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")


def test_file_that_is_not_there_is_one_line_on_stderr(tmp_path: Path):
    done = ert("show", "none.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: none.json: cannot be read: No such file or directory.\n"


def test_text_and_a_newer_file_are_refused_by_name(tmp_path: Path):
    (tmp_path / "notes.json").write_text("hello")
    (tmp_path / "newer.json").write_text(json.dumps({**json.loads(Path(CPU).read_text()), "schema_version": 99}))
    for name, words in [("notes.json", "line 1, column 1"), ("newer.json", "schema version 99")]:
        done = ert("show", name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_plot_draws_the_roof_above_the_tables_with_dots_or_letters():
    dots, letters = (ert("show", "--plot", CPU, LC_ALL="C.UTF-8", PYTHONIOENCODING=encoding) for encoding in ("utf-8", "ascii"))
    assert dots.stdout.index("arithmetic intensity") < dots.stdout.index("Bandwidth")
    assert any("\u2800" <= c <= "\u28ff" for c in dots.stdout)
    assert letters.stdout.partition("Bandwidth")[0].isascii()


def test_plot_is_ascii_where_the_c_locale_is_asked_for_and_never_very_wide():
    for locale in ({"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "C"}, {"LC_ALL": "", "LANG": "POSIX"}):
        roof = ert("show", "--plot", CPU, **locale).stdout.partition("arithmetic intensity")[0]
        assert roof.isascii() and "+--" in roof
    roof = ert("show", "--plot", CPU, LC_ALL="C.UTF-8", COLUMNS="200").stdout.partition("arithmetic intensity")[0]
    assert max(map(len, roof.splitlines())) <= 120 and not roof.isascii()


def test_plot_is_cut_off_on_a_narrow_terminal_and_never_folded():
    roof = ert("show", "--plot", CPU, COLUMNS="40").stdout.partition("arithmetic intensity")[0]
    assert max(map(len, roof.splitlines())) <= 40
    assert len(roof.splitlines()) == 24


def test_no_file_is_wrong_usage():
    assert ert("show").returncode == 2


def test_reader_that_leaves_early_is_no_error():
    done = subprocess.run(f"'{PROGRAM}' show '{CPU}' | head -n 1", shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("AMD EPYC 9575F 64-Core Processor (cpu)\n", "")


def test_help_ends_with_an_example():
    done = ert("show", "--help")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].strip().startswith("ert show ")


@pytest.mark.parametrize("home", ["/dev/null", "/nonexistent"])
def test_home_does_not_matter(home: str):
    assert ert("show", CPU, HOME=home).returncode == 0


def test_show_does_not_load_matplotlib():
    code = f"import sys, ert.cli; ert.cli.execute(ert.cli.cli, ['show', {CPU!r}]); sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
