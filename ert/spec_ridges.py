"""How the ridge moves: FLOP/byte where DRAM bandwidth and a compute rate meet, per product and precision.

From sheets it is what the vendor promises (dense, per device), from ceilings files what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from ert.ceilings import Ceilings
from ert.spec_sheet import Sheet


@dataclass(frozen=True, slots=True)
class Ridges:
    """The ridge points of one product or device against DRAM.

    origin  ``sheet`` or ``measured``
    year    the product was announced in, None if not known
    points  (precision, path) -> FLOP/byte; integer precisions in op/byte
    """

    name: str
    origin: str
    year: int | None
    bandwidth_bytes_per_s: float
    points: dict[tuple[str, str], float]


def sheet_ridges(sheet: Sheet) -> Ridges | None:
    """None for a sheet without DRAM bandwidth or without rates: it has no ridge."""
    dram = sheet.number("DRAM bandwidth")
    rates = {(n.precision, n.path): n.dense_value for n in sheet.numbers if n.precision and n.path}
    if dram is None or not rates:
        return None
    points = {(str(precision), str(path)): rate / dram.dense_value for (precision, path), rate in rates.items()}
    return Ridges(sheet.name, "sheet", sheet.announced, dram.dense_value, points)


def measured_ridges(ceilings: Ceilings) -> Ridges | None:
    """None for a file without a DRAM roof or without compute roofs."""
    if "DRAM" not in ceilings.bandwidth_roofs or not ceilings.compute_roofs:
        return None
    points = {key: ceilings.ridge("DRAM", *key) for key in ceilings.compute_roofs}
    return Ridges(str(ceilings.device.get("name") or "unnamed device"), "measured", None, ceilings.bandwidth("DRAM"), points)
