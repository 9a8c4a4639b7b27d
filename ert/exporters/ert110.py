"""``ert-json``: roofline.json as ERT 1.1.0 writes it, which its visualizer and scripts around it read.

Source: ``build_database`` in Python/ert_core.py, and Roofline.java of the visualizer, which takes any number of
[name, value] pairs. GB/s and GFLOP/s are decimal. ERT's host name is left out: nobody needs it to draw a roof.
"""

from __future__ import annotations

from collections.abc import Sequence

from ert.ceilings import Ceilings
from ert.ceilings.kinds import Ceiling, ComputeCeiling
from ert.columns import roof_keys, roof_levels
from ert.exporters.base import Export, other_than_roofs
from ert.files import dump_json
from ert.jsontypes import Json
from ert.units import GIGA


def write(ceilings: Ceilings) -> Export:
    """The roofs, fast to slow; ``spec`` holds the physical limit at the measured clock, where one is known."""
    levels = [ceilings.bandwidth_roofs[level] for level in roof_levels(ceilings)]
    rates = [ceilings.compute_roofs[key] for key in roof_keys(ceilings)]
    floats = [c for c in rates if c.is_float]
    document: dict[str, Json] = {
        # Read by the visualizer, and shown as the name of the roofline.
        "system": str(ceilings.device.get("name", "")),
        "empirical": {
            "metadata": _metadata(ceilings),
            "gflops": {"data": [[_rate_name(c), c.value / GIGA] for c in floats], "metadata": {}},
            "gbytes": {"data": [[c.level, c.value / GIGA] for c in levels], "metadata": {}},
        },
        "spec": {
            "gflops": {"data": _limits([(_rate_name(c), c) for c in floats])},
            "gbytes": {"data": _limits([(c.level, c) for c in levels])},
        },
    }
    return Export(dump_json(document), tuple(_left_out(ceilings, [c for c in rates if not c.is_float])))


def _rate_name(c: ComputeCeiling) -> str:
    """``FP64 GFLOPs``, as later revisions of ERT 1.1.0 write it; the precision stays one word, which scripts split off."""
    suffix = "" if c.path == "vector" else f"_{c.path.upper()}"
    return f"{c.precision.upper()}{suffix} GFLOPs"


def _limits(named: Sequence[tuple[str, Ceiling]]) -> list[Json]:
    return [[name, c.limit / GIGA] for name, c in named if c.limit is not None]


def _metadata(ceilings: Ceilings) -> dict[str, Json]:
    return {
        "ERT_VERSION": "1.1.0",
        "WRITTEN_BY": f"{ceilings.tool.name} {ceilings.tool.version}",
        "MEASURED": ceilings.created,
        "CONFIG": {"ERT_RESULTS": [str(ceilings.device.get("id", ""))]},
    }


def _left_out(ceilings: Ceilings, integers: Sequence[ComputeCeiling]) -> list[str]:
    lines = [f"{', '.join(c.precision for c in integers)}: GFLOP/s are floating point"] if integers else []
    return [*lines, *other_than_roofs(ceilings), "intervals: the format has none"]
