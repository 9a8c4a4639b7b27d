"""Judge a ceilings file against the vendor's sheet and against the device's own theoretical peak.

One row per number of the sheet, also where nothing was measured, then one per measured roof the sheet
does not speak of. Pure: reads no file but the tables shipped with ert.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling, ComputeCeiling
from ert.limits import NoLimit
from ert.precisions import si_rate_unit
from ert.slips import recognise
from ert.spec_match import Match, Slice
from ert.spec_sheet import SheetNumber
from ert.spec_units import binary_reading
from ert.theory import theoretical_bandwidth, theoretical_rate
from ert.tolerances import Tolerance, Tolerances
from ert.validation import Row, Unit, Validation

# Where the ``device`` object of a ceilings file keeps what the driver says of capacities.
_CAPACITY_FACTS = {"DRAM": "memory_bytes", "L1": "l1_bytes", "L2": "l2_bytes", "L3": "l3_bytes", "shared": "shared_bytes"}


@dataclass(frozen=True, slots=True)
class _Case:
    """What every row needs."""

    ceilings: Ceilings
    tolerances: Tolerances
    mig: Slice | None

    @property
    def kind(self) -> str:
        return str(self.ceilings.device.get("kind"))


def validate(ceilings: Ceilings, match: Match, tolerances: Tolerances) -> Validation:
    """Judge against the sheet of ``match``, or against the theoretical peak alone where it holds none."""
    case = _Case(ceilings, tolerances, match.mig)
    rows = [_sheet_row(case, number) for number in (match.sheet.numbers if match.sheet else ())]
    spoken_of = {row.what for row in rows}
    rows += [row for row in _peak_rows(case, "not on the sheet" if rows else "") if row.what not in spoken_of]
    return Validation(
        device=str(ceilings.device.get("name") or "unnamed device"),
        spec=match.name,
        spec_reason=match.reason,
        candidates=match.candidates,
        rows=tuple(rows),
    )


def _sheet_row(case: _Case, number: SheetNumber) -> Row:
    """One number of the sheet, judged if it was measured and is meant for this device."""
    row = Row(
        what=number.what,
        unit=_unit(number),
        spec=number.dense_value * _share(number, case.mig),
        sheet=number.amount.printed,
        source=f"{number.source.cited}, {number.source.where}",
    )
    if number.amount.quantity == "capacity":
        return _judged_capacity(case, number, row)
    roof = _roof(case.ceilings, number)
    if roof is None:
        return replace(row, note=_why_not_measured(case.ceilings, number))
    return _judged(case, number, _with_roof(case, row, roof), roof)


def _peak_rows(case: _Case, note: str) -> Iterator[Row]:
    """Every measured roof against its theoretical peak alone."""
    for roof in case.ceilings.all_ceilings:
        if not roof.roof:
            continue
        what = f"{roof.level} bandwidth" if isinstance(roof, BandwidthCeiling) else f"{roof.precision} {roof.path}"
        unit: Unit = "byte/s" if isinstance(roof, BandwidthCeiling) else si_rate_unit(roof.precision)
        row = _with_roof(case, Row(what=what, unit=unit, note=note), roof)
        tolerance = case.tolerances.of("peak", case.kind, _tolerance_name(roof))
        if row.theoretical_ratio is None:
            yield replace(row, note=_joined(row.note, f"no theoretical peak: {row.theoretical_source}"))
        elif row.theoretical_ratio > tolerance.most:
            yield replace(row, verdict="above")
        elif row.theoretical_ratio >= tolerance.least:
            yield replace(row, verdict="pass")
        else:
            yield replace(row, verdict="below", note=_joined(row.note, f"below the least, {tolerance.least:.0%} of the theoretical peak"))


def _with_roof(case: _Case, row: Row, roof: Ceiling) -> Row:
    """The row with what was measured and what the device could do in theory."""
    device = case.ceilings.device
    limit = theoretical_bandwidth(roof, device) if isinstance(roof, BandwidthCeiling) else theoretical_rate(roof, device)
    row = replace(row, measured=roof.value, op=roof.op, clock_hz=roof.clock_hz)
    if isinstance(limit, NoLimit):
        return replace(row, theoretical_source=limit.reason)
    row = replace(row, theoretical=limit.value, theoretical_source=limit.source)
    # Not rounded away: a measurement beyond physics is wrong until it is explained.
    return replace(row, note=_joined(row.note, "beyond the physical limit: a bug until explained")) if limit.value < roof.value else row


def _judged(case: _Case, number: SheetNumber, row: Row, roof: Ceiling) -> Row:
    """The verdict of a rate or bandwidth, and why."""
    if whole := _not_for_one_device(case, number, roof):
        return replace(row, note=_joined(whole, row.note))
    tolerance = case.tolerances.of("sheet", case.kind, _tolerance_name(roof))
    ratio = row.ratio
    assert ratio is not None  # measured and promised, both above 0
    notes = [_sparsity_note(number, ratio), _slice_note(number, case.mig)]
    if tolerance.holds(ratio):
        # What no device can do was not measured right, however well it fits the sheet.
        is_possible = (row.theoretical_ratio or 0.0) <= case.tolerances.of("peak", case.kind, _tolerance_name(roof)).most
        return replace(row, verdict="pass" if is_possible else "above", note=_joined(*notes, row.note))
    judged = _explained_above if ratio > tolerance.most else _explained_below
    verdict_row = judged(number, row, roof, tolerance)
    doubt = f"the sheet's number is unconfirmed: {number.unconfirmed}" if number.unconfirmed else ""
    return replace(verdict_row, note=_joined(verdict_row.note, doubt, *notes, row.note))


def _explained_above(number: SheetNumber, row: Row, roof: Ceiling, tolerance: Tolerance) -> Row:
    """Above is no pass, unless the clock was above the sheet's by as much."""
    ratio = row.ratio or 0.0
    if number.clock_hz and roof.clock_hz and roof.clock_hz > number.clock_hz:
        per_clock = ratio * number.clock_hz / roof.clock_hz
        if tolerance.holds(per_clock):
            clocks = f"{_megahertz(roof.clock_hz)}, not the sheet's {_megahertz(number.clock_hz)}"
            return replace(row, verdict="pass", note=f"{ratio:.1%} of the sheet because the clock was {clocks}; {per_clock:.1%} per clock")
    if slip := recognise(number, ratio, tolerance):
        return replace(row, verdict="above", note=f"{ratio:.1%} of the sheet: {slip.question} Then {ratio / slip.factor:.1%}")
    if isinstance(roof, ComputeCeiling) and roof.clock_hz is None:
        return replace(row, verdict="above", note=f"{ratio:.1%} of the sheet: above spec, clock unknown")
    if isinstance(roof, ComputeCeiling) and number.clock_hz is None:
        note = f"above spec at {_megahertz(roof.clock_hz or 0)}, and the sheet does not say its clock"
        return replace(row, verdict="above", note=f"{ratio:.1%} of the sheet: {note}")
    return replace(row, verdict="above", note=f"{ratio:.1%} of the sheet: above spec, no explanation found")


def _explained_below(number: SheetNumber, row: Row, roof: Ceiling, tolerance: Tolerance) -> Row:
    """Below, with the clock or the slip that may be behind it; a factor of 1000 is the sheet's doing, not the device's."""
    ratio = row.ratio or 0.0
    slip = recognise(number, ratio, tolerance)
    if slip and slip.factor <= 1e-3:
        return replace(row, verdict="unknown", note=f"{100 * ratio:.2g} % of the sheet: {slip.question} ({ratio / slip.factor:.1%})")
    note = f"below the least, {tolerance.least:.0%} of the sheet"
    if slip:
        note += f"; {slip.question} Then {ratio / slip.factor:.1%}"
    if isinstance(roof, ComputeCeiling) and number.clock_hz and roof.clock_hz and roof.clock_hz < number.clock_hz:
        per_clock = ratio * number.clock_hz / roof.clock_hz
        note += f"; the clock was {_megahertz(roof.clock_hz)}, not {_megahertz(number.clock_hz)}: {per_clock:.1%} per clock"
    if "throttled" in roof.flags:
        note += "; measured while throttled"
    return replace(row, verdict="below", note=note)


def _judged_capacity(case: _Case, number: SheetNumber, row: Row) -> Row:
    """A capacity against the nearer of the two readings of MB and GB."""
    measured = _capacity(case.ceilings, number.level or "")
    if measured is None:
        return replace(row, note="the ceilings file does not say it")
    row = replace(row, measured=measured)
    if whole := _not_for_one_device(case, number, None):
        return replace(row, note=whole)
    assert row.spec is not None  # every number of a sheet is one
    binary = row.spec * binary_reading(number.amount)
    is_binary = abs(measured / binary - 1) < abs(measured / row.spec - 1)
    row = replace(row, spec=binary if is_binary else row.spec)
    ratio, tolerance = row.ratio or 0.0, case.tolerances.of("sheet", case.kind, "capacity")
    note = _joined(f"the sheet's {number.amount.printed} read as binary" if is_binary else "", _slice_note(number, case.mig))
    if tolerance.holds(ratio):
        return replace(row, verdict="pass", note=note)
    return replace(row, verdict="below" if ratio < tolerance.least else "above", note=_joined(f"{ratio:.1%} of the sheet", note))


def _roof(ceilings: Ceilings, number: SheetNumber) -> Ceiling | None:
    if number.level is not None:
        return ceilings.bandwidth_roofs.get(number.level)
    return ceilings.compute_roofs.get((number.precision or "", number.path or ""))


def _capacity(ceilings: Ceilings, level: str) -> float | None:
    """What the driver says, else what the curve showed."""
    said = ceilings.device.get(_CAPACITY_FACTS.get(level, ""))
    if isinstance(said, int | float) and not isinstance(said, bool) and said > 0:
        return float(said)
    roof = ceilings.bandwidth_roofs.get(level)
    return roof.capacity_bytes if roof else None


def _why_not_measured(ceilings: Ceilings, number: SheetNumber) -> str:
    """The reason a point of this kind gives, if there is one."""
    tried = [p for p in ceilings.points if (p.precision, p.path) == (number.precision, number.path) and p.status != "ok"]
    if number.level is not None:
        tried = [p for p in ceilings.points if p.level == number.level and p.status != "ok"]
    reasons = [p.reason for p in tried if p.reason]
    return f"not measured: {reasons[0]}" if reasons else "not measured: the ceilings file has no such roof"


def _not_for_one_device(case: _Case, number: SheetNumber, roof: Ceiling | None) -> str:
    """Why a number must not be held against this measurement; empty if it may."""
    if number.scope in ("board", "node") and number.devices == 1:
        return f"the sheet's number is for a whole {number.scope}, of an unknown number of devices"
    if number.scope != "socket":
        return ""
    if case.ceilings.environment.get("virtual_machine"):
        return "the sheet's number is for a whole socket, and a virtual machine has a share of one"
    cores, threads = _cores_per_socket(case.ceilings), roof.threads if roof else None
    if cores is None or threads is None:
        return "the sheet's number is for a whole socket, and the file does not say whether all its cores ran"
    return "" if threads >= cores else f"the sheet's number is for a whole socket, and {threads} of its {cores} cores ran"


def _cores_per_socket(ceilings: Ceilings) -> int | None:
    """What the device says, else the product name ("EPYC 9654 96-Core Processor")."""
    said = ceilings.device.get("cores_per_socket")
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    named = re.search(r"\b(\d+)-Core\b", str(ceilings.device.get("name")))
    return int(named[1]) if named else None


def _share(number: SheetNumber, mig: Slice | None) -> float:
    """The part of the device's number that a MIG slice gets."""
    if mig is None:
        return 1.0
    return mig.memory if number.level in ("DRAM", "L2") else mig.compute


def _slice_note(number: SheetNumber, mig: Slice | None) -> str:
    return f"the sheet's {number.amount.printed} scaled by {_share(number, mig):.3g} for {mig.name}" if mig else ""


def _sparsity_note(number: SheetNumber, ratio: float) -> str:
    if not number.is_sparse:
        return ""
    return f"the sheet's {number.amount.printed} counts 2:4 sparsity, so the dense half is used ({ratio / 2:.1%} of the printed number)"


def _tolerance_name(roof: Ceiling) -> str:
    if isinstance(roof, ComputeCeiling):
        return roof.path if roof.path == "tensor" or roof.is_float else "integer"
    return "dram" if roof.level == "DRAM" else "cache"


def _unit(number: SheetNumber) -> Unit:
    if number.amount.quantity == "rate":
        return si_rate_unit(number.precision or "")
    return "byte/s" if number.amount.quantity == "bandwidth" else "byte"


def _megahertz(clock_hz: float) -> str:
    return f"{clock_hz / 1e6:.0f} MHz"


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
