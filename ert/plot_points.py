"""Judged kernels as places on a roofline picture. Nothing here draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ert.chart import Series, level_rank
from ert.compare import Comparison
from ert.judge import Judgement
from ert.points.model import UNKNOWN, split_work
from ert.short_names import short_name

# More names than this nobody can find their way through; the table lists the others.
MOST_LABELS = 12
_LONGEST_LABEL = 32


@dataclass(frozen=True, slots=True)
class Place:
    """One kernel on one memory level."""

    level: str
    ai_flop_per_byte: float
    rate_flop_per_s: float


@dataclass(frozen=True, slots=True)
class PlotKernel:
    """A kernel with at least one place.

    label       None for those that are not named on the picture
    time_share  of all kernels that have a place
    places      fast level to slow: what it moved on each
    """

    label: str | None
    precision: str
    time_share: float
    places: tuple[Place, ...]

    @property
    def anchor(self) -> Place:
        """Where its label and arrows belong: the slowest level."""
        return self.places[-1]


@dataclass(frozen=True, slots=True)
class PlotKernels:
    """All kernels of a comparison that have a place, and what the picture says about the others.

    arrows    indices of two kernels, from one version to the next
    captions  lines below the picture
    """

    kernels: tuple[PlotKernel, ...]
    arrows: tuple[tuple[int, int], ...] = ()
    captions: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[Series, ...]:
        """The same places by level and precision, fast to slow."""
        found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for kernel in self.kernels:
            for place in kernel.places:
                found[place.level, kernel.precision].append((place.ai_flop_per_byte, place.rate_flop_per_s))
        ordered = sorted(found.items(), key=lambda item: (level_rank(item[0][0]), item[0][1]))
        return tuple(Series(*key, *map(tuple, zip(*sorted(pairs), strict=True))) for key, pairs in ordered)


def plot_kernels(comparison: Comparison, *, join_names: bool = False) -> PlotKernels:
    """Kernels with FLOPs at a level that has a roof; the longest are named, the rest are counted.

    Arrows follow the trajectories, or with ``join_names`` all kernels of one name in order.
    """
    judged = [(index, k, places) for index, k in enumerate(comparison.kernels) if (places := _places(k))]
    whole = sum(k.point.time_s for _, k, _ in judged)
    longest = sorted(range(len(judged)), key=lambda i: -judged[i][1].point.time_s)[:MOST_LABELS]
    named = set(longest)
    kernels = tuple(
        PlotKernel(_label(k) if i in named else None, _precision(k), k.point.time_s / whole, places)
        for i, (_, k, places) in enumerate(judged)
    )
    at = {index: i for i, (index, _, _) in enumerate(judged)}
    chains = _names(comparison) if join_names else [t.kernels for t in comparison.trajectories]
    arrows = tuple((at[a], at[b]) for chain in chains for a, b in pairwise(chain) if a in at and b in at)
    return PlotKernels(kernels, arrows, tuple(_captions(comparison, kernels)))


def _names(comparison: Comparison) -> list[list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for index, k in enumerate(comparison.kernels):
        groups[k.point.name].append(index)
    return list(groups.values())


def _places(k: Judgement) -> tuple[Place, ...]:
    if not k.rate_flop_per_s:
        return ()
    known = [(level, ai) for level, ai in k.ai.items() if ai]
    return tuple(Place(level, ai, k.rate_flop_per_s) for level, ai in sorted(known, key=lambda item: level_rank(item[0])))


def _label(k: Judgement) -> str:
    version = f" [{short_name(k.point.label, _LONGEST_LABEL // 2)}]" if k.point.label else ""
    return short_name(k.point.name, _LONGEST_LABEL - len(version)) + version


def _precision(k: Judgement) -> str:
    """That of the work that binds, else of the largest part."""
    work = {key: amount for key, amount in (k.point.flops or {}).items() if amount}
    key = k.bound.precision if k.bound and k.bound.precision else max(work, key=lambda name: work[name], default=UNKNOWN)
    return split_work(key)[0]


def _captions(comparison: Comparison, kernels: Sequence[PlotKernel]) -> list[str]:
    lines = []
    unnamed = [k for k in kernels if k.label is None]
    if unnamed:
        share = 100 * sum(k.time_share for k in unnamed)
        lines.append(f"{len(unnamed)} of {len(kernels)} kernels have no label ({share:.1f} % of the time); ert compare lists them all.")
    absent = len(comparison.kernels) - len(kernels)
    if absent:
        lines.append(f"{absent} without known FLOPs or traffic at a level with a roof: not on this chart.")
    if comparison.skipped:
        lines.append(f"{len(comparison.skipped)} skipped: ert compare says why.")
    return lines
