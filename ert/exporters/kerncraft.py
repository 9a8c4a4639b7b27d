"""``kerncraft``: the part of a Kerncraft machine file that can be measured, its benchmarks block above all.

Quantities are texts with a unit, always with the prefix G: Kerncraft takes T for 1e13. Bytes are those of the streams,
without write-allocate traffic. Source of the layout: examples/machine-files of RRZE-HPC/kerncraft, machinemodel.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling
from ert.columns import bandwidth_rows, roof_levels
from ert.errors import AnalysisError
from ert.exporters.base import Export
from ert.levels import LEVELS
from ert.units import GIGA

# The version whose machine files look like this; Kerncraft refuses files of a newer one than itself.
_LAYOUT = "0.8.11"
_LEVELS = {"L1": "L1", "L2": "L2", "L3": "L3", "DRAM": "MEM"}
# Kerncraft chooses a kernel by its ratio of reads to writes, where a store would be taken for an update.
_KERNELS = {"read": "load", "copy": "copy", "update": "update", "triad": "triad"}
# Kernel -> streams that are read, read and written in place, written; FLOPs of one iteration.
_STREAMS = {"load": (1, 0, 0, 0), "copy": (1, 0, 1, 0), "update": (1, 1, 1, 0), "triad": (2, 0, 1, 2)}
_ELEMENT_BYTES = 8
_PRECISIONS = {"fp64": "DP", "fp32": "SP"}
_HEADER = """\
# Measured part of a Kerncraft machine file. Ports, compiler, cache parameters and the in-core model
# are not measured here: merge this into a file that has them.
"""


def write(ceilings: Ceilings) -> Export:
    """Raises AnalysisError for a device that is not a CPU: Kerncraft models CPU cores."""
    if ceilings.device.get("kind") == "cuda":
        raise AnalysisError(f"{ceilings.device.get('name')}: a Kerncraft machine file describes CPU cores, and this is a GPU.")
    import yaml  # noqa: PLC0415  (only this exporter needs it)

    threads = max((c.threads or 1 for c in ceilings.all_ceilings), default=1)
    clock_hz = max((c.clock_hz or 0.0 for c in ceilings.all_ceilings), default=0.0)
    document: dict[str, object] = {
        "kerncraft version": _LAYOUT,
        "model name": str(ceilings.device.get("name", "")),
        "model type": f"measured by {ceilings.tool.name} {ceilings.tool.version}, {ceilings.created}",
        **({"clock": _quantity(clock_hz, "Hz"), "FLOPs per cycle": _flops_per_cycle(ceilings)} if clock_hz else {"FLOPs per cycle": {}}),
        "sockets": 1,
        "cores per socket": threads,
        "threads per core": 1,
        "NUMA domains per socket": 1,
        "cores per NUMA domain": threads,
        "memory hierarchy": [_hierarchy(ceilings, level, threads) for level in roof_levels(ceilings) if level in _LEVELS],
        "benchmarks": {"kernels": _kernels(ceilings), "measurements": _measurements(ceilings)},
    }
    return Export(_HEADER + str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True)), tuple(_left_out(ceilings)))


def _flops_per_cycle(ceilings: Ceilings) -> dict[str, object]:
    """Measured FLOPs per cycle and core, by the kind of instruction; ``total`` is the best of them."""
    found: dict[str, object] = {}
    for precision, name in _PRECISIONS.items():
        of_one = [c for c in ceilings.compute_ceilings if (c.precision, c.path) == (precision, "vector") and c.clock_hz]
        rates = {c.op: round(c.value / (c.clock_hz or 1) / (c.threads or 1), 2) for c in of_one}
        if rates:
            kinds: dict[str, object] = {op.upper(): rates[op] for op in ("add", "mul", "fma") if op in rates}
            found[name] = {"total": max(rates.values()), **kinds}
    return found


def _hierarchy(ceilings: Ceilings, level: str, threads: int) -> dict[str, object]:
    capacity = ceilings.bandwidth_roofs[level].capacity_bytes
    cores = 1 if LEVELS[level].sharing == "core" else threads
    size = _size(capacity * cores // threads) if capacity else None
    groups: dict[str, object] = {"cores per group": cores, "threads per group": cores, "groups": threads // cores}
    return {"level": _LEVELS[level], "size per group": size, **groups}


def _kernels(ceilings: Ceilings) -> dict[str, object]:
    measured = {_KERNELS[c.op] for c in ceilings.bandwidth_ceilings if c.op in _KERNELS}
    return {
        name: {
            "FLOPs per iteration": flops,
            **{f"{kind} streams": _stream(count) for kind, count in zip(("read", "read+write", "write"), counts, strict=True)},
        }
        for name, (*counts, flops) in _STREAMS.items()
        if name in measured
    }


def _stream(count: int) -> dict[str, object]:
    return {"bytes": f"{count * _ELEMENT_BYTES:.2f} B", "streams": count}


def _measurements(ceilings: Ceilings) -> dict[str, object]:
    rows = [c for c in bandwidth_rows(ceilings) if c.level in _LEVELS and c.op in _KERNELS]
    by_level = {level: [c for c in rows if c.level == level] for level in dict.fromkeys(c.level for c in rows)}
    return {_LEVELS[level]: {1: _measurement(of_level)} for level, of_level in by_level.items()}


def _measurement(rows: list[BandwidthCeiling]) -> dict[str, object]:
    """One level with one thread per core, on all cores at once."""
    threads = max(c.threads or 1 for c in rows)
    total = max((c.working_set_bytes[1] for c in rows if c.working_set_bytes), default=0)
    return {
        "threads per core": 1,
        "cores": [threads],
        "threads": [threads],
        "total size": [_size(total)],
        "size per core": [_size(total / threads)],
        "size per thread": [_size(total / threads)],
        "results": {_KERNELS[c.op]: [_quantity(c.value, "B/s")] for c in rows},
    }


def _quantity(value: float, unit: str) -> str:
    return f"{value / GIGA:.4f} G{unit}"


def _size(value_bytes: float) -> str:
    return f"{value_bytes / 1e3:.3f} kB"


def _left_out(ceilings: Ceilings) -> Iterable[str]:
    rates = [f"{p} {path}" for p, path in ceilings.compute_roofs if path != "vector" or p not in _PRECISIONS]
    if rates:
        yield f"{', '.join(rates)}: double and single precision only"
    if any(c.op not in _KERNELS for c in ceilings.bandwidth_ceilings):
        yield "write: by its ratio of reads to writes Kerncraft would take it for an update"
    yield "intervals: the format has none"
