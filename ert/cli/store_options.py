"""Options that the commands on the store share, and what they do with a finished check."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ert.cli.output import stdout_console, write_json
from ert.cli.types import Day
from ert.files import dump_json, write_text_atomic
from ert.findings import Finding

if TYPE_CHECKING:
    from ert.history import Check

EXIT_ALARM = 3
_Path = click.Path(path_type=Path)

store_option = click.option("--store", type=_Path, required=True, envvar="ERT_STORE", metavar="DIR", help="The store; or set ERT_STORE.")
rules_option = click.option("--rules", type=_Path, metavar="FILE", help="When to speak up, a TOML file like configs/nightly.toml.")
night_option = click.option("--night", type=Day(), metavar="DATE", help="A night of the store (UTC).  [default: the last one]")


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where else a check goes: files, with ``{host}``, ``{device}`` and ``{rank}`` in their names filled in."""

    junit: str | None = None
    prometheus: str | None = None
    events: str | None = None
    json: str | None = None


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--junit``, ``--prometheus``, ``--events`` and ``--json``."""
    for option, metavar, text in (
        ("--json", "PATH|-", "Write it as JSON; - is stdout, with nothing else there."),
        ("--events", "PATH|-", "Append the events as JSON lines."),
        ("--prometheus", "PATH", "Write a text file for node_exporter."),
        ("--junit", "PATH", "Write JUnit XML."),
    ):
        command = click.option(option, f"{option[2:]}_path", metavar=metavar, help=text)(command)
    return command


def deliver(check: Check, outputs: Outputs, device: str = "all") -> None:
    """Everywhere a check was asked for; as a table on stdout unless something else has it."""
    from ert.history_table import check_report  # noqa: PLC0415
    from ert.outputs.events import append_events, event_lines  # noqa: PLC0415  (formats that most calls do not ask for)
    from ert.outputs.junit import junit_xml  # noqa: PLC0415
    from ert.outputs.prometheus import prometheus_text  # noqa: PLC0415

    if outputs.junit:
        write_text_atomic(_filled_in(outputs.junit, device), junit_xml(check))
    if outputs.prometheus:
        write_text_atomic(_filled_in(outputs.prometheus, device), prometheus_text(check))
    if outputs.events == "-":
        click.echo(event_lines(check.events), nl=False)
    elif outputs.events:
        append_events(Path(_filled_in(outputs.events, device)), check.events)
    if outputs.json:
        write_json(dump_json(check.to_dict()), _filled_in(outputs.json, device))
    if "-" not in (outputs.json, outputs.events):
        stdout_console().print(check_report(check))


def say_findings(findings: Sequence[Finding]) -> None:
    """Warnings, on stderr."""
    from ert.history_table import finding_lines  # noqa: PLC0415

    for line in finding_lines(findings):
        click.echo(line, err=True)


def _filled_in(path: str, device: str) -> str:
    """Ranks that share a folder write files of their own."""
    from ert.devices import folder_of  # noqa: PLC0415
    from ert.ranks import local_rank  # noqa: PLC0415

    rank = local_rank(os.environ) if "{rank}" in path else None
    names = {"{host}": socket.gethostname(), "{device}": folder_of(device), "{rank}": str(rank.local if rank else 0)}
    for mark, name in names.items():
        path = path.replace(mark, name)
    return path
