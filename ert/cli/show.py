"""``ert show``: the table of a ceilings file again."""

from __future__ import annotations

import click

from ert.ceilings import ceilings_to_json, load
from ert.cli.output import json_option, stdout_console, write_json
from ert.tables import ceilings_report


@click.command(epilog="\b\nExample:\n  ert show results/cpu/20261201T020000Z.json")
@click.argument("ceilings", type=click.Path())
@json_option
def show(ceilings: str, json_path: str | None) -> None:
    """Print the ceilings in the file CEILINGS, with intervals, ridge points and warnings.

    A file of an older schema version is brought up to date first, also for --json.
    """
    found = load(ceilings)
    if json_path:
        write_json(ceilings_to_json(found), json_path)
    if json_path != "-":
        console = stdout_console()
        console.print(ceilings_report(found, console.width))
