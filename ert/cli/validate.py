"""``ert validate``: measured against the vendor's sheet and against the device's own theoretical peak."""

from __future__ import annotations

import click

from ert.ceilings import load
from ert.cli.output import json_option, stdout_console, write_json
from ert.files import dump_json
from ert.spec_match import device_facts, given_sheet, match_sheet
from ert.specs import find_sheet, shipped_sheets
from ert.tolerances import shipped_tolerances
from ert.validate import validate as judge
from ert.validate_table import validation_report

EXIT_BELOW = 3


@click.command(epilog="\b\nExample:\n  ert validate results/cuda-0/20261201T020000Z.json --spec H200-SXM-141GB")
@click.argument("ceilings", type=click.Path())
@click.option("--spec", metavar="NAME|FILE", help="The sheet: a name from `ert specs`, or a TOML or JSON file of your own.")
@json_option
@click.pass_context
def validate(ctx: click.Context, ceilings: str, spec: str | None, json_path: str | None) -> None:
    """Compare the file CEILINGS with the vendor's spec sheet and with the theoretical peak at the measured clock.

    Without --spec the sheet is chosen by the device's exact name. One of your own takes a few lines of TOML:
    device = "X", dram = "2 TB/s", l2 = "40 MB", fp32 = "19.5 TFLOP/s". Every number of the sheet gets a row. The exit
    code is 3 if a measurement is below its promise; tolerances and their reasons: configs/validate.toml.
    """
    found = load(ceilings)
    facts = device_facts(found.device)
    match = given_sheet(find_sheet(spec), facts) if spec else match_sheet(facts, shipped_sheets().values())
    result = judge(found, match, shipped_tolerances())
    if json_path:
        write_json(dump_json(result.to_dict()), json_path)
    if json_path != "-":
        console = stdout_console()
        console.print(validation_report(result, console.width))
    if result.verdict == "below":
        ctx.exit(EXIT_BELOW)
