"""What is expected of a device: least values where others have measured it, else shares of its physical limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ert.ceilings.kinds import Ceiling
from ert.jsontypes import Json
from ert.units import with_prefix

# Least values (byte/s, op/s) by words in the device's name. H200: device copy 4.3 TB/s, L2 10.2 falling to 9.7 TB/s (gpu-benches,
# gpu-roofline); cuBLAS in bf16 770 to 800 TFLOP/s on random data; fp8 at about twice that, as its unit is.
_KNOWN = {"H200": {"DRAM read": 4.35e12, "DRAM copy": 4.3e12, "L2 read": 9.5e12, "bf16 tensor": 800e12, "fp8 tensor": 1500e12}}
# Where nobody has measured: shares that a device must reach before its limit is believed.
_SHARES = {"L1 read": 0.95, "shared read": 0.95, "fp32 vector": 0.97, "fp64 vector": 0.97, "DRAM read": 0.85}
REPEAT_TARGET = 0.01
SWEEP_TARGET_S = 90.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a ceiling should reach, in words, and whether it does; None where nothing is expected."""

    expected: str = ""
    good: bool | None = None


def judge(name: str, ceiling: Ceiling, unit: str, device: Mapping[str, Json]) -> Verdict:
    """A ceiling beside what this device, or any device, should reach."""
    known = _known_of(device)
    if name in known:
        return Verdict(f">= {with_prefix(known[name], unit)}", at_first(ceiling) >= known[name])
    if ceiling.share_of_limit and name in _SHARES:
        return Verdict(f">= {_SHARES[name]:.0%} of the limit", ceiling.share_of_limit >= _SHARES[name])
    return Verdict()


def _known_of(device: Mapping[str, Json]) -> Mapping[str, float]:
    """Those of the whole device; a slice of it has the name but not the speed."""
    if device.get("is_mig"):
        return {}
    return next((least for word, least in _KNOWN.items() if word in str(device["name"])), {})


def at_first(ceiling: Ceiling) -> float:
    """The value of the first seconds, which is what others measure."""
    return ceiling.burst.value if ceiling.burst else ceiling.value
