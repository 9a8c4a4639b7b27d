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


def test_every_command_it_names_exists():
    named = set(re.findall(r"\bert ([a-z]+)\b", TEXT))
    assert {"sweep", "show", "report", "export"} <= named <= set(COMMANDS)


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
