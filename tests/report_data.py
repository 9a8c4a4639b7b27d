"""Ceilings and kernels for tests of the report: with working-set curves, several generations, and names that try to break out."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import replace

from make_ceilings import H200_LEVELS, H200_PEAKS, make_ceilings

from ert.ceilings import Ceilings
from ert.ceilings.kinds import Corner, Roof
from ert.ceilings.point import Point
from ert.compare import Comparison, compare
from ert.findings import Finding
from ert.points.document import Document
from ert.points.formats import parse_points

HOSTILE = "<script>window.broken=1</script><img src=x onerror=window.broken=2>&amp;\"'`%{x}"
CAPACITIES = {"shared": None, "L1": 33_554_432, "L2": 52_428_800, "DRAM": None}
RANGES = {"shared": (2**18, 2**24), "L1": (2**20, 2**24), "L2": (2**25, 2**25 + 2**24), "DRAM": (2**28, 2**32)}


def h200() -> Ceilings:
    """A GPU with curves of reads and copies, corners and a warning."""
    plain = make_ceilings(
        {k: v * 1e12 for k, v in H200_LEVELS.items()},
        {k: v * 1e12 for k, v in H200_PEAKS.items()},
        mixed=("fp64", "fp32"),
        corner_exponent=4.0,
        name="NVIDIA H200",
    )
    return replace(
        plain,
        bandwidth_ceilings=tuple(
            replace(
                c,
                capacity_bytes=CAPACITIES[c.level],
                working_set_bytes=RANGES[c.level],
                limit=c.value * 1.07,
                limit_source=f"limit of {c.level}",
                clock_hz=1.98e9,
            )
            for c in plain.bandwidth_ceilings
        ),
        roofs=tuple(replace(r, corner=corner_of(plain, r)) for r in plain.roofs),
        points=(*plain.points, *curve("read", 1.0), *curve("copy", 0.93)),
        launch_overhead_s=2.1e-6,
        warnings=(Finding("noisy", "DRAM copy: noise 1.6 % is above 1 %", 0.016, "try --min-time 0.02"),),
    )


def corner_of(ceilings: Ceilings, roof: Roof) -> Corner:
    """A fit that found 3 % less bandwidth than the direct measurement."""
    bandwidth, peak = ceilings.bandwidth(roof.level), ceilings.compute_peak(roof.precision, roof.path)
    return Corner(4.0, (3.7, 4.3), bandwidth * 0.97, peak)


def curve(op: str, factor: float) -> list[Point]:
    """Reads of a device with an L1 of 32 MiB in all and an L2 of 50 MiB, two sizes an octave, three samples each."""
    points = []
    for step in range(30):
        size = int(2 ** (19 + step / 2))
        rate = factor * (31e12 if size < 2.4e7 else 9.6e12 if size < 5.0e7 else 4.38e12)
        times = tuple(size / rate * (1 + wobble) for wobble in (0.0, 0.004, 0.009))
        points.append(
            Point(
                id=f"{op}/fp64/curve/{size}",
                kernel=op,
                measures="bandwidth",
                op=op,
                precision="fp64",
                path="vector",
                working_set_bytes=size,
                bytes=size,
                repeats=1,
                samples_s=times,
            )
        )
    return points


def older(name: str, share: float, created: str) -> Ceilings:
    """An earlier device with this share of the bandwidth and half of it in the rates."""
    return replace(
        make_ceilings(
            {k: v * 1e12 * share for k, v in H200_LEVELS.items()},
            {k: v * 1e12 * share / 2 for k, v in H200_PEAKS.items()},
            name=name,
        ),
        created=created,
    )


def points_csv(count: int, *, hostile: bool = False) -> str:
    """``count`` kernels of many intensities, the first with versions; every tenth without FLOPs."""
    generator = random.Random(7)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["name", "label", "time_s", "precision", "flops", "dram_bytes", "l2_bytes", "l1_bytes"])
    for index in range(count):
        dram = 10 ** generator.uniform(6, 10)
        ai = 10 ** generator.uniform(-1.3, 2.6)
        precision = generator.choice(["fp64", "fp32", "fp32"])
        peak, flops = {"fp64": 33.4e12, "fp32": 66.4e12}[precision], dram * ai
        time_s = max(dram / 4.38e12, flops / peak) / generator.uniform(0.2, 0.97)
        name, label = (HOSTILE, "") if hostile and index < 3 else (f"void kernel_{index}<float, {index}>(float const*, int)", "")
        if index in (3, 4):
            name, label = "stencil", f"v{index - 2}"
        is_copy = index % 10 == 9
        writer.writerow([name, label, time_s, "none" if is_copy else precision, 0 if is_copy else flops, dram, dram * 1.8, dram * 4])
    return buffer.getvalue()


def kernels(ceilings: Ceilings, count: int, *, hostile: bool = False) -> Comparison:
    """The kernels of ``points_csv``, judged."""
    return compare(ceilings, [parse_points(Document("app.csv", points_csv(count, hostile=hostile)))])
