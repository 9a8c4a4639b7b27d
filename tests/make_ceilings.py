"""Ceilings for tests: from two tables of numbers, or drawn by hypothesis."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, ComputeCeiling, Corner, Roof
from ert.ceilings.model import Tool
from ert.ceilings.point import Point
from ert.levels import FAST_TO_SLOW
from ert.precisions import PRECISIONS

DATA = Path(__file__).parent / "data" / "ceilings"

# Rates in Tflop/s and Top/s, bandwidths in TB/s: what public measurements of one H200 report, rounded.
H200_LEVELS = {"shared": 33.0, "L1": 31.0, "L2": 9.6, "DRAM": 4.38}
H200_PEAKS = {
    ("fp64", "vector"): 33.4,
    ("fp32", "vector"): 66.4,
    ("fp16", "vector"): 133.0,
    ("bf16", "vector"): 132.5,
    ("int32", "vector"): 33.3,
    ("fp64", "tensor"): 66.6,
    ("tf32", "tensor"): 410.0,
    ("fp16", "tensor"): 804.0,
    ("bf16", "tensor"): 812.0,
    ("fp8", "tensor"): 1540.0,
    ("int8", "tensor"): 1580.0,
}


def make_ceilings(
    levels: dict[str, float],
    peaks: dict[tuple[str, str], float],
    *,
    mixed: tuple[str, ...] = (),
    corner_exponent: float | None = None,
    name: str = "Example device",
) -> Ceilings:
    """Ceilings of these roofs (byte/s and flop/s); ``mixed`` precisions get measured points 3 % under the ideal roof."""
    return Ceilings(
        created="2026-12-01T02:00:00Z",
        tool=Tool("ert", "0.1.0"),
        argv=("ert", "sweep"),
        device={"id": "cuda:0", "kind": "cuda", "vendor": "Example", "name": name, "uuid": None, "clock_hz": 1.98e9},
        environment={},
        config={"sha256": None},
        bandwidth_ceilings=tuple(
            BandwidthCeiling(level=level, op="read", value=v, ci95=(v * 0.99, v * 1.01), roof=True, kernel="read")
            for level, v in levels.items()
        ),
        compute_ceilings=tuple(
            ComputeCeiling(
                precision=p, path=path, op="fma" if path == "vector" else "mma", value=v, ci95=(v * 0.99, v * 1.01), roof=True, kernel="fma"
            )
            for (p, path), v in peaks.items()
        ),
        roofs=tuple(
            Roof(level, p, path, v / b, Corner(corner_exponent) if corner_exponent else None)
            for level, b in levels.items()
            for (p, path), v in peaks.items()
        ),
        points=tuple(mixed_point(level, b, p, peaks[p, "vector"], 2**k) for level, b in levels.items() for p in mixed for k in range(11)),
    )


def mixed_point(level: str, bandwidth: float, precision: str, peak: float, flops_per_element: int) -> Point:
    """One element loaded and stored, ``flops_per_element`` FLOPs on it, a million times."""
    flops, amount = flops_per_element * 10**6, 2 * PRECISIONS[precision].bytes * 10**6
    time_s = max(flops / peak, amount / bandwidth) / 0.97
    return Point(
        id=f"mixed-{precision}-{level}-{flops_per_element}",
        kernel="mixed",
        measures="mixed",
        op="mixed",
        precision=precision,
        path="vector",
        level=level,
        working_set_bytes=amount,
        flops_per_element=flops_per_element,
        flops=flops,
        bytes=amount,
        repeats=1,
        samples_s=(time_s,),
    )


@st.composite
def any_ceilings(draw: st.DrawFn, *, min_compute: int = 1) -> Ceilings:
    """1 to 5 levels at least 8 % apart (closer ones are one level), up to 12 roofs of any size, points of up to two precisions."""
    names = FAST_TO_SLOW[-draw(st.integers(1, 5)) :]
    bandwidth = draw(st.floats(1e9, 5e12))
    levels = {}
    for name in reversed(names):
        levels[name] = bandwidth
        bandwidth *= draw(st.floats(1.08, 20))
    keys = draw(
        st.lists(
            st.tuples(st.sampled_from(list(PRECISIONS)), st.sampled_from(["vector", "tensor"])),
            min_size=min_compute,
            max_size=12,
            unique=True,
        )
    )
    smallest = draw(st.floats(0.5, 50)) * min(levels.values())
    peaks = {key: smallest * draw(st.floats(1, 300)) for key in keys}
    mixed = tuple(p for p, path in keys if path == "vector" and PRECISIONS[p].is_float)[:2]
    return make_ceilings(
        {name: levels[name] for name in names}, peaks, mixed=mixed, corner_exponent=draw(st.sampled_from([None, 1.5, 6.0]))
    )
