"""ert export and ert completion as programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from make_ceilings import DATA
from programs import ert

from ert.exporters import EXPORTERS

CPU = str(DATA / "cpu.json")


def test_the_file_goes_to_stdout_and_what_is_left_out_to_stderr():
    done = ert("export", CPU, "--to", "rocprof")
    assert done.returncode == 0
    assert done.stdout.startswith("device,HBMBw,")
    assert "Left out: L3, bf16 vector, int16 vector: no column." in done.stderr


def test_a_file_is_written_whole_and_named(tmp_path):
    done = ert("export", CPU, "--to", "csv", "-o", tmp_path / "new" / "c.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"Wrote {tmp_path / 'new' / 'c.csv'}\n"
    assert len((tmp_path / "new" / "c.csv").read_text().splitlines()) == 30


@pytest.mark.parametrize("name", EXPORTERS)
def test_every_format_is_named_in_the_help(name):
    assert f"  {name} " in ert("export", "--help").stdout


def test_the_schema_needs_no_file_and_holds_for_ours():
    done = ert("export", "--to", "json-schema")
    assert done.returncode == 0
    schema = json.loads(done.stdout)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(Path(CPU).read_text()))


def test_ceilings_of_another_tool_are_exported_too():
    done = ert("export", DATA.parent / "foreign" / "kerncraft.yml", "--to", "csv")
    assert done.returncode == 0
    assert ",L1,,,copy,true,160000000000.0,byte/s," in done.stdout


def test_a_missing_file_is_wrong_usage():
    done = ert("export", "--to", "csv")
    assert done.returncode == 2
    assert "Missing argument 'CEILINGS'" in done.stderr


def test_an_unknown_format_is_wrong_usage_and_names_the_known_ones():
    done = ert("export", CPU, "--to", "excel")
    assert done.returncode == 2
    assert "kerncraft" in done.stderr


def test_a_device_the_format_cannot_describe_is_explained():
    done = ert("export", CPU, "--to", "ncu-section")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nsight Compute profiles NVIDIA GPUs" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_asks_ert(shell):
    done = ert("completion", shell)
    assert done.returncode == 0
    assert f"_ERT_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("words", "count", "completed"),
    [("ert ex", 1, ["export"]), ("ert export --to ke", 3, ["kerncraft"]), ("ert export --t", 2, ["--to"]), ("ert completion ", 2, None)],
)
def test_bash_completes_commands_options_and_formats(words, count, completed):
    done = ert(_ERT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(count))
    assert done.returncode == 0
    assert [line.removeprefix("plain,") for line in done.stdout.splitlines()] == (completed or ["bash", "zsh", "fish"])


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_the_script_is_one_that_bash_can_load():
    script = ert("completion", "bash").stdout
    loaded = subprocess.run(["/bin/bash", "-c", f"{script}\ncomplete -p ert"], capture_output=True, text=True, check=False)
    assert loaded.returncode == 0, loaded.stderr
    assert "_ert_completion ert" in loaded.stdout
