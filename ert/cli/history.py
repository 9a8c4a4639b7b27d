"""``ert history``: the store of nights."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ert.cli import CheckedGroup
from ert.cli.output import json_option, stdout_console, write_json
from ert.cli.store_options import (
    EXIT_ALARM,
    Outputs,
    deliver,
    night_option,
    output_options,
    rules_option,
    say_findings,
    store_option,
)
from ert.cli.types import Day
from ert.errors import ConfigError
from ert.files import dump_json
from ert.suggest import nearest
from ert.timestamps import utc_now

if TYPE_CHECKING:
    from ert.history import History

device_option = click.option("--device", metavar="UUID", help="Only this device; its beginning is enough.")
host_option = click.option("--host", metavar="NAME", help="Only this host.")


@click.group(
    cls=CheckedGroup,
    epilog="""\b
Examples:
  ert history list --store /var/lib/ert
  ert history check --store /var/lib/ert --since 2026-11-01
  ert history fleet --store /var/lib/ert""",
)
def history() -> None:
    """The store that `ert nightly` fills: what is in it, and what it says about every device."""


@history.command(
    "list",
    short_help="List the devices of the store, or ask it in SQL.",
    epilog="\b\nExamples:\n  ert history list --store /var/lib/ert\n"
    "  ert history list --store /var/lib/ert --sql \"SELECT night, value FROM ceilings WHERE ceiling = 'DRAM read' ORDER BY night\"",
)
@store_option
@click.option("--sql", metavar="QUERY", help="Any query (DuckDB) on the tables runs and ceilings; SELECT * FROM runs shows their columns.")
@json_option
def list_(store: Path, sql: str | None, json_path: str | None) -> None:
    """List the devices of the store, or the answer to a query.

    The tables are made from the run files on demand and kept as Parquet in DIR/.index, which may be deleted at any time.
    """
    from ert.history_index import DEVICES_SQL, open_index, run_sql  # noqa: PLC0415  (DuckDB takes a third of a second)
    from ert.history_table import rows_report  # noqa: PLC0415

    index = open_index(store)
    say_findings(index.findings)
    names, rows = run_sql(index, sql or DEVICES_SQL)
    if json_path:
        write_json(dump_json([dict(zip(names, map(_plain, row), strict=True)) for row in rows]), json_path)
    if json_path != "-":
        stdout_console().print(rows_report(names, rows))


@history.command(
    short_help="Show the last nights of one device.",
    epilog="\b\nExample:\n  ert history show --store /var/lib/ert --device GPU-5c21 --last 14",
)
@store_option
@device_option
@host_option
@click.option("--ceiling", metavar="NAME", help="Only this ceiling, such as 'DRAM read'.")
@click.option("--last", type=click.IntRange(1), default=30, show_default=True, metavar="NIGHTS", help="So many nights.")
@rules_option
def show(*, store: Path, device: str | None, host: str | None, ceiling: str | None, last: int, rules: Path | None) -> None:
    """Show the last nights of one device, a column per ceiling, with a mark where a night has something to say."""
    from ert.history_table import show_report  # noqa: PLC0415

    opened = _open(store, rules)
    chosen = _devices(opened, device, host)
    if len(chosen) != 1:
        raise ConfigError(f"--device: {len(chosen)} devices match. Name one of: {', '.join(uuid for _, uuid in opened.devices[:20])}.")
    _check_ceiling(opened, chosen[0], ceiling)
    stdout_console().print(show_report(opened, chosen[0], last, ceiling))


@history.command(
    short_help="Judge every device of the store; exit code 3 if one needs a look.",
    epilog="\b\nExamples:\n  ert history check --store /var/lib/ert\n  ert history check --store /var/lib/ert --since 2026-11-01 --json -",
)
@store_option
@night_option
@click.option("--since", type=Day(), metavar="DATE", help="Events of all nights from here on; the answers are those of the last.")
@rules_option
@output_options
@click.pass_context
def check(
    ctx: click.Context,
    /,
    *,
    store: Path,
    night: date | None,
    since: date | None,
    rules: Path | None,
    **paths: str | None,
) -> None:
    """Judge every device of the store: fine, look here, or not comparable; the exit code is 3 if one needs a look.

    A loss is raised in its third night and stays raised while it lasts; a slow one when it is 2 % below the reference.
    """
    from ert.history import check as check_night  # noqa: PLC0415

    _refuse_backwards("--since", since, "--night", night)
    found = check_night(_open(store, rules), night, since)
    deliver(found, Outputs(**{name.removesuffix("_path"): path for name, path in paths.items()}))
    if found.is_alarming:
        ctx.exit(EXIT_ALARM)


@history.command(
    short_help="Show or set what the devices are judged against.",
    epilog="\b\nExamples:\n  ert history baseline --store /var/lib/ert\n"
    "  ert history baseline --store /var/lib/ert --device GPU-5c21 --set --note 'new power limit, accepted'",
)
@store_option
@device_option
@host_option
@click.option("--set", "is_set", is_flag=True, help="Make nights the reference from their last one on.")
@click.option("--since", type=Day(), metavar="DATE", help="First of them.  [default: as many as a reference takes, up to --until]")
@click.option("--until", type=Day(), metavar="DATE", help="Last of them.  [default: the last night]")
@click.option("--note", default="", metavar="TEXT", help="Why; it stands with the baseline.")
@rules_option
def baseline(
    *,
    store: Path,
    device: str | None,
    host: str | None,
    is_set: bool,
    since: date | None,
    until: date | None,
    note: str,
    rules: Path | None,
) -> None:
    """Show what the devices are judged against; or --set it: a loss that is accepted is raised no more.

    Without --set the reference is a device's first nights. Baselines are kept beside the runs, and none is ever changed.
    """
    from ert.history_baseline import Baseline, choose_nights, set_baseline  # noqa: PLC0415
    from ert.history_table import baseline_report  # noqa: PLC0415

    _refuse_backwards("--since", since, "--until", until)
    if (since or until or note) and not is_set:
        raise click.UsageError("--since, --until and --note say what --set makes the reference: add --set, or leave them out.")
    opened = _open(store, rules)
    chosen = _devices(opened, device, host)
    if is_set and len(chosen) > 1 and device is None and host is None:
        raise ConfigError(f"--set: would accept the present state of {len(chosen)} devices. Name a --device or a --host.")
    if is_set:
        made = [
            Baseline(utc_now(), *each, choose_nights(opened.grid, each, (since, until), opened.judged.rules.baseline), note)
            for each in chosen
        ]
        for each in made:
            click.echo(f"wrote {set_baseline(store, each)}", err=True)
        opened = _open(store, rules)
    stdout_console().print(baseline_report(opened, chosen))


@history.command(
    short_help="Find devices that stand out among their like.",
    epilog="\b\nExample:\n  ert history fleet --store /var/lib/ert --json outliers.json",
)
@store_option
@night_option
@json_option
@click.pass_context
def fleet(ctx: click.Context, store: Path, night: date | None, json_path: str | None) -> None:
    """Find devices that stand out among all of their kind in one night; the exit code is 3 if one is below the others.

    Median and MAD of the fleet: a device counts as an outlier beyond 3.9 robust standard deviations and 3 %.
    """
    from ert.fleet import compare_fleet  # noqa: PLC0415
    from ert.history_index import open_index  # noqa: PLC0415
    from ert.history_table import fleet_report  # noqa: PLC0415

    found = compare_fleet(open_index(store), night)
    say_findings(found.findings)
    if json_path:
        write_json(dump_json(found.to_dict()), json_path)
    if json_path != "-":
        stdout_console().print(fleet_report(found))
    if found.is_alarming:
        ctx.exit(EXIT_ALARM)


def _refuse_backwards(first: str, start: date | None, last: str, end: date | None) -> None:
    if start and end and start > end:
        raise click.UsageError(f"{first} {start} is after {last} {end}: no night lies between. Exchange them.")


def _open(store: Path, rules: Path | None) -> History:
    from ert.history import open_history  # noqa: PLC0415
    from ert.history_rules import load_rules  # noqa: PLC0415

    opened = open_history(store, load_rules(rules))
    say_findings(opened.findings)
    return opened


def _devices(opened: History, device: str | None, host: str | None) -> list[tuple[str, str]]:
    """The (host, uuid) that are meant; raises ConfigError if there is none."""
    found = [each for each in opened.devices if host in (None, each[0]) and each[1].startswith(device or "")]
    if not found:
        known = ", ".join(f"{uuid} on {name}" for name, uuid in opened.devices[:20])
        raise ConfigError(f"no device matches --device {device or 'any'} --host {host or 'any'}. The store has: {known}.")
    return found


def _check_ceiling(opened: History, device: tuple[str, str], name: str | None) -> None:
    """Raises ConfigError with the nearest name for a ceiling that no night of the device has."""
    known = dict.fromkeys(s.ceiling for s in opened.grid.series if (s.track.host, s.track.device) == device)
    if name is not None and name not in known:
        raise ConfigError(f"--ceiling {name}: {device[1]} has none of that name.{nearest(name, known)} It has: {', '.join(known)}.")


def _plain(cell: object) -> object:
    """A cell of a query as JSON can hold it; dates and times as text."""
    return cell if cell is None or isinstance(cell, bool | int | float | str | list | dict) else str(cell)
