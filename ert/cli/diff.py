"""``ert diff``: two ceilings files, ceiling by ceiling."""

from __future__ import annotations

import click

from ert.ceilings import load
from ert.cli.output import json_option, stdout_console, write_json
from ert.cli.types import Share
from ert.diff import DEFAULT_THRESHOLD, compare
from ert.diff_table import diff_report
from ert.files import dump_json

EXIT_WORSE = 3


@click.command(epilog="\b\nExample:\n  ert diff results/cpu/20261201T020000Z.json results/cpu/20261202T020000Z.json --threshold 3%")
@click.argument("base", type=click.Path())
@click.argument("new", type=click.Path())
@click.option(
    "--threshold", type=Share(), default=f"{DEFAULT_THRESHOLD:.0%}", show_default=True, metavar="SHARE", help="Smaller changes are 'same'."
)
@json_option
@click.pass_context
def diff(ctx: click.Context, base: str, new: str, threshold: float, json_path: str | None) -> None:
    """Compare the ceilings files BASE and NEW: both values with their intervals, the change, and a verdict.

    Worse or better: the change is beyond --threshold and beyond the intervals of both. Not comparable: another kind of
    device, another sweep, or a ceiling measured while something slowed the device. The exit code is 3 if any ceiling is worse.
    """
    found = compare(load(base), load(new), threshold, (base, new))
    if json_path:
        write_json(dump_json(found.to_dict()), json_path)
    if json_path != "-":
        stdout_console().print(diff_report(found))
    if found.verdict == "worse":
        ctx.exit(EXIT_WORSE)
