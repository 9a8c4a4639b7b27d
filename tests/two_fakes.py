"""Two planted devices, ``fake:0`` and ``fake:1``, and the ``ert`` program that knows them alone: for launchers that start several."""

from __future__ import annotations

from fake_device import FakeDevice, Machine

import ert.cli
import ert.devices
from ert.devices import Listed, Options
from ert.jsontypes import Json


class NumberedDevice(FakeDevice):
    """The planted machine with a number."""

    def __init__(self, number: str) -> None:
        super().__init__(Machine())
        self.id = f"fake:{number}"

    def facts(self) -> dict[str, Json]:
        return {**super().facts(), "uuid": f"planted-{self.id[-1]}"}


def list_devices() -> list[Listed]:
    return [Listed("fake:0", "Planted"), Listed("fake:1", "Planted")]


def lock_name(device_id: str) -> str:
    return device_id


def open_device(device_id: str, _options: Options) -> NumberedDevice:
    return NumberedDevice(device_id[-1])


if __name__ == "__main__":
    ert.devices.BACKENDS = {"fake": ("two_fakes", None)}
    ert.cli.main()
