"""A spec sheet as dataclasses: what a vendor promises for one product and form factor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ert.spec_units import Amount

Clock = Literal["boost", "base"]
Scope = Literal["gpu", "die", "board", "node", "socket"]
# The date of a document that shows none.
NO_DATE = "not stated"


@dataclass(frozen=True, slots=True)
class Source:
    """The public document a number stands in: title, page or address, and its date.

    checked  the day its numbers were compared with public text, None if they were not;  seen: which text that was
    """

    title: str
    where: str
    date: str
    checked: str | None = None
    seen: tuple[str, ...] = ()

    @property
    def cited(self) -> str:
        """Title and date; not every document carries one."""
        return f"{self.title}, {self.date if self.date != NO_DATE else 'no date on it'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetNumber:
    """One number of a sheet with the conditions it holds under.

    level            of a bandwidth or capacity; None for a rate
    precision, path  of a rate; None otherwise
    amount           as printed, and in SI base
    is_sparse        True if a tensor rate counts the skipped zeros of 2:4 sparsity
    clock, clock_hz  the clock a rate was computed for, None where the sheet does not say
    scope, devices   what the number is for, and how many devices that is
    unconfirmed      why the number stands here though no public text was found that shows it; None if one was
    """

    amount: Amount
    source: Source
    level: str | None = None
    precision: str | None = None
    path: str | None = None
    is_sparse: bool = False
    clock: Clock | None = None
    clock_hz: float | None = None
    scope: Scope = "gpu"
    devices: int = 1
    note: str | None = None
    unconfirmed: str | None = None

    @property
    def what(self) -> str:
        """``DRAM bandwidth``, ``L2 capacity``, ``fp16 tensor``."""
        if self.level is not None:
            return f"{self.level} {self.amount.quantity}"
        return f"{self.precision} {self.path}"

    @property
    def dense_value(self) -> float:
        """Per device and without sparsity, SI base: what a measurement of dense work on one device can reach."""
        return self.amount.value / self.devices / (2 if self.is_sparse else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """How a product is recognised: exact driver names (or one anchored pattern for CPUs), then facts."""

    names: tuple[str, ...] = ()
    pattern: str | None = None
    compute_capability: str | None = None
    sm_count: int | None = None
    memory_bus_bits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One product in one form factor.

    kind        device kind: ``cuda``, ``cpu``; ``rocm`` sheets are reading material, ert cannot sweep such a device
    announced   the year the vendor announced the product, None if not said
    mig_slices  compute slices that MIG cuts the device into, None where it cannot
    file        where it was read from
    """

    name: str
    product: str
    vendor: str
    kind: str
    numbers: tuple[SheetNumber, ...]
    identity: Identity = field(default_factory=Identity)
    announced: int | None = None
    mig_slices: int | None = None
    note: str | None = None
    file: str = ""

    def number(self, what: str) -> SheetNumber | None:
        """The number called ``DRAM bandwidth``, ``fp16 tensor``, ..."""
        return next((n for n in self.numbers if n.what == what), None)
