"""``ert plot``: the roofline of a ceilings file as a picture."""

from __future__ import annotations

import click

from ert.ceilings import Ceilings
from ert.cli.points import points_options
from ert.compare import Comparison, compare
from ert.errors import ConfigError
from ert.judge_table import summary_lines
from ert.plot import PAGE, plot_format, save_roofline
from ert.plot_points import plot_kernels
from ert.points.ceilings import load_ceilings
from ert.points.formats import read_points
from ert.points.model import ReadOptions


def _known_suffix(_ctx: click.Context, _option: click.Parameter, path: str) -> str:
    try:
        plot_format(path)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    return path


_EXAMPLE = """\b
Examples:
  ert plot results/cpu/20261201T020000Z.json -o roofline.svg
  ert plot results/cpu/20261201T020000Z.json app.csv -o app.png
  ert plot results/cpu/20261201T020000Z.json app.csv -o app.html
"""


@click.command(epilog=_EXAMPLE)
@click.argument("ceilings", type=click.Path())
@click.argument("points", type=click.Path(allow_dash=True), nargs=-1, metavar="[POINTS]...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    callback=_known_suffix,
    help="Picture to write: .png, .svg or .pdf, or an interactive .html.",
)
@click.option("--rounded", is_flag=True, help="Draw the measured, rounded corners, too.")
@points_options
def plot(  # noqa: PLR0917  (one parameter an option, all passed by name)
    ceilings: str, points: tuple[str, ...], output: str, rounded: bool, format_name: str, options: ReadOptions
) -> None:
    """Draw the roofline in the file CEILINGS, with the measured points of the mixed kernel, or with the kernels in POINTS.

    One slope per memory level, one flat roof per precision, a ring at every ridge point. A kernel has one marker per
    memory level; its area is the share of time. Versions of one kernel are joined by arrows.
    """
    roof = load_ceilings(ceilings, options)
    readings = [read_points(path, format_name, options) for path in points]
    found = compare(roof, readings, with_trajectories=not options.per_launch) if points else None
    kernels = plot_kernels(found) if found else None
    if plot_format(output) == PAGE:
        _save_page(roof, output, found)
    else:
        save_roofline(roof, output, rounded=rounded, kernels=kernels)
    for line in (*summary_lines(found), *kernels.captions) if found and kernels else ():
        click.echo(line, err=True)
    click.echo(f"Wrote {output}" + (f" with {len(kernels.kernels)} of {len(found.kernels)} kernels" if found and kernels else ""), err=True)


def _save_page(roof: Ceilings, output: str, found: Comparison | None) -> None:
    from ert.report.content import Content  # noqa: PLC0415  (the report is as large as all the rest)
    from ert.report.page import save_roofline_page  # noqa: PLC0415

    save_roofline_page(Content(ceilings=roof, comparison=found), output)
