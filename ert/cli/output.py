"""Where commands put what they found: stdout, or a JSON file."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click
from rich.console import Console

from ert.files import write_text_atomic
from ert.findings import Finding

# A pipe has no width; this one folds no table, and a table takes no more than it needs.
PIPE_WIDTH = 200


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option ``--json PATH|-`` as the parameter ``json_path``."""
    return click.option("--json", "json_path", metavar="PATH|-", help="Write it as JSON; - is stdout, with nothing else there.")(command)


def write_json(text: str, path: str) -> None:
    """What ``--json PATH|-`` asks for."""
    write_text(text, path)


def write_text(text: str, path: str) -> None:
    """Text to a file, or to stdout for ``-``, with nothing else there."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_text_atomic(path, text)


def say_warnings(findings: Sequence[Finding]) -> None:
    """What a person should know, on stderr."""
    if findings:
        from ert.judge_table import finding_line  # noqa: PLC0415  (only when there is something to say)

        for finding in findings:
            click.echo(finding_line(finding), err=True)


class _DataConsole(Console):
    """rich ends the program with status 1 when the reader of stdout leaves; ``ert.cli.execute`` knows better."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout_console() -> Console:
    """A console for data: colour and the terminal's width only on a terminal; letters it cannot show as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # kernel names come from files and may hold anything
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return _DataConsole(width=width, highlight=False, markup=False)
