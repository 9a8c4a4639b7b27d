"""What the words of options mean, beyond numbers and choices: devices, shares, days, quantities."""

from __future__ import annotations

import datetime
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

import ert.devices
from ert.errors import ConfigError
from ert.levels import LEVELS
from ert.suggest import nearest
from ert.units import parse_quantity

_T = TypeVar("_T")
if TYPE_CHECKING:
    _Type = click.ParamType
else:

    class _Type(click.ParamType):
        """click's own takes the type of its values in brackets from 8.4 on only."""

        def __class_getitem__(cls, _values: object) -> type:
            return cls


# unit -> the least and the most of it that a person can mean; beyond them ratios would leave the range of a float.
_RANGES = {"FLOP": (1.0, 1e30), "B": (1.0, 1e30), "s": (1e-15, 1e9)}


class DeviceId(_Type[str]):
    """The id of a device in a form that some machine could have; ``0`` becomes ``cuda:0``. ``others``: words that stand beside ids."""

    name = "D"

    def __init__(self, *others: str) -> None:
        self.others = others

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = ert.devices.canonical_id(str(value)) if str(value).isascii() else str(value)
        kind, colon, number = text.partition(":")
        is_numbered = kind in ert.devices.BACKENDS and bool(re.fullmatch("[0-9]+", number) or not colon)
        if not (is_numbered or text in self.others or text.startswith(("GPU-", "MIG-"))):
            forms = ", ".join(["cpu", "cuda:0 (short: 0), a GPU's UUID", *self.others])
            self.fail(f"{text}: unknown.{nearest(text, [*ert.devices.BACKENDS, *self.others])} Known: {forms} (`ert devices`).", param, ctx)
        return text


class Share(_Type[float]):
    """``2%`` or ``0.02``, from 0 to 1."""

    name = "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value)
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = math.nan
        if not 0 <= share <= 1:
            self.fail(f"{text}: not a share from 0 to 1. Write it as 2% or 0.02.", param, ctx)
        return share


class Day(_Type[datetime.date]):
    """A date such as 2025-01-31."""

    name = "DATE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.date:
        try:
            return datetime.date.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value}: not a date. Write it as 2025-01-31 (UTC).", param, ctx)


class Quantity(_Type[tuple[str, float]]):
    """An amount with an optional prefix and unit; LEVEL= before it where ``has_level``."""

    def __init__(self, unit: str, *, has_level: bool = False) -> None:
        self.unit, self.has_level, self.name = unit, has_level, f"{'[LEVEL=]' if has_level else ''}NUMBER[{unit}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """(level or nothing, SI value)."""
        level, equals, text = str(value).rpartition("=")
        if equals and not self.has_level:
            self.fail(f"'{value}': no level goes with it. Write {text or 'the number'} alone.", param, ctx)
        if equals and level not in LEVELS:
            self.fail(f"'{level}' is no memory level.{nearest(level, LEVELS)} Known: {', '.join(LEVELS)}.", param, ctx)
        try:
            number = parse_quantity(text, self.unit)
        except ConfigError as error:
            self.fail(str(error), param, ctx)
        least, most = _RANGES[self.unit]
        may_be_zero = self.unit != "s"
        if not (least <= number <= most or (number == 0 and may_be_zero)):
            self.fail(f"{text} must be {'0, or ' if may_be_zero else ''}from {least:g} to {most:g} {self.unit}.", param, ctx)
        return level, number
