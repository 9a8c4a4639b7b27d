"""``prometheus``: gauges for the textfile collector of node_exporter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling
from ert.columns import unit_of
from ert.exporters.base import Export
from ert.exposition import CEILING_METRICS, Labels, Metric, Sample, family

_INFO = Metric("ert_info", "Device and tool of these ceilings")
_MEASURED = Metric("ert_measured_timestamp_seconds", "When the sweep began")
_RIDGE = Metric("ert_ridge_flop_per_byte", "Arithmetic intensity where a flat roof meets a slope")
_LAUNCH = Metric("ert_launch_overhead_seconds", "What starting a kernel takes")
_WARNINGS = Metric("ert_warnings", "Number of warnings in the ceilings file")


def write(ceilings: Ceilings) -> Export:
    """One metric per quantity, one sample per ceiling; what is not known has no sample."""
    device = {"device": str(ceilings.device.get("id", "")), "name": str(ceilings.device.get("name", ""))}
    uuid = ceilings.device.get("uuid")
    of_device = device | ({"uuid": uuid} if isinstance(uuid, str) else {})
    by_unit = {unit: [c for c in ceilings.all_ceilings if unit_of(c) == unit] for unit in CEILING_METRICS}
    blocks = [
        family(_INFO, [(of_device | {"version": ceilings.tool.version}, 1)]),
        family(_MEASURED, _created(ceilings, device)),
        *(block for unit, rows in by_unit.items() for block in _ceiling_families(CEILING_METRICS[unit], rows, device)),
        family(_RIDGE, _ridges(ceilings, device)),
        family(_LAUNCH, [] if ceilings.launch_overhead_s is None else [(device, ceilings.launch_overhead_s)]),
        family(_WARNINGS, [(device, len(ceilings.warnings))]),
    ]
    return Export("".join(blocks))


def _ceiling_families(metric: Metric, rows: Sequence[Ceiling], device: Labels) -> Iterator[str]:
    """The values, both ends of their intervals, and the limits."""
    labelled = [({**device, **_labels(c)}, c) for c in rows]
    yield family(metric, [(labels, c.value) for labels, c in labelled])
    for end, suffix, words in ((0, "ci95_low", "lower"), (1, "ci95_high", "upper")):
        beside = Metric(f"{metric.name}_{suffix}", f"{metric.help}: {words} end of the 95 % interval")
        yield family(beside, [(labels, c.ci95[end]) for labels, c in labelled if c.ci95])
    limit = Metric(f"{metric.name}_limit", f"{metric.help}: physical limit at the measured clock")
    yield family(limit, [(labels, c.limit) for labels, c in labelled if c.limit is not None])


def _labels(c: Ceiling) -> Labels:
    what = {"level": c.level} if isinstance(c, BandwidthCeiling) else {"precision": c.precision, "path": c.path}
    return {**what, "op": c.op, "roof": str(c.roof).lower()}


def _created(ceilings: Ceilings, device: Labels) -> list[Sample]:
    try:
        return [(device, datetime.fromisoformat(ceilings.created).timestamp())]
    except ValueError:  # ceilings read from another tool's file have no date
        return []


def _ridges(ceilings: Ceilings, device: Labels) -> Iterator[Sample]:
    for level in ceilings.bandwidth_roofs:
        for precision, path in ceilings.compute_roofs:
            labels = {**device, "level": level, "precision": precision, "path": path}
            yield labels, ceilings.ridge(level, precision, path)
