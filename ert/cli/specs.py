"""``ert specs``: the spec sheets ert knows, their sources, and how the ridge point moves between products."""

from __future__ import annotations

from pathlib import Path

import click

from ert.ceilings import load
from ert.cli.output import json_option, stdout_console, write_json
from ert.files import dump_json, read_text
from ert.spec_ridges import Ridges, measured_ridges, sheet_ridges
from ert.specs import find_sheet, shipped_sheets
from ert.specs_table import ridges_document, ridges_table, sheet_report, sheets_document, sheets_list


@click.command(epilog="\b\nExamples:\n  ert specs H100-SXM5-80GB\n  ert specs --ridge H200-SXM-141GB results/cpu/20261201T020000Z.json")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--ridge", "with_ridges", is_flag=True, help="Tabulate ridge points; a NAME may then also be a ceilings file.")
@json_option
def specs(names: tuple[str, ...], with_ridges: bool, json_path: str | None) -> None:
    """List the spec sheets, or show every number of the sheets NAME with its source.

    A NAME may be a sheet file of your own. With --ridge: FLOP/byte where DRAM bandwidth and each rate meet,
    oldest product first.
    """
    if with_ridges:
        ridges = _ridges(names)
        document, report = ridges_document(ridges), [ridges_table(ridges, stdout_console().width)]
    else:
        sheets = [find_sheet(name) for name in names] or list(shipped_sheets().values())
        document, report = sheets_document(sheets), [sheet_report(s) for s in sheets] if names else [sheets_list(sheets)]
    if json_path:
        write_json(dump_json(document), json_path)
    if json_path != "-":
        stdout_console().print(*report, sep="\n")


def _ridges(names: tuple[str, ...]) -> list[Ridges]:
    """Of the sheets and ceilings files named, else of every sheet; one without rates or bandwidth has none and says so."""
    found = []
    for name in names or _by_year():
        ridges = _of_one(name)
        if ridges:
            found.append(ridges)
        elif names:
            click.echo(f"{name}: no ridge point: it has no DRAM bandwidth, or no compute rate.", err=True)
    return found


def _by_year() -> list[str]:
    """The shipped sheets in the order their products came out, which is what a reader of ridge points wants to see."""
    return [sheet.name for sheet in sorted(shipped_sheets().values(), key=lambda sheet: (sheet.announced or 0, sheet.name))]


def _of_one(name: str) -> Ridges | None:
    if _is_ceilings_file(name):
        return measured_ridges(load(name))
    return sheet_ridges(find_sheet(name))


def _is_ceilings_file(name: str) -> bool:
    """A JSON file that says so itself; a sheet may be JSON too."""
    return name.endswith(".json") and Path(name).is_file() and '"ert.ceilings"' in read_text(name)[:4096]
