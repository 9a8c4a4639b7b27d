"""``ert plot``: the roofline of a ceilings file as a picture."""

from __future__ import annotations

import click

from ert.ceilings import load
from ert.errors import ConfigError
from ert.plot import plot_format, save_roofline


def _known_suffix(_ctx: click.Context, _option: click.Parameter, path: str) -> str:
    try:
        plot_format(path)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    return path


@click.command(epilog="\b\nExample:\n  ert plot results/cpu/20261201T020000Z.json -o roofline.svg")
@click.argument("ceilings", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), callback=_known_suffix, help="Picture to write: .png, .svg or .pdf.")
@click.option("--rounded", is_flag=True, help="Draw the measured, rounded corners, too.")
def plot(ceilings: str, output: str, rounded: bool) -> None:
    """Draw the roofline in the file CEILINGS, with the measured points of the mixed kernel.

    One slope per memory level, one flat roof per precision, a ring at every ridge point.
    """
    save_roofline(load(ceilings), output, rounded=rounded)
    click.echo(f"Wrote {output}", err=True)
