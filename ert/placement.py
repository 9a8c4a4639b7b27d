"""Where a hypervisor has put our cores, as the latency of a cache line between them tells.

On one machine the latencies fall into a few narrow groups: two threads of one core, two cores of one complex,
two complexes (15, 36 and 215 ns on a Zen 3 server guest whose virtual CPUs move between all three). Shared levels
deliver a different bandwidth in each, so samples of different placements are never mixed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

# Latencies are counted in steps of a quarter octave; a step with less than this share of them is straggle between groups.
_STEPS_PER_OCTAVE = 4
_LEAST_STEP_SHARE = 0.02


class Placements:
    """Learns the groups from every latency it is shown."""

    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()
        self._chosen: tuple[float, float] | None = None

    def learn(self, latencies_s: Iterable[float]) -> None:
        """Take in one-way latencies, s."""
        self._steps.update(_step(latency_s) for latency_s in latencies_s if latency_s > 0)
        most = max(self.groups(), key=lambda group: group[2], default=None)
        self._chosen = most[:2] if most else None

    def groups(self) -> list[tuple[float, float, float]]:
        """(lowest, highest latency, share of the samples) of each group, near to far."""
        total = self._steps.total()
        kept = sorted(step for step, count in self._steps.items() if count >= _LEAST_STEP_SHARE * total)
        groups: list[list[int]] = []
        for step in kept:
            if groups and step == groups[-1][-1] + 1:
                groups[-1].append(step)
            else:
                groups.append([step])
        return [(_edge(g[0]), _edge(g[-1] + 1), sum(self._steps[step] for step in g) / total) for g in groups]

    def chosen(self) -> tuple[float, float] | None:
        """The latencies, s, of the placement that ceilings of shared levels are taken from, None if no latency was seen.

        The one seen most often: a rarer one leaves too few samples of every point, and is another one in the next sweep.
        """
        return self._chosen

    def is_chosen(self, latency_s: float) -> bool:
        """True for a sample of the chosen placement, or while none is known."""
        return self._chosen is None or self._chosen[0] <= latency_s < self._chosen[1]


def _step(latency_s: float) -> int:
    return math.floor(math.log2(latency_s) * _STEPS_PER_OCTAVE)


def _edge(step: int) -> float:
    return float(2.0 ** (step / _STEPS_PER_OCTAVE))
