"""``ert report``: everything about a device, and the kernels under its roofs, in one interactive HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from ert.ceilings import Ceilings
from ert.cli.points import points_options
from ert.compare import compare
from ert.judge_table import summary_lines
from ert.points.ceilings import load_ceilings
from ert.points.formats import read_points
from ert.points.model import ReadOptions
from ert.report.content import Content
from ert.spec_match import device_facts, given_sheet, match_sheet
from ert.specs import find_sheet, shipped_sheets
from ert.tolerances import shipped_tolerances
from ert.validate import validate
from ert.validation import Validation

_EXAMPLE = """\b
Examples:
  ert report results/cpu/20261201T020000Z.json -o report.html
  ert report h200.json app.csv --compare h100.json --compare a100.json -o report.html
"""


@click.command(epilog=_EXAMPLE)
@click.argument("ceilings", type=click.Path())
@click.argument("points", type=click.Path(allow_dash=True), nargs=-1, metavar="[POINTS]...")
@click.option("-o", "--output", required=True, type=click.Path(), help="HTML file to write.")
@click.option("--compare", "others", multiple=True, type=click.Path(), metavar="OTHER", help="Ceilings to draw beside; repeatable.")
@click.option("--spec", metavar="NAME|FILE", help="Spec sheet to validate against; without it the one with the device's exact name.")
@points_options
def report(  # noqa: PLR0917  (one parameter an option, all passed by name)
    ceilings: str, points: tuple[str, ...], output: str, others: tuple[str, ...], spec: str | None, format_name: str, options: ReadOptions
) -> None:
    """Write a report of the file CEILINGS, with the kernels in POINTS under its roofs.

    One HTML file that works offline: interactive roofline, working-set curves, FLOP sweep, ceilings with their
    intervals and shares of the limit, spec validation, warnings, provenance, a sortable table of the kernels.
    """
    from ert.report.page import save_report  # noqa: PLC0415  (loads NumPy)

    roof = load_ceilings(ceilings, options)
    readings = [read_points(path, format_name, options) for path in points]
    found = compare(roof, readings, with_trajectories=not options.per_launch) if points else None
    content = Content(
        ceilings=roof, comparison=found, others=tuple(load_ceilings(path) for path in others), validation=_validation(roof, spec)
    )
    save_report(content, output)
    for line in summary_lines(found) if found else ():
        click.echo(line, err=True)
    click.echo(f"Wrote {output}: {Path(output).stat().st_size / 1e6:.1f} MB, opens in any browser, needs no network.", err=True)


def _validation(roof: Ceilings, spec: str | None) -> Validation:
    facts = device_facts(roof.device)
    match = given_sheet(find_sheet(spec), facts) if spec else match_sheet(facts, shipped_sheets().values())
    return validate(roof, match, shipped_tolerances())
