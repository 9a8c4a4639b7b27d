"""What a run may be compared with: the same device, swept the same way, in the same surroundings.

Another device or another sweep cannot be compared at all. Other surroundings (driver, clocks, power limit, kernel sources)
can, but what changed together with them is theirs and no fault of the device.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ert.ceilings import Ceilings
from ert.jsontypes import Json
from ert.kernels import source_hashes

Section = Literal["device", "environment"]

# Where in the ceilings file each fact stands, and what people call it.
_DEVICE_FACTS: dict[str, tuple[Section, str]] = {
    "uuid": ("device", "uuid"),
    "name": ("device", "name"),
    "memory_bytes": ("device", "memory_bytes"),
    "threads": ("device", "threads"),
    "MIG": ("device", "is_mig"),
}
_ENVIRONMENT_FACTS: dict[str, tuple[Section, str]] = {
    "driver": ("environment", "driver"),
    "CUDA driver API": ("environment", "cuda_driver_api"),
    "compiler": ("environment", "compiler"),
    "operating system": ("environment", "os"),
    "governor": ("environment", "governor"),
    "huge pages": ("environment", "huge_pages"),
    "virtual machine": ("environment", "virtual_machine"),
    "kernel sources": ("environment", "kernel_sources"),
    "power limit (W)": ("device", "power_limit_w"),
    "ECC": ("device", "ecc"),
    "compute mode": ("device", "compute_mode"),
    "persistence mode": ("device", "persistence"),
    "highest clock (Hz)": ("device", "clock_max_hz"),
    "highest memory clock (Hz)": ("device", "memory_clock_max_hz"),
}
# What in a ceiling's flags excuses a low value: the device was slowed, by itself or by another program.
EXCUSES = ("throttled", "disturbed")
# One-way latencies of a cache line: about 20 ns inside a core complex, about 100 ns and more across two of them (see ert.placement).
_ACROSS_COMPLEXES_S = 5e-8


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Facts by name; one that the run does not have is None.

    device       and where on it the threads ran: shared levels of two placements are two things
    sweep        hash of the resolved configuration
    environment  everything else the numbers depend on
    """

    device: Mapping[str, Json]
    sweep: str | None
    environment: Mapping[str, Json]

    @property
    def series(self) -> str:
        """A short name that runs share if and only if they may stand in one history."""
        text = json.dumps([self.device, self.sweep], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that differs."""

    what: str
    before: Json
    after: Json

    def __str__(self) -> str:
        return f"{self.what}: {_shown(self.before)} -> {_shown(self.after)}"


def fingerprint(device: Mapping[str, Json], environment: Mapping[str, Json], config: Mapping[str, Json]) -> Fingerprint:
    """Of the three objects of a ceilings file. A repeat of some ceilings counts as the sweep it repeats."""
    sections = {"device": device, "environment": environment}
    facts = {name: sections[section].get(key) for name, (section, key) in _DEVICE_FACTS.items()}
    facts["placement"] = _placement(device)
    repeated = config.get("repeat_of")
    sweep = repeated.get("sha256") if isinstance(repeated, dict) else config.get("sha256")
    return Fingerprint(
        facts,
        sweep if isinstance(sweep, str) else None,
        {name: sections[section].get(key) for name, (section, key) in _ENVIRONMENT_FACTS.items()},
    )


def fingerprint_of(ceilings: Ceilings) -> Fingerprint:
    """Of a loaded ceilings file."""
    return fingerprint(ceilings.device, ceilings.environment, ceilings.config)


def changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[Change, ...]:
    """Facts that differ; one that either side does not know is no difference (an older ert did not write it)."""
    return tuple(
        Change(name, before[name], value)
        for name, value in after.items()
        if value is not None and before.get(name) is not None and before[name] != value
    )


def kernel_sources(kind: str) -> str:
    """Hash of all kernel files of a device kind: other kernels measure something else."""
    hashes = source_hashes("cuda" if kind == "cuda" else "cpu")
    text = "\n".join(f"{name} {digest}" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _placement(device: Mapping[str, Json]) -> str | None:
    rows = device.get("core_to_core_latency_s")
    latencies = [row.get("latency_s") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    known = [float(latency) for latency in latencies if isinstance(latency, int | float)]
    if not known:
        return None
    return "across core complexes" if max(known) > _ACROSS_COMPLEXES_S else "one core complex"


def _shown(value: Json) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
