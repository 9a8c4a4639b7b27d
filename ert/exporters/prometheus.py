"""``prometheus``: gauges in the text exposition format, for the textfile collector of node_exporter.

Source of the format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling, ComputeCeiling
from ert.exporters.base import Export


@dataclass(frozen=True, slots=True)
class _Sample:
    labels: Mapping[str, str]
    value: float


def write(ceilings: Ceilings) -> Export:
    """One metric per quantity, one sample per ceiling; what is not known has no sample."""
    device = {"device": str(ceilings.device.get("id", "")), "name": str(ceilings.device.get("name", ""))}
    uuid = ceilings.device.get("uuid")
    of_device = device | ({"uuid": uuid} if isinstance(uuid, str) else {})
    blocks = [
        _metric("ert_info", "Device and tool of these ceilings.", [_Sample(of_device | {"version": ceilings.tool.version}, 1)]),
        _metric("ert_measured_timestamp_seconds", "When the sweep began.", _created(ceilings, device)),
        *_family("ert_bandwidth_bytes_per_second", "Sustained bandwidth of a memory level", ceilings.bandwidth_ceilings, device),
        *_family("ert_compute_flop_per_second", "Sustained rate of a precision (integers: operations)", ceilings.compute_ceilings, device),
        _metric("ert_ridge_flop_per_byte", "Arithmetic intensity where a flat roof meets a slope.", list(_ridges(ceilings, device))),
        _metric("ert_launch_overhead_seconds", "What starting a kernel takes.", _launch(ceilings, device)),
        _metric("ert_warnings", "Number of warnings in the ceilings file.", [_Sample(device, len(ceilings.warnings))]),
    ]
    return Export("".join(blocks))


def _family(
    name: str, what: str, rows: tuple[BandwidthCeiling, ...] | tuple[ComputeCeiling, ...], device: Mapping[str, str]
) -> Iterator[str]:
    """The values, both ends of their intervals, and the limits."""
    labelled = [({**device, **_labels(c)}, c) for c in rows]
    yield _metric(name, f"{what}.", [_Sample(labels, c.value) for labels, c in labelled])
    for end, suffix, words in ((0, "ci95_low", "lower"), (1, "ci95_high", "upper")):
        samples = [_Sample(labels, c.ci95[end]) for labels, c in labelled if c.ci95]
        yield _metric(f"{name}_{suffix}", f"{what}: {words} end of the 95 % interval.", samples)
    limits = [_Sample(labels, c.limit) for labels, c in labelled if c.limit is not None]
    yield _metric(f"{name}_limit", f"{what}: physical limit at the measured clock.", limits)


def _labels(c: Ceiling) -> dict[str, str]:
    what = {"level": c.level} if isinstance(c, BandwidthCeiling) else {"precision": c.precision, "path": c.path}
    return {**what, "op": c.op, "roof": str(c.roof).lower()}


def _created(ceilings: Ceilings, device: Mapping[str, str]) -> list[_Sample]:
    try:
        return [_Sample(device, datetime.fromisoformat(ceilings.created).timestamp())]
    except ValueError:  # ceilings read from another tool's file have no date
        return []


def _ridges(ceilings: Ceilings, device: Mapping[str, str]) -> Iterator[_Sample]:
    for level in ceilings.bandwidth_roofs:
        for precision, path in ceilings.compute_roofs:
            labels = {**device, "level": level, "precision": precision, "path": path}
            yield _Sample(labels, ceilings.ridge(level, precision, path))


def _launch(ceilings: Ceilings, device: Mapping[str, str]) -> list[_Sample]:
    return [] if ceilings.launch_overhead_s is None else [_Sample(device, ceilings.launch_overhead_s)]


def _metric(name: str, text: str, samples: list[_Sample]) -> str:
    """A block of the exposition; empty without samples."""
    if not samples:
        return ""
    lines = [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
    lines += [f"{name}{{{','.join(f'{k}={_quoted(v)}' for k, v in s.labels.items())}}} {float(s.value)!r}" for s in samples]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'
