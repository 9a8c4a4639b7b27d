"""``ert devices``: every device that could be swept, and why one cannot."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich import box
from rich.table import Table
from rich.text import Text

from ert.cli.output import json_option, stdout_console, write_json
from ert.devices import Listed, list_devices
from ert.files import dump_json
from ert.jsontypes import Json


@click.command(epilog="\b\nExamples:\n  ert devices\n  ert devices --json - | jq -r '.devices[] | select(.reason == null) | .id'")
@json_option
def devices(json_path: str | None) -> None:
    """List every device ert could sweep: its id for --device, its name, and why one cannot be used."""
    found = list_devices()
    if json_path:
        write_json(dump_json(_document(found)), json_path)
    if json_path != "-":
        stdout_console().print(_table(found))
    usable = [device.id for device in found if device.reason is None]
    click.echo(f"Sweep one with: ert sweep --device {usable[0]}" if usable else "None can be swept; `ert doctor` says more.", err=True)


def _document(found: Sequence[Listed]) -> dict[str, Json]:
    rows: list[Json] = [{"id": device.id, "name": device.name, "reason": device.reason} for device in found]
    return {"schema": "ert.devices", "schema_version": 1, "devices": rows}


def _table(found: Sequence[Listed]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in ("device", "name", "usable"):
        table.add_column(column, no_wrap=column == "device", overflow="fold")
    for device in found:
        table.add_row(Text(device.id), Text(device.name), Text("yes" if device.reason is None else f"no: {device.reason}"))
    return table
