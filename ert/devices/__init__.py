"""The kinds of device, one line each, and how a device is found by its id.

A backend is a module with ``list_devices() -> list[Listed]`` and ``open_device(id, options) -> Device``; it is
imported when it is needed, so that a missing driver disturbs nobody who does not ask for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol, cast

from ert.devices.base import Device
from ert.errors import DeviceError

# kind -> (module, pip extra that brings what it needs); in the order of preference when nobody names a device
BACKENDS: Mapping[str, tuple[str, str | None]] = {
    "cuda": ("ert.devices.cuda", "cuda"),
    "cpu": ("ert.devices.cpu", None),
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One device that could be swept, or the reason why it cannot."""

    id: str
    name: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What a person may choose about a device; None: the device's own choice."""

    threads: int | None = None
    seed: int = 1


class Backend(Protocol):
    """What a backend module offers."""

    def list_devices(self) -> list[Listed]: ...

    def open_device(self, device_id: str, options: Options) -> Device:
        """Raises DeviceError or ConfigError for a device or option that cannot be had."""
        ...


def list_devices() -> list[Listed]:
    """Every device of every kind."""
    return [device for kind in BACKENDS for device in _backend(kind).list_devices()]


def canonical_id(text: str) -> str:
    """``0`` is short for ``cuda:0``; everything else stands for itself."""
    return f"cuda:{text}" if text.isdigit() else text


def choose_device() -> Listed:
    """The first usable device, in the order of BACKENDS. Raises DeviceError listing why none is."""
    listed = list_devices()
    usable = [device for device in listed if device.reason is None]
    if not usable:
        reasons = " ".join(f"{device.id}: {device.reason}" for device in listed)
        raise DeviceError(f"No device can be swept. {reasons}")
    return usable[0]


def open_device(device_id: str, options: Options = Options()) -> Device:
    """Open a device by id. Raises DeviceError for an unknown id (with the nearest known one) or one that cannot be had."""
    wanted = canonical_id(device_id)
    kind = "cuda" if wanted.startswith(("cuda:", "GPU-", "MIG-")) else wanted.partition(":")[0]
    if kind in BACKENDS:
        return _backend(kind).open_device(wanted, options)
    known = [device.id for device in list_devices()]
    near = get_close_matches(wanted, [*known, *BACKENDS], n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise DeviceError(f"--device {device_id}: unknown.{hint} Here are: {', '.join(known)} (`ert devices`).")


def _backend(kind: str) -> Backend:
    return cast(Backend, importlib.import_module(BACKENDS[kind][0]))
