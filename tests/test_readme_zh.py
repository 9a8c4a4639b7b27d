"""The Chinese quick start names commands that exist, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from ert.cli import COMMANDS
from ert.exporters import EXPORTERS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")


def test_it_names_every_command_and_none_that_is_gone():
    assert set(re.findall(r"\bert ([a-z]+)\b", TEXT)) == set(COMMANDS)


def test_its_shell_commands_are_those_of_the_readme():
    """Up to their remarks, so that the two stay in step."""
    english = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line.split("#")[0].rstrip() for block in re.findall(r"```sh\n(.*?)```", TEXT, re.S) for line in block.splitlines()]
    assert len(lines) > 8
    assert [line for line in lines if not re.search(rf"^{re.escape(line)}\s*(#|$)", english, re.MULTILINE)] == []


def test_it_lists_as_many_export_formats_as_there_are():
    listed = re.search(r"导出给其他工具（(ERT.*?)）", TEXT)[1]
    assert len(listed.split("、")) == len(EXPORTERS)


def test_the_links_lead_somewhere():
    """The picture is the README's, which has its own test."""
    for target in re.findall(r"\]\(([^)]+\.md)\)", TEXT):
        assert (ROOT / target).exists(), target


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    plt.switch_backend("agg")
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    exec(compile(code, "README.zh-CN.md", "exec"), {})
    plt.close("all")
