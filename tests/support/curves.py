"""Synthetic working-set curves with known levels: what real curves carry, planted and seeded.

Levels are plateaus in log2(size) whose log bandwidth may fall slowly; between two of them lies a ramp of one of three
shapes; the small end may be launch-limited. Noise multiplies every row, gross outliers are 1.5 to 4 times slower, a dip slows
a few neighbouring sizes. Nothing is shared with the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Range = tuple[float, float]

SHAPES = ("linear", "smooth", "convex")
FIRST_OCTAVE = 14.0


@dataclass(frozen=True, slots=True)
class Design:
    """Ranges a curve is drawn from; the defaults are those of the project's acceptance test.

    Widths and ramps in octaves; noise, outliers, decline (per octave) as shares; ``repeats`` rows of each size.
    """

    level_counts: tuple[int, ...] = (2, 3, 4, 5)
    plateau_octaves: Range = (0.5, 6.0)
    ramp_octaves: Range = (0.1, 2.0)
    ratio: Range = (1.15, 6.0)
    noise: Range = (0.003, 0.05)
    outlier_share: Range = (0.0, 0.10)
    decline_per_octave: Range = (0.0, 0.05)
    points_per_octave: Range = (8.0, 16.0)
    repeats: tuple[int, ...] = (1, 3, 5)
    launch_chance: float = 0.3
    dip_chance: float = 0.3


@dataclass(frozen=True, slots=True)
class Truth:
    """One planted level: the median of its noise-free bandwidth, and where it starts and ends, in bytes."""

    value_bytes_per_s: float
    working_set_bytes: Range

    @property
    def octaves(self) -> float:
        return float(np.log2(self.working_set_bytes[1] / self.working_set_bytes[0]))


@dataclass(frozen=True, slots=True)
class SyntheticCurve:
    """Rows, and what was planted in them. ``traits`` are words for the list of failures."""

    working_set_bytes: Floats
    bandwidth_bytes_per_s: Floats
    levels: tuple[Truth, ...]
    noise: float
    traits: tuple[str, ...]

    @property
    def narrowest_octaves(self) -> float:
        return min(level.octaves for level in self.levels)


@dataclass(frozen=True, slots=True)
class _Levels:
    """Start and end in octaves, log bandwidth at the start, and its change per octave, of each level (n,)."""

    starts: Floats
    ends: Floats
    tops: Floats
    slopes: Floats

    def line(self, k: int, x: Floats) -> Floats:
        return self.tops[k] + self.slopes[k] * (x - self.starts[k])


def draw_curve(seed: int, design: Design = Design()) -> SyntheticCurve:
    """The curve of this seed, rows in random order."""
    rng = np.random.default_rng(seed)
    is_launched = bool(rng.random() < design.launch_chance)
    levels = _draw_levels(rng, design, is_launched)
    shapes = [str(shape) for shape in rng.choice(SHAPES, levels.starts.size - 1)]
    step = 1.0 / rng.uniform(*design.points_per_octave)
    x = np.arange(levels.starts[0], levels.ends[-1], step)
    clean = _join(x, levels, shapes)
    traits = [f"{levels.starts.size} levels", *sorted(set(shapes))]
    if is_launched:
        x, clean = _with_launch(rng, x, clean, step)
        traits.append("launch")
    truth = tuple(_truth(x, clean, start, end) for start, end in zip(levels.starts, levels.ends, strict=True))
    if rng.random() < design.dip_chance:
        clean = clean - _dip(rng, x, levels)
        traits.append("dip")
    return _with_noise(rng, design, SyntheticCurve(x, clean, truth, 0.0, tuple(traits)))


def _draw_levels(rng: np.random.Generator, design: Design, is_launched: bool) -> _Levels:
    count = int(rng.choice(design.level_counts))
    widths = _log_uniform(rng, design.plateau_octaves, count)
    ramps = _log_uniform(rng, design.ramp_octaves, count - 1)
    # Every other level declines. The ratio of two neighbours counts from the end of one to the start of the next, so that
    # decline never eats a step.
    slopes = np.log1p(-rng.uniform(*design.decline_per_octave, count) * rng.integers(0, 2, count))
    # A level that still rises from a launch and already declines has no value anybody could agree on.
    slopes[0] = 0.0 if is_launched else slopes[0]
    steps = np.log(_log_uniform(rng, design.ratio, count - 1)) - slopes[:-1] * widths[:-1]
    first = np.log(_log_uniform(rng, (1e10, 2e13), 1))
    starts = FIRST_OCTAVE + np.concatenate([[0.0], np.cumsum(widths[:-1] + ramps)])
    return _Levels(starts, starts + widths, first - np.concatenate([[0.0], np.cumsum(steps)]), slopes)


def _log_uniform(rng: np.random.Generator, bounds: Range, size: int) -> Floats:
    return np.exp(rng.uniform(np.log(bounds[0]), np.log(bounds[1]), size))


def _join(x: Floats, levels: _Levels, shapes: list[str]) -> Floats:
    """Log bandwidth without noise: every plateau's line, and the ramp that joins its end to the next start."""
    y = levels.line(0, x)
    for k, shape in enumerate(shapes):
        begin, end = levels.ends[k], levels.starts[k + 1]
        share = np.clip((x - begin) / (end - begin), 0.0, 1.0)
        if shape == "smooth":
            share = share * share * (3.0 - 2.0 * share)
        elif shape == "convex":
            share = 1.0 - (1.0 - share) ** 2
        top = float(levels.line(k, begin))
        ramp = top + share * (levels.tops[k + 1] - top)
        y = np.where(x <= begin, y, np.where(x >= end, levels.line(k + 1, x), ramp))
    return y


def _with_launch(rng: np.random.Generator, x: Floats, clean: Floats, step: float) -> tuple[Floats, Floats]:
    """Sizes below the first level that are slowed by start-up, T = V/b + a: 1 % where the level starts, 30 to 80 % at the smallest."""
    lost = rng.uniform(0.3, 0.8)
    before = x[0] - np.arange(step, np.log2(lost / (1 - lost) / 0.01), step)[::-1]
    longer = np.concatenate([before, x])
    return longer, np.concatenate([np.full(before.size, clean[0]), clean]) - np.log1p(0.01 * 2.0 ** (x[0] - longer))


def _truth(x: Floats, clean: Floats, start: float, end: float) -> Truth:
    return Truth(float(np.exp(np.median(clean[(x >= start) & (x <= end)]))), (2.0**start, 2.0**end))


def _dip(rng: np.random.Generator, x: Floats, levels: _Levels) -> Floats:
    """Loss of log bandwidth: 8 to 30 % over two to six sizes inside the widest level, away from its ends."""
    widest = int(np.argmax(levels.ends - levels.starts))
    inside = np.flatnonzero((x > levels.starts[widest]) & (x < levels.ends[widest]))
    loss = np.zeros_like(x)
    size = int(rng.integers(2, 7))
    if inside.size >= 4 * size:
        at = int(rng.integers(size, inside.size - 2 * size + 1))
        loss[inside[at : at + size]] = -np.log1p(-rng.uniform(0.08, 0.3))
    return loss


def _with_noise(rng: np.random.Generator, design: Design, clean: SyntheticCurve) -> SyntheticCurve:
    """Octaves and log bandwidth of each size -> rows in bytes and bytes/s, repeated, noisy, some of them stalled, shuffled."""
    noise = float(_log_uniform(rng, design.noise, 1)[0])
    repeats = int(rng.choice(design.repeats))
    order = rng.permutation(clean.working_set_bytes.size * repeats)
    octave = np.repeat(clean.working_set_bytes, repeats)[order]
    rate = np.repeat(clean.bandwidth_bytes_per_s, repeats)[order] + noise * rng.standard_normal(order.size)
    stalled = rng.random(order.size) < rng.uniform(*design.outlier_share)
    rate[stalled] -= np.log(rng.uniform(1.5, 4.0, int(stalled.sum())))
    return SyntheticCurve(np.round(2.0**octave), np.exp(rate), clean.levels, noise, clean.traits)


def step_curve(
    values: list[float], *, octaves: list[float], step: float, noise: float = 0.001, decline: float = 0.0, repeats: int = 1
) -> SyntheticCurve:
    """Sharp steps from 2^14 bytes on: levels of these values and widths, ``decline`` per octave inside each, sizes ascending."""
    ends = FIRST_OCTAVE + np.cumsum(octaves)
    starts = ends - np.array(octaves)
    x = np.repeat(np.arange(FIRST_OCTAVE, ends[-1] - 1e-9, step), repeats)
    level = np.searchsorted(ends[:-1], x, side="right")
    clean = np.log(np.array(values))[level] + np.log1p(-decline) * (x - starts[level])
    rows = clean + noise * np.random.default_rng(0).standard_normal(x.size)
    truth = tuple(_truth(x, clean, start, end - 1e-9) for start, end in zip(starts, ends, strict=True))
    return SyntheticCurve(2.0**x, np.exp(rows), truth, noise, ("steps",))


def sigmoid_curve(values: list[float], *, ends: list[float], width: float, octaves: Range, step: float) -> tuple[Floats, Floats]:
    """Octaves (n,) and noise-free log bandwidth (n,) of levels that end, half-way down, at these octaves; logistic ramps."""
    x = np.arange(octaves[0], octaves[1] + step / 2, step)
    logs = np.log(values)
    y = np.full(x.size, logs[0])
    for end, high, low in zip(ends, logs[:-1], logs[1:], strict=True):
        y += (low - high) / (1 + np.exp(-(x - end) / width))
    return x, y
