"""``carm``: the roofline csv of the CARM tool, two header lines and one row per precision and mix of loads and stores.

Source of the layout: ResultsGUI.py of champ-hub/carm-roofline, which reads it by position. GB/s and Gflop/s are
decimal; sizes are KiB, of L1 and L2 per core and of L3 in total.
"""

from __future__ import annotations

from collections.abc import Mapping

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, Ceiling
from ert.exporters.base import Export
from ert.levels import LEVELS
from ert.points import carm
from ert.units import GIGA

_PRECISIONS = {ours: theirs for theirs, ours in carm.PRECISIONS.items()}
# (loads, stores) of one iteration; the format cannot tell an update from a copy.
_MIXES = {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1)}
_SECOND_LINE = (
    "Date,ISA,Precision,Threads,Loads,Stores,Interleaved,DRAM Bytes,FP Inst.,"
    "GB/s,I/Cycle,GB/s,I/Cycle,GB/s,I/Cycle,GB/s,I/Cycle,Gflop/s,I/Cycle,Gflop/s,I/Cycle"
)


def write(ceilings: Ceilings) -> Export:
    """One row per precision with an FMA roof and operation that was measured at some level."""
    by_op = {op: {c.level: c for c in ceilings.bandwidth_ceilings if c.op == op and c.level in carm.LEVELS} for op in _MIXES}
    precisions = [p for p, path in ceilings.compute_roofs if path == "vector" and p in _PRECISIONS]
    rows = [_row(ceilings, p, op, levels) for p in precisions for op, levels in by_op.items() if levels]
    sizes = [f"{level} Size:,{_size(ceilings, level)}" for level in carm.LEVELS[:-1]]
    first = f"Name:,{_name(ceilings)},{','.join(sizes)},,L1,L1,L2,L2,L3,L3,DRAM,DRAM,FP,FP,FP FMA,FP_FMA"
    return Export("\n".join((first, _SECOND_LINE, *rows)) + "\n", tuple(_left_out(ceilings)))


def _row(ceilings: Ceilings, precision: str, op: str, levels: Mapping[str, BandwidthCeiling]) -> str:
    rates = {c.op: c for c in ceilings.compute_ceilings if (c.precision, c.path) == (precision, "vector")}
    plain = next((word for word in ("add", "mul") if word in rates), "fma")
    loads, stores = _MIXES[op]
    dram = levels.get("DRAM")
    cells = [
        ceilings.created[:19].replace("T", " "),
        _plain(str(ceilings.device.get("isa") or ceilings.device.get("kind", ""))),
        _PRECISIONS[precision],
        str(max((c.threads or 1 for c in levels.values()), default=1)),
        str(loads),
        str(stores),
        "No",
        str(dram.working_set_bytes[1] if dram and dram.working_set_bytes else 0),
        plain,
    ]
    for level in carm.LEVELS:
        cells += _rate(levels.get(level))
    return ",".join((*cells, *_rate(rates.get(plain)), *_rate(rates.get("fma"))))


def _rate(ceiling: Ceiling | None) -> list[str]:
    """A value, 0 for one that is not there, and instructions per cycle, which were not counted and nobody reads."""
    return [f"{ceiling.value / GIGA:.6f}" if ceiling else "0", ""]


def _size(ceilings: Ceilings, level: str) -> int:
    """KiB; 0 for a level that is not there or does not say."""
    roof = ceilings.bandwidth_roofs.get(level)
    if roof is None or roof.capacity_bytes is None:
        return 0
    cores = (roof.threads or 1) if LEVELS[level].sharing == "core" else 1
    return roof.capacity_bytes // cores // 1024


def _name(ceilings: Ceilings) -> str:
    return _plain(str(ceilings.device.get("name", ""))) or "unnamed"


def _plain(text: str) -> str:
    """The file is split at every comma."""
    return " ".join(text.replace(",", " ").split())


def _left_out(ceilings: Ceilings) -> list[str]:
    lines = []
    if "shared" in ceilings.bandwidth_roofs:
        lines.append("shared: no column")
    if any(c.op not in _MIXES for c in ceilings.bandwidth_ceilings):
        lines.append("update: looks like a copy, one load and one store")
    rates = [f"{p} {path}" for p, path in ceilings.compute_roofs if path != "vector" or p not in _PRECISIONS]
    if rates:
        lines.append(f"{', '.join(rates)}: dp, sp, hp and bf16 vectors only")
    return [*lines, "intervals and I/Cycle: the first have no column, the second was not counted"]
