"""The kinds of device, one line each, and how a device is found by its id.

A backend is a module with ``list_devices() -> list[Listed]`` and ``open_device(id, options) -> Device``; it is
imported when it is needed, so that a missing driver disturbs nobody who does not ask for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from ert.devices.base import Device
from ert.errors import DeviceError
from ert.suggest import nearest

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

    def lock_name(self, device_id: str) -> str:
        """What one sweep or workload at a time may hold, whatever this process calls the device. Raises DeviceError if there is none."""
        ...


def list_devices() -> list[Listed]:
    """Every device of every kind."""
    return [device for kind in BACKENDS for device in _backend(kind).list_devices()]


def canonical_id(text: str) -> str:
    """``0`` is short for ``cuda:0``; everything else stands for itself."""
    return f"cuda:{text}" if text.isdigit() else text


def kind_of(device_id: str) -> str:
    """``cuda`` for ``cuda:0`` and for a GPU's UUID, ``cpu`` for ``cpu``; another word stands for itself."""
    return "cuda" if device_id.startswith(("GPU-", "MIG-")) else device_id.partition(":")[0]


def folder_of(device_id: str) -> str:
    """The name of the device's folder: not every file system takes a colon."""
    return device_id.replace(":", "-")


def choose_device() -> Listed:
    """The first usable device, in the order of BACKENDS. Raises DeviceError listing why none is."""
    return usable_of(list_devices())[0]


def every_device() -> list[Listed]:
    """What ``all`` stands for: every GPU, also one that will turn out to be unusable; where there is none, the CPU.

    Raises DeviceError listing why nothing is usable.
    """
    listed = list_devices()
    # A kind that has no device here is listed by its own name, without a number.
    gpus = [device for device in listed if ":" in device.id]
    return gpus or usable_of(listed)


def usable_of(listed: Sequence[Listed]) -> list[Listed]:
    """The devices that can be swept. Raises DeviceError listing why none can."""
    usable = [device for device in listed if device.reason is None]
    if not usable:
        reasons = " ".join(f"{device.id}: {device.reason}" for device in listed)
        raise DeviceError(f"No device can be swept. {reasons}")
    return usable


def open_device(device_id: str, options: Options = Options()) -> Device:
    """Open a device by id. Raises DeviceError for an unknown id (with the nearest known one) or one that cannot be had."""
    return _backend_of(device_id).open_device(canonical_id(device_id), options)


def lock_name(device_id: str) -> str:
    """The name of a device's lock (``ert.lock``). Raises DeviceError for a device that is not there."""
    return _backend_of(device_id).lock_name(canonical_id(device_id))


def _backend_of(device_id: str) -> Backend:
    wanted = canonical_id(device_id)
    kind = kind_of(wanted)
    if kind in BACKENDS:
        return _backend(kind)
    known = [device.id for device in list_devices()]
    hint = nearest(wanted, [*known, *BACKENDS])
    raise DeviceError(f"--device {device_id}: unknown.{hint} Here are: {', '.join(known)} (`ert devices`).")


def _backend(kind: str) -> Backend:
    return cast(Backend, importlib.import_module(BACKENDS[kind][0]))
