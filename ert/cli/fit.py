"""``ert fit``: levels and ceilings from a file of measured points."""

from __future__ import annotations

import click

from ert.cli.output import json_option, stdout_console, write_json
from ert.errors import ConfigError
from ert.files import dump_json
from ert.fit.read import read_curves, read_facts
from ert.fit.report import fit_file, report_tables, report_to_dict, warning_lines


@click.command(epilog="\b\nExample:\n  ert fit curve.csv --device-facts device.json --json -")
@click.argument("file", type=click.Path())
@click.option("--device-facts", metavar="FILE", help="JSON with the sizes of the caches (l1_bytes, l2_bytes, ...), to name the levels.")
@click.option("--clocks", metavar="FILE", help="CSV with the core clock of each row of FILE: row (from 0), and clock_hz or sm_clock_MHz.")
@json_option
def fit(file: str, device_facts: str | None, clocks: str | None, json_path: str | None) -> None:
    """Find the memory levels in FILE: a CSV, a ceilings file, or the journal of a sweep; of a sweep also compute ceilings and corners.

    A CSV has the columns working_set_bytes, and bandwidth_bytes_per_s or bytes_moved with time_s, time_us or time_ms;
    op, order and clock_hz are used where they are there. Rows of one size are samples of it.
    """
    read = read_curves(file, clocks)
    if clocks and read.points:
        raise ConfigError(f"--clocks {clocks}: for a CSV; {file} has the clock of every sample itself. Leave --clocks out.")
    report = fit_file(file, read, read_facts(device_facts) if device_facts else ())
    for line in warning_lines(report):
        click.echo(line, err=True)
    if json_path:
        write_json(dump_json(report_to_dict(report)), json_path)
    if json_path != "-":
        stdout_console().print(*report_tables(report))
