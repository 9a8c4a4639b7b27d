"""What a file says beside its ceilings, a line each: bursts, shares of one SM, latencies, figures on zeros, single kernels."""

from __future__ import annotations

from collections.abc import Iterator

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling
from ert.checks import name_of
from ert.levels import LEVELS
from ert.precisions import rate_unit
from ert.units import with_prefix

# Of a GPU, every SM has its own.
_PER_SM = ("shared", "L1")


def diagnostic_notes(ceilings: Ceilings) -> list[str]:
    """The lines; none for a file that has nothing of the kind."""
    return [*_bursts(ceilings), *_per_sm(ceilings), *_latencies(ceilings), *_on_zeros(ceilings), *_by_kernel(ceilings)]


def _bursts(ceilings: Ceilings) -> Iterator[str]:
    for c in ceilings.all_ceilings:
        if c.burst:
            unit = "B/s" if isinstance(c, BandwidthCeiling) else rate_unit(c.precision)
            clocks = f" ({_clock(c.clock_hz)} instead of {_clock(c.burst.clock_hz)})" if c.clock_hz and c.burst.clock_hz else ""
            now, then = with_prefix(c.value, unit), with_prefix(c.burst.value, unit)
            yield f"{name_of(c)}: {now} are sustained, {then} were there in the first seconds{clocks}"


def _clock(clock_hz: float | None) -> str:
    return with_prefix(clock_hz or 0.0, "Hz", 3)


def _per_sm(ceilings: Ceilings) -> Iterator[str]:
    sms = ceilings.device.get("sms")
    roofs = [c for c in ceilings.bandwidth_roofs.values() if c.level in _PER_SM]
    if isinstance(sms, int) and sms and roofs:
        yield "one SM: " + ", ".join(f"{c.level} {with_prefix(c.value / sms, 'B/s')}" for c in roofs)


def _latencies(ceilings: Ceilings) -> Iterator[str]:
    found = {d.level or "": with_prefix(d.value, "s", 3) for d in ceilings.diagnostics if d.what == "latency"}
    if found:
        yield "latency of one load: " + ", ".join(f"{level} {found[level]}" for level in LEVELS if level in found)


def _on_zeros(ceilings: Ceilings) -> Iterator[str]:
    roofs = ceilings.compute_roofs
    shares = [
        f"{d.precision} {d.value / roofs[d.precision, d.path].value:.2f}"
        for d in ceilings.diagnostics
        if d.what == "zero_operands" and d.precision and d.path and (d.precision, d.path) in roofs
    ]
    if shares:
        yield f"tensor rates on zeros, which draw less power, over those on random numbers: {', '.join(shares)}"


def _by_kernel(ceilings: Ceilings) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for d in ceilings.diagnostics:
        if d.what == "by_kernel":
            groups.setdefault(f"{d.level} {d.op}", []).append(f"{d.kernel} {with_prefix(d.value, 'B/s')}")
    for name, kernels in groups.items():
        yield f"{name} by kernel: {', '.join(kernels)}"
