"""The device that ``--device`` names, or the one of this process where it names none."""

from __future__ import annotations

import os

import click

from ert.ranks import own_device


def device_id_of(asked: str | None) -> str:
    """The id asked for, as ``DeviceId`` read it; else that of the device that is taken, which is said. Raises DeviceError for none."""
    if asked is not None:
        return asked
    chosen, why = own_device(os.environ)
    click.echo(f"device: {chosen.id} ({chosen.name}), {why}", err=True)
    return chosen.id
