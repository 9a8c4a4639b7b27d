"""``ert show``: the table of a ceilings file again."""

from __future__ import annotations

import click
from rich.console import Console

from ert.ceilings import Ceilings, ceilings_to_json, load
from ert.cli.output import json_option, stdout_console, write_json
from ert.tables import ceilings_report


@click.command(epilog="\b\nExamples:\n  ert show results/cpu/20261201T020000Z.json\n  ert show results/cpu/20261201T020000Z.json --plot")
@click.argument("ceilings", type=click.Path())
@click.option("--plot", "with_plot", is_flag=True, help="Draw the roof first, with characters.")
@json_option
def show(ceilings: str, with_plot: bool, json_path: str | None) -> None:
    """Print the ceilings in the file CEILINGS, with intervals, ridge points and warnings.

    A file of an older schema version is brought up to date first, also for --json.
    """
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

    roof = terminal_roofline(ceilings, console.width, is_unicode=console.encoding.startswith("utf"))
    # On a narrow terminal cut off rather than folded: a folded picture is none.
    console.print(roof, no_wrap=True, overflow="ignore", crop=True)
