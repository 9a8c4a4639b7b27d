"""The device that ``--device`` names, or the one of this process where it names none."""

from __future__ import annotations

import os

import click

from ert.devices import canonical_id
from ert.ranks import own_device


def device_id_of(asked: str | None) -> str:
    """The id of the device asked for; of the one that is taken otherwise, which is said. Raises DeviceError if there is none."""
    if asked is not None:
        return canonical_id(asked)
    chosen, why = own_device(os.environ)
    click.echo(f"device: {chosen.id} ({chosen.name}), {why}", err=True)
    return chosen.id
