"""``ert export``: measured ceilings for other tools."""

from __future__ import annotations

from textwrap import fill

import click

from ert.ceilings import Ceilings
from ert.cli.output import say_warnings, write_text
from ert.cli.points import device_option, precision_option
from ert.cli.words import JSON_SCHEMA
from ert.errors import UsageError
from ert.exporters import EXPORTERS, Export
from ert.points.ceilings import load_ceilings
from ert.points.formats import FORMATS
from ert.points.model import ReadOptions
from ert.schema import schema_names, schema_text
from ert.suggest import nearest

_FORMATS = "".join(f"\n  {name:12} {e.summary}" for name, e in EXPORTERS.items())
_SCHEMAS = fill(", ".join(schema_names()), 90, initial_indent=" " * 15, subsequent_indent=" " * 15)

_EPILOG = f"""\b
Formats:{_FORMATS}
  {JSON_SCHEMA:12} the JSON Schema of ert's own files; no CEILINGS, but which (default: ceilings):
{_SCHEMAS}

\b
Examples:
  ert export results/cpu/20261201T020000Z.json --to kerncraft -o machine.yml
  ert export --to {JSON_SCHEMA} -o ceilings.schema.json
  ert export comparison --to {JSON_SCHEMA} -o comparison.schema.json
"""


@click.command(epilog=_EPILOG)
@click.argument("ceilings", type=click.Path(), required=False)
@click.option("--to", "format_name", required=True, type=click.Choice([*EXPORTERS, JSON_SCHEMA]), help="Format, see below.")
@click.option("-o", "--output", type=click.Path(allow_dash=True), default="-", show_default=True, help="File to write; - is stdout.")
@precision_option
@device_option
def export(ceilings: str | None, format_name: str, output: str, precision: str | None, device: str | None) -> None:
    """Write the ceilings in the file CEILINGS for another tool.

    CEILINGS is a file of ert, or one of another tool that ert reads. What the format cannot hold is named on stderr.
    """
    made = _made(ceilings, format_name, ReadOptions(precision=precision, device=device))
    write_text(made.text, output)
    for line in made.left_out:
        click.echo(f"Left out: {line}.", err=True)
    if output != "-":
        click.echo(f"Wrote {output}", err=True)


def _made(ceilings: str | None, format_name: str, options: ReadOptions) -> Export:
    if format_name == JSON_SCHEMA:
        if options != ReadOptions():
            raise click.UsageError(f"--precision and --device are for a CEILINGS of another tool: leave them out with --to {JSON_SCHEMA}.")
        return Export(schema_text(_schema_name(ceilings or "ceilings")))
    if ceilings is None:
        raise click.UsageError("Missing argument 'CEILINGS': the file to export.")
    return EXPORTERS[format_name].write(_loaded(ceilings, options))


def _schema_name(name: str) -> str:
    known = schema_names()
    if name not in known:
        raise UsageError(f"CEILINGS {name}: with --to {JSON_SCHEMA} a kind of file.{nearest(name, known)} There are: {', '.join(known)}.")
    return name


def _loaded(path: str, options: ReadOptions) -> Ceilings:
    """What a reader of another tool's file has to say is said here: no export has a place for it."""
    found = load_ceilings(path, options)
    say_warnings(found.warnings if found.tool.name in FORMATS else ())
    return found
