"""Synthetic working-set curves with known levels: what real curves carry, planted and seeded.

One curve is drawn as follows. Levels are plateaus in log2(size) whose log bandwidth may fall slowly; between
two of them lies a ramp of one of three shapes; the small end may be launch-limited. Noise multiplies every row,
gross outliers are 1.5 to 4 times slower, a dip slows a few neighbouring sizes. Nothing is shared with the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Design:
    """Ranges a curve is drawn from; the defaults are those of the project's acceptance test.

    widths, ramps in octaves; noise, outlier_share, decline (per octave), dip_depth as shares; repeats rows a size
    """

    level_counts: tuple[int, ...] = (2, 3, 4, 5)
    plateau_octaves: tuple[float, float] = (0.5, 6.0)
    ramp_octaves: tuple[float, float] = (0.1, 2.0)
    ratio: tuple[float, float] = (1.15, 6.0)
    noise: tuple[float, float] = (0.003, 0.05)
    outlier_share: tuple[float, float] = (0.0, 0.10)
    decline_per_octave: tuple[float, float] = (0.0, 0.05)
    points_per_octave: tuple[float, float] = (8.0, 16.0)
    repeats: tuple[int, ...] = (1, 3, 5)
    ramp_up_chance: float = 0.3
    dip_chance: float = 0.3


@dataclass(frozen=True, slots=True)
class Truth:
    """One planted level: the median of its noise-free bandwidth, and where it starts and ends, in bytes."""

    value_bytes_per_s: float
    working_set_bytes: tuple[float, float]


@dataclass(frozen=True, slots=True)
class SyntheticCurve:
    """Rows in random order, and what was planted in them."""

    seed: int
    working_set_bytes: Floats
    bandwidth_bytes_per_s: Floats
    levels: tuple[Truth, ...]
    noise: float
    traits: tuple[str, ...]

    @property
    def narrowest_octaves(self) -> float:
        return min(float(np.log2(t.working_set_bytes[1] / t.working_set_bytes[0])) for t in self.levels)


def draw_curve(seed: int, design: Design = Design()) -> SyntheticCurve:
    """The curve of this seed. Levels, shapes and noise depend on nothing else."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice(design.level_counts))
    widths = _log_uniform(rng, design.plateau_octaves, count)
    ramps = _log_uniform(rng, design.ramp_octaves, count - 1)
    declines = rng.uniform(*design.decline_per_octave, count) * rng.integers(0, 2, count)
    tops = np.log(_log_uniform(rng, (1e10, 2e13), 1)) - np.concatenate(
        [[0.0], np.cumsum(np.log(_log_uniform(rng, design.ratio, count - 1)))]
    )
    # The ratio of two neighbours is counted from the end of one to the start of the next, so that decline never eats a step.
    tops = tops - np.concatenate([[0.0], np.cumsum(-np.log1p(-declines[:-1]) * widths[:-1])])

    starts = 14.0 + np.concatenate([[0.0], np.cumsum(widths[:-1] + ramps)])
    shapes = [str(s) for s in rng.choice(("linear", "smooth", "convex"), count - 1)]
    step = 1.0 / rng.uniform(*design.points_per_octave)
    x = np.arange(starts[0], starts[-1] + widths[-1], step)
    clean = _clean_curve(x, starts, widths, tops, declines, shapes)
    traits = [f"{count} levels", *sorted(set(shapes))]
    if rng.random() < design.ramp_up_chance:
        traits.append("ramp-up")
        # T = V/b + a: 3 % are still missing where the level starts, 30 to 80 % at the smallest size.
        lost = rng.uniform(0.3, 0.8)
        lead = starts[0] - np.arange(step, np.log2(lost / (1 - lost) / 0.03), step)[::-1]
        x, clean = np.concatenate([lead, x]), np.concatenate([np.full(lead.size, tops[0]), clean])
        clean = clean - np.log1p(0.03 * 2.0 ** (starts[0] - x))
    ends = starts + widths
    levels = tuple(
        Truth(float(np.exp(np.median(clean[(x >= s) & (x <= e)]))), (float(2**s), float(2**e))) for s, e in zip(starts, ends, strict=True)
    )
    if rng.random() < design.dip_chance:
        traits.append("dip")
        clean = clean - _dip(rng, x, starts, widths)
    noise = float(_log_uniform(rng, design.noise, 1)[0])
    repeats = int(rng.choice(design.repeats))
    rows_x, rows_y = np.repeat(x, repeats), np.repeat(clean, repeats)
    rows_y = rows_y + noise * rng.standard_normal(rows_y.size)
    share = rng.uniform(*design.outlier_share)
    slow = rng.random(rows_y.size) < share
    rows_y[slow] -= np.log(rng.uniform(1.5, 4.0, int(slow.sum())))
    order = rng.permutation(rows_x.size)
    return SyntheticCurve(seed, np.round(2.0 ** rows_x[order]), np.exp(rows_y[order]), levels, noise, tuple(traits))


def _log_uniform(rng: np.random.Generator, bounds: tuple[float, float], size: int) -> Floats:
    return np.exp(rng.uniform(np.log(bounds[0]), np.log(bounds[1]), size))


def _clean_curve(x: Floats, starts: Floats, widths: Floats, tops: Floats, declines: Floats, shapes: list[str]) -> Floats:
    """Log bandwidth without noise: every plateau's line, and the ramp that joins its end to the next start."""
    lines = [t + np.log1p(-d) * (x - s) for t, d, s in zip(tops, declines, starts, strict=True)]
    y = lines[0].copy()
    for k, shape in enumerate(shapes):
        begin, end = starts[k] + widths[k], starts[k + 1]
        share = np.clip((x - begin) / (end - begin), 0.0, 1.0)
        if shape == "smooth":
            share = share * share * (3.0 - 2.0 * share)
        elif shape == "convex":
            share = 1.0 - (1.0 - share) ** 2
        top, bottom = tops[k] + np.log1p(-declines[k]) * widths[k], tops[k + 1]
        y = np.where(x <= begin, y, np.where(x >= end, lines[k + 1], top + share * (bottom - top)))
    return y


def _dip(rng: np.random.Generator, x: Floats, starts: Floats, widths: Floats) -> Floats:
    """Loss of log bandwidth: 8 to 30 % over two to six sizes inside the widest level, away from its ends."""
    widest = int(np.argmax(widths))
    inside = np.flatnonzero((x > starts[widest]) & (x < starts[widest] + widths[widest]))
    loss = np.zeros_like(x)
    size = int(rng.integers(2, 7))
    if inside.size >= 4 * size:
        at = int(rng.integers(size, inside.size - 2 * size + 1))
        loss[inside[at : at + size]] = -np.log1p(-rng.uniform(0.08, 0.3))
    return loss
