"""``ert compare``: application kernels against the measured roof."""

from __future__ import annotations

import click

from ert.cli.output import json_option, stdout_console, write_json
from ert.cli.points import points_options
from ert.compare import compare as compare_readings
from ert.compare import to_json
from ert.judge_table import comparison_report, summary_lines
from ert.points.ceilings import load_ceilings
from ert.points.formats import read_points
from ert.points.model import ReadOptions

INCOMPLETE = 3
_EXAMPLE = """\b
Examples:
  ert compare results/cpu/20261201T020000Z.json app.csv
  ncu --csv --page raw --metrics gpu__time_duration.sum,dram__bytes.sum,... ./app | ert compare results/cuda-0/20261201T020000Z.json -
"""


@click.command("compare", epilog=_EXAMPLE)
@click.argument("ceilings", type=click.Path(), metavar="CEILINGS")
@click.argument("points", type=click.Path(allow_dash=True), nargs=-1, required=True, metavar="POINTS...")
@click.option("--top", type=click.IntRange(min=0), default=40, show_default=True, help="Rows in the table, longest first; 0: all.")
@points_options
@json_option
@click.pass_context
def compare(  # noqa: PLR0917  (one parameter an option, all passed by name)
    ctx: click.Context, ceilings: str, points: tuple[str, ...], top: int, json_path: str | None, format_name: str, options: ReadOptions
) -> None:
    """Place the kernels in the files POINTS under the roofs of the file CEILINGS.

    POINTS are ert's own CSV or JSON, or the output of Nsight Compute, rocprof-compute, likwid-perfctr or Intel Advisor;
    - is standard input. Files of one kernel in order show its trajectory. Ceilings that other tools measured
    (ERT 1.1.0, BabelStream, mixbench, nvbandwidth, CARM, Kerncraft) stand beside these ones, or take the place of CEILINGS.

    Exit status: 0 every kernel was judged; 3 some lack counters or were skipped (all are listed).
    """
    readings = [read_points(path, format_name, options) for path in points]
    found = compare_readings(load_ceilings(ceilings, options), readings, with_trajectories=not options.per_launch)
    if json_path:
        write_json(to_json(found), json_path)
    if json_path != "-":
        console = stdout_console()
        console.print(comparison_report(found, top, console.width))
    for line in summary_lines(found):
        click.echo(line, err=True)
    ctx.exit(0 if found.is_complete else INCOMPLETE)
