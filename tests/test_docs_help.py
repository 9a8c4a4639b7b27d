"""Every example in a command's help runs as it stands; in README and docs every call of ert is one that ert understands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from documents import MEASURE, PAGES, STORES, environment, fill_store, prepare, words
from programs import ert
from readme_blocks import blocks

from ert.cli import COMMANDS, cli

# What a machine may lack, and what has to be there already.
TOOLS = ("jq", "ncu", "srun")
SUBCOMMANDS = ("list", "show", "check", "baseline", "fleet")


def help_lines() -> list[str]:
    """The lines below "Examples:" of every command."""
    names = [*COMMANDS, *(f"history {sub}" for sub in SUBCOMMANDS)]
    texts = [ert(*name.split(), "--help", COLUMNS="200").stdout for name in names]
    return [line.strip() for text in texts for line in re.split(r"\n  Examples?:\n", text)[1].splitlines() if line.strip()]


def page_lines() -> list[str]:
    """Every line of a shell block in README and docs that calls ert."""
    texts = [block.text for page in PAGES for block in blocks(page.read_text(encoding="utf-8")) if block.kind == "sh"]
    lines = "".join(texts).replace("\\\n", " ").splitlines()
    return [line for line in lines if re.search(r"(^|\s)ert\s[a-z]", line.split("#")[0]) and line.count('"') % 2 == 0]


HELP, PAGE = help_lines(), page_lines()
# What needs a tool of others, and what takes this machine's time, is only understood; everything else runs.
RUN = [
    line for line in HELP if not any(tool in line for tool in TOOLS if not shutil.which(tool)) and (words(line) or [""])[0] not in MEASURE
]


def test_there_are_examples_enough():
    commands = {(words(line) or [""])[0] for line in HELP}
    assert commands == set(COMMANDS)
    assert len(PAGE) > 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_store(tmp_path_factory.mktemp("store"))


@pytest.mark.parametrize("line", RUN)
def test_an_example_in_the_help_runs(line: str, folder: Path, store: Path):
    for named in STORES:
        line = line.replace(named, str(store))
    home = {"HOME": str(folder)}
    for script in (".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"):
        (folder / script).mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=folder, env=environment(**home), capture_output=True, text=True, check=False
    )
    # 3: the verdict of the made-up numbers is bad.
    assert done.returncode in (0, 3), done.stderr
    assert done.stdout or done.stderr or ">" in line


@pytest.mark.parametrize("line", [*HELP, *PAGE])
def test_a_call_of_ert_is_understood(line: str):
    parts = words(line)
    assert parts, line
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        name, found, parts = command.resolve_command(context, parts)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.make_context(command.name, [part for part in parts if part], parent=context.parent)
