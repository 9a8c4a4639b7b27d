"""``ert show``: the table of a ceilings file again."""

from __future__ import annotations

import os

import click
from rich.console import Console

from ert.ceilings import Ceilings, load
from ert.ceilings.file import ceilings_to_json
from ert.cli.output import json_option, stdout_console, write_json
from ert.tables import ceilings_report

# A roof that is much wider than high is hard to read; a pipe is as wide as its tables need.
_WIDEST = 120


@click.command(epilog="\b\nExamples:\n  ert show results/cpu/20261201T020000Z.json\n  ert show results/cpu/20261201T020000Z.json --plot")
@click.argument("ceilings", type=click.Path())
@click.option("--plot", "with_plot", is_flag=True, help="Draw the roof first, with characters.")
@json_option
def show(ceilings: str, with_plot: bool, json_path: str | None) -> None:
    """Print the ceilings in the file CEILINGS, with intervals, ridge points and warnings.

    A file of an older schema version is brought up to date first, also for --json.
    """
    if with_plot and json_path == "-":
        raise click.UsageError("--plot draws on stdout, which --json - has for itself: leave one out, or write the JSON to a file.")
    found = load(ceilings)
    if json_path:
        write_json(ceilings_to_json(found), json_path)
    if json_path != "-":
        console = stdout_console()
        if with_plot:
            _print_roof(console, found)
        console.print(ceilings_report(found, console.width))


def _print_roof(console: Console, ceilings: Ceilings) -> None:
    from ert.terminal_plot import terminal_roofline  # noqa: PLC0415  (brings NumPy, which the tables do not need)

    is_unicode = console.encoding.startswith("utf") and not _is_plain_locale()
    roof = terminal_roofline(ceilings, min(console.width, _WIDEST), is_unicode=is_unicode)
    # On a narrow terminal cut off rather than folded: a folded picture is none.
    console.print(roof, no_wrap=True, overflow="ignore", crop=True)


def _is_plain_locale() -> bool:
    """Whether the person asked for the C locale: Python writes UTF-8 all the same (PEP 538, 540), but fonts may lack braille."""
    return (os.environ.get("LC_ALL") or os.environ.get("LANG")) in ("C", "POSIX")
