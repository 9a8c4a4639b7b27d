"""What the roofline says beforehand about the two classic experiments, held against what was measured.

AXPY is bound by bandwidth: a smaller stride wastes less of every line, so its point climbs along the slope. GEMM is
bound by compute once it is large: a larger N, and a lower precision, bring it towards the matching flat roof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ert.ceilings import Ceilings
from ert.workloads.cases import Case, Timed

Verdict = Literal["confirmed", "refuted"]

# A prediction is of which way and about how far, from a model that knows lines and roofs but neither prefetchers nor TLBs.
_FACTOR = 1.5
# What an unaligned start may cost where memory is the limit.
_ALIGNMENT_COST = 1.1
# From this share of a roof on, the roof is the limit.
_NEAR_ROOF = 0.6
# Rates this close are the same.
_SAME = 1.03


@dataclass(frozen=True, slots=True)
class Prediction:
    """statement   what was predicted, in words
    predicted    a ratio, or None where only a direction was predicted
    measured     the same ratio
    remark       what a measurement beyond the prediction hints at
    """

    series: str
    statement: str
    predicted: float | None
    measured: float
    verdict: Verdict
    remark: str | None = None


def predictions(results: Sequence[Timed], ceilings: Ceilings, line_bytes: int) -> list[Prediction]:
    """Every prediction that these results can confirm or refute."""
    series: dict[str, list[Timed]] = {}
    for result in results:
        series.setdefault(result.case.series, []).append(result)
    found: list[Prediction] = []
    for group in series.values():
        if group[0].case.workload == "axpy":
            found += _axpy(group, line_bytes)
        if group[0].case.workload == "gemm":
            found += _gemm(group, ceilings)
    return found + list(_precisions(series, ceilings))


def _judge(series: str, statement: str, predicted: float | None, measured: float, *, holds: bool, remark: str | None = None) -> Prediction:
    return Prediction(series, statement, predicted, measured, "confirmed" if holds else "refuted", remark)


def _axpy(group: Sequence[Timed], line_bytes: int) -> Iterator[Prediction]:
    aligned = {t.case.stride: t for t in group if not t.case.offset_bytes}
    if 1 not in aligned:
        return
    one = aligned[1]
    for stride, other in sorted(aligned.items()):
        if stride == 1:
            continue
        predicted = other.case.bytes_at(line_bytes) / one.case.bytes_at(line_bytes)
        measured = _per_element(other) / _per_element(one)
        statement = f"stride {stride} -> 1 lifts AXPY along its slope: at least as much faster as it moves fewer bytes"
        beyond = (
            "more than the bytes explain: lines beside the used ones are fetched, too, or latency shows"
            if measured > predicted * _FACTOR
            else None
        )
        yield _judge(one.case.series, statement, predicted, measured, holds=measured >= predicted / _FACTOR, remark=beyond)
    for shifted in (t for t in group if t.case.offset_bytes and t.case.stride == 1):
        measured = _per_element(shifted) / _per_element(one)
        statement = f"arrays {shifted.case.offset_bytes} bytes off a line cost nothing where memory is the limit"
        yield _judge(one.case.series, statement, 1.0, measured, holds=measured <= _ALIGNMENT_COST)


def _per_element(result: Timed) -> float:
    return result.time_s / result.case.touched


def _rate(result: Timed) -> float:
    return result.case.ideal.flops / result.case.reference_time_s(result.time_s)


def _roof(case: Case, ceilings: Ceilings) -> float | None:
    roof = ceilings.compute_roofs.get((case.precision, case.path))
    return roof.value if roof else None


def _gemm(group: Sequence[Timed], ceilings: Ceilings) -> Iterator[Prediction]:
    ordered = sorted(group, key=lambda t: t.case.size)
    small, large = ordered[0], ordered[-1]
    if small is large:
        return
    ratio = _rate(large) / _rate(small)
    statement = f"N = {small.case.size} -> {large.case.size} lifts GEMM towards the flat roof of {large.case.precision}"
    yield _judge(large.case.series, statement, None, ratio, holds=ratio > _SAME or _share(small, ceilings) >= _NEAR_ROOF)
    share = _share(large, ceilings)
    if share:
        statement = f"at N = {large.case.size} compute is the limit: the rate is near that roof"
        yield _judge(large.case.series, statement, 1.0, share, holds=share >= _NEAR_ROOF)


def _share(result: Timed, ceilings: Ceilings) -> float:
    roof = _roof(result.case, ceilings)
    return _rate(result) / roof if roof else 0.0


def _precisions(series: Mapping[str, Sequence[Timed]], ceilings: Ceilings) -> Iterator[Prediction]:
    """The largest GEMM of each implementation, from one precision to the next lower one: as much faster as its roof is higher."""
    largest = [max(group, key=lambda t: t.case.size) for group in series.values() if group[0].case.workload == "gemm"]
    for by in dict.fromkeys(t.case.by for t in largest):
        rated = [(roof, t) for t in largest if t.case.by == by and (roof := _roof(t.case, ceilings))]
        rated.sort(key=lambda pair: pair[0])
        for (low_roof, slow), (high_roof, fast) in pairwise(rated):
            predicted, measured = high_roof / low_roof, _rate(fast) / _rate(slow)
            statement = f"{slow.case.precision} -> {fast.case.precision} lifts GEMM as much as its roof is higher"
            yield _judge(f"gemm {by}", statement, predicted, measured, holds=predicted / _FACTOR <= measured <= predicted * _FACTOR)
