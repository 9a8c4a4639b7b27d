"""Wrong usage of any command: what it exits with, and that it names the option, the value and what to do."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_ceilings import DATA
from programs import PROGRAM, ert

from ert.cli import COMMANDS, cli, execute, exit_code
from ert.cli.inputs import WANTED
from ert.cli.types import Day, DeviceId, Quantity, Share
from ert.cli.words import INPUTS, OUTPUTS
from ert.errors import ConfigError, DeviceError, ErtError, SchemaError, UsageError

CPU = str(DATA / "cpu.json")
POINTS = "name,time_s,precision,flops,dram_bytes\nstep,1e-3,fp32,1e9,1e8\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder a command runs in: measurements of kernels, an empty folder, and one with a file of that name in the way."""
    (tmp_path / "p.csv").write_text(POINTS)
    (tmp_path / "dir").mkdir()
    (tmp_path / "c.json").write_bytes(Path(CPU).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leaves() -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    found: list[tuple[tuple[str, ...], click.Command]] = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            found += [((name, inner), each) for inner, each in command.commands.items()]
        else:
            found.append(((name,), command))
    return found


LEAVES = leaves()
VALUES = [
    (words, next(each for each in option.opts if each.startswith("--")), option)
    for words, command in LEAVES
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """What the program says to a wrong call; nothing goes to stdout."""
    assert execute(cli, list(arguments)) == code, capsys.readouterr()
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize(("words", "option"), [(w, o) for w, o, _ in VALUES if o != "--note"])
def test_an_empty_value_of_any_option_is_wrong_usage(folder, capsys, words, option):
    message = said(capsys, *words, option, "")
    assert f"Error: {option} is empty: give it a value, or leave it out." in message
    assert f"Usage: ert {' '.join(words)} " in message
    assert {path.name for path in folder.iterdir()} == {"p.csv", "dir", "c.json"}


def test_of_an_option_that_takes_one_value_the_last_counts_as_aliases_rely_on(folder, capsys):
    assert execute(cli, ["export", "c.json", "--to", "csv", "--to", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("#")


@pytest.mark.parametrize(("words", "option"), [(w, o) for w, o, each in VALUES if each.multiple])
def test_any_repeatable_option_is_wrong_usage_with_one_value_twice(folder, capsys, words, option):
    assert f"Error: {option} a is given 2 times. Give it once." in said(capsys, *words, option, "a", option, "b", option, "a")


@pytest.mark.parametrize("words", [w for w, command in LEAVES if any(isinstance(p, click.Argument) for p in command.params)])
def test_an_empty_operand_is_wrong_usage(folder, capsys, words):
    assert " is empty: give it a value, or leave it out." in said(capsys, *words, "")


@pytest.mark.parametrize("words", [w for w, _ in LEAVES])
def test_an_option_that_is_not_there_is_wrong_usage_and_help_always_answers(folder, capsys, words):
    assert "--no-such-option" in said(capsys, *words, "--no-such-option")
    assert execute(cli, [*words, "--help", "--no-plot" if words == ("sweep",) else ""]) == 0


@pytest.mark.parametrize(("words", "option"), [(w, o) for w, o, each in VALUES if each.name in OUTPUTS])
def test_an_output_that_is_a_folder_is_wrong_usage_before_anything_is_measured(folder, capsys, words, option):
    assert f"Error: {option} dir is a folder: name a file." in said(capsys, *words, option, "dir")


@pytest.mark.parametrize(("words", "option"), [(w, o) for w, o, _ in VALUES if o in ("--out", "--store")])
def test_a_file_where_a_folder_is_wanted_is_wrong_usage_before_anything_is_measured(folder, capsys, words, option):
    assert f"Error: {option} p.csv is a file: name a folder." in said(capsys, *words, option, "p.csv")


def test_every_parameter_that_names_a_file_to_read_says_what_it_wants():
    """Or a file of another kind there would not be told from a broken one."""
    paths = {p.name for _, command in LEAVES for p in command.params if isinstance(p.type, click.Path) or "FILE" in (p.metavar or "")}
    assert paths - {*OUTPUTS, "out", "store"} == set(INPUTS) - {"names"}
    assert set(WANTED) == set(INPUTS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "c.json", "p.csv", "p.csv"), "POINTS p.csv is given 2 times"),
        (("compare", "-", "-"), "standard input can be read only once"),
        (("compare", "c.json", "p.csv", "--json", "p.csv"), "--json p.csv would overwrite what POINTS names"),
        (("plot", "c.json", "-o", "./c.json"), "--output ./c.json would overwrite what CEILINGS names"),
        (("history", "check", "--store", "dir", "--json", "x", "--junit", "x"), "--json x would overwrite what --junit names"),
        (("history", "check", "--store", "dir", "--prometheus", "-"), "--prometheus - does not mean standard output here"),
        (("history", "check", "--store", "dir", "--json", "-", "--events", "-"), "cannot both have stdout"),
        (("plot", "c.json", "-o", "-"), "--output - does not mean standard output here"),
        (("plot", "c.json", "-o", "x.gif"), "cannot be drawn as '.gif'. Known: .png"),
        (("plot", "c.json", "--format", "ncu", "--per-launch", "-o", "x.png"), "--format and --per-launch: for POINTS, and none is given"),
        (("show", "dir"), "CEILINGS dir is a folder: name a file"),
        (("show", "c.json", "--plot", "--json", "-"), "--plot draws on stdout"),
        (("specs", "dir"), "dir is a folder"),
        (("export", "c.json", "--to", "json-schema"), "CEILINGS c.json: with --to json-schema a kind of file"),
        (("export", "--to", "json-schema", "--precision", "fp32"), "leave them out with --to json-schema"),
        (("kernels", "fma", "--arch", "hopper"), "--arch hopper: not an architecture. Write it as sm_90 or sm_90a"),
        (("kernels", "wgmma", "--kind", "cpu"), "kernel 'wgmma' is unknown for --kind cpu"),
        (("sweep", "--device", "all", "--resume", "x"), "name it with --device"),
    ],
)
def test_words_that_contradict_each_other_are_wrong_usage(folder, capsys, arguments, words):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert words in said(capsys, *arguments)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("read", ["c.json", "link.json", "dir/../c.json"])
@pytest.mark.parametrize("written", ["c.json", "{folder}/c.json", "linked/c.json"])
def test_a_file_that_is_read_is_not_overwritten_whatever_both_are_called(folder, capsys, read, written):
    (folder / "link.json").symlink_to("c.json")
    (folder / "linked").symlink_to(".")
    assert "would overwrite what CEILINGS names" in said(capsys, "export", read, "--to", "csv", "-o", written.format(folder=folder))
    assert (folder / "c.json").read_bytes() == Path(CPU).read_bytes()


def test_a_path_through_a_link_names_the_file_behind_it(folder, capsys):
    (folder / "other").mkdir()
    (folder / "linked").symlink_to("other/deep")
    (folder / "other" / "deep").mkdir()
    # linked/.. is other, not this folder.
    assert execute(cli, ["export", "c.json", "--to", "csv", "-o", "linked/../c.json"]) == 0, capsys.readouterr().err
    assert (folder / "other" / "c.json").read_text().startswith("device_id,")


def test_a_link_is_replaced_and_the_file_behind_it_stays(folder, capsys):
    (folder / "link.csv").symlink_to("c.json")
    assert execute(cli, ["export", "c.json", "--to", "csv", "-o", "link.csv"]) == 0, capsys.readouterr().err
    assert (folder / "c.json").read_bytes() == Path(CPU).read_bytes()


def test_a_folder_of_the_name_of_a_schema_is_not_taken_for_a_file_of_ceilings(folder, capsys):
    (folder / "comparison").mkdir()
    assert execute(cli, ["export", "comparison", "--to", "json-schema"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [("show",), ("compare", "c.json"), ("sweep", "--config"), ("history", "check", "--store", "dir", "--rules")]
)
def test_a_name_that_no_file_can_have_keeps_the_words_of_its_reader(folder, capsys, arguments):
    name = f"{'a' * 300}.toml"
    assert f"{name}: cannot be read: File name too long." in said(capsys, *arguments, name, code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("diff", "c.json", "c.json"),
        ("compare", "c.json", "p.csv", "--json", "/dev/null"),
        ("export", "c.json", "--to", "csv", "-o", "-"),
        ("export", "c.json", "--to", "csv", "-o", "new/x.csv"),
        ("show", "c.json", "--json", "-"),
        ("show", "c.json", "--plot", "--plot"),
        ("specs", "T4", "--json", "T4"),
    ],
)
def test_what_looks_like_a_slip_and_is_none_goes_through(folder, capsys, arguments):
    assert execute(cli, list(arguments)) == 0, capsys.readouterr().err


def test_a_shipped_name_goes_before_a_folder_of_that_name(folder, capsys):
    (folder / "T4").mkdir()
    assert execute(cli, ["specs", "T4"]) == 0


def test_a_stream_that_is_open_already_is_written_into(folder):
    with (folder / "out.csv").open("wb") as file:
        done = subprocess.run([PROGRAM, "export", CPU, "--to", "csv", "-o", "/dev/fd/1"], stdout=file, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"Wrote /dev/fd/1\n")
    assert (folder / "out.csv").read_text().startswith("device_id,")


def test_as_a_program(folder):
    done = ert("analyze", CPU, "--flops", "1", "--bytes", "L2=1e9", "--bytes", "L2=2e9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: --bytes: L2 is given twice. One number of bytes for each level." in done.stderr
    done = ert("devices", "--json", "")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError("x"), 2), (ConfigError("x"), 1), (DeviceError("x"), 1), (SchemaError("x"), 1), (ErtError("x"), 1)]
)
def test_only_what_is_wrong_in_the_words_themselves_is_wrong_usage(error, code):
    assert exit_code(error) == code


# What a person may type: digits, signs, units, letters and separators.
TEXTS = st.text("0123456789.eE+-%=:kKMGTBsFLOPDRAMaxnif_ ²", max_size=12)


@given(TEXTS)
def test_a_quantity_is_refused_or_a_number_that_work_can_have(text):
    try:
        level, number = Quantity("B", has_level=True).convert(text, None, None)
    except click.BadParameter:
        return
    assert level in ("", "shared", "L1", "L2", "L3", "DRAM")
    assert number == 0 or 1 <= number <= 1e30


@given(TEXTS)
def test_a_share_is_refused_or_a_number_from_0_to_1(text):
    try:
        assert 0 <= Share().convert(text, None, None) <= 1
    except click.BadParameter as error:
        assert "Write it as 2% or 0.02." in error.message


@given(st.integers(0, 100))
def test_a_share_in_percent_is_its_hundredth(percent):
    assert Share().convert(f"{percent}%", None, None) == percent / 100


@given(TEXTS | st.integers(0, 99).map(str))
def test_a_device_is_refused_or_has_the_form_of_one(text):
    try:
        found = DeviceId().convert(text, None, None)
    except click.BadParameter as error:
        assert "(`ert devices`)" in error.message
        return
    kind, _, number = found.partition(":")
    assert found in (text, f"cuda:{text}")
    assert kind in ("cpu", "cuda") and (not number or number.isdecimal())


@given(st.dates())
def test_a_day_is_read_as_it_is_written(day: datetime.date):
    assert Day().convert(day.isoformat(), None, None) == day
