"""Single points of a sweep: the best of each tensor kernel for the table, and a line on every one for the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ert.ceilings import Ceilings
from ert.ceilings.point import Point
from ert.precisions import rate_unit
from ert.units import MEGA, with_prefix
from gpucheck.table import Row, Rows


def tensor_rows(ceilings: Ceilings) -> Rows:
    """What each tensor kernel reached at most, and with which parameters: the ceiling shows only the best of all."""
    best: dict[tuple[str, str], Point] = {}
    for point in ceilings.points:
        if point.path == "tensor" and point.rate_flop_per_s and not point.is_follow_up:
            key = (point.precision, point.kernel)
            best[key] = max(best.get(key, point), point, key=lambda p: p.rate_flop_per_s or 0.0)
    for (precision, kernel), point in sorted(best.items()):
        yield Row(f"{precision} tensor, {kernel}", f"{rate_of(point)}{parameters_of(point)}{state_of(point)}")


def point_lines(ceilings: Ceilings) -> Iterator[str]:
    """Every point: id, rate, samples, clock, power, temperature, throttling; or why there is none."""
    for p in ceilings.points:
        told = f"{rate_of(p)}, {len(p.samples_s)} samples{state_of(p)}" if p.status == "ok" else f"{p.status}: {p.reason}"
        yield f"{p.id}: {told}"


def rate_of(point: Point) -> str:
    """byte/s of a point of a memory level, else op/s."""
    if point.measures == "bandwidth" and point.bandwidth_bytes_per_s:
        return with_prefix(point.bandwidth_bytes_per_s, "B/s")
    if point.rate_flop_per_s:
        return with_prefix(point.rate_flop_per_s, rate_unit(point.precision))
    return with_prefix(point.median_time_s, "s") if point.median_time_s else "no time"


def parameters_of(point: Point) -> str:
    """With a blank before each."""
    return "".join(f" {name.removeprefix('ERT_').lower()}={value}" for name, value in point.parameters.items())


def state_of(point: Point) -> str:
    """Median clock and power, highest temperature, reasons of throttling and how many samples had one; what is unknown is left out."""
    throttled = [reasons for reasons in point.throttled if reasons]
    words = [
        _median_of(point.clock_hz, MEGA, "MHz"),
        _median_of(point.memory_clock_hz, MEGA, "MHz memory"),
        _median_of(point.power_w, 1.0, "W"),
        f"{max(known):.0f} C" if (known := [t for t in point.temperature_c if t is not None]) else "",
        f"{len(throttled)} throttled ({', '.join(sorted({reason for reasons in throttled for reason in reasons}))})" if throttled else "",
    ]
    return "".join(f" {word}" for word in words if word)


def _median_of(values: Sequence[float | None], scale: float, unit: str) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known) / scale:.0f} {unit}" if known else ""
