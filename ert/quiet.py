"""Whether a core is quiet: what an issue-width probe says beside a sample, against the best this machine ever showed.

The probe (kernels_cpu/runtime.c) counts load-and-add instructions per cycle. Alone on its core it reaches a
fixed plateau, a property of the microarchitecture (2.99 to 3.00 on Zen 3); any neighbour on the same
physical core takes issue slots and pulls it to 1.5 to 2.2. Interference only ever lowers it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# A core is quiet within this share of the plateau: probe noise is 1 %, a busy sibling costs 25 % and more.
QUIET_SHARE = 0.97
# Probes within 1 % of each other at the top make a plateau; fewer are timer noise.
_PLATEAU_TOLERANCE = 0.01
_PLATEAU_PROBES = 8
_KEPT = 64


class QuietGate:
    """Learns the plateau from every probe it is shown; ``reference`` only rises."""

    def __init__(self) -> None:
        self.reference: float | None = None
        self._top: list[float] = []

    @property
    def threshold(self) -> float:
        """Instructions per cycle from which a core counts as quiet; 0 (everything is quiet) until a plateau is known."""
        return self.reference * QUIET_SHARE if self.reference else 0.0

    def learn(self, widths: Iterable[float]) -> None:
        """Take in probes, instructions per cycle each."""
        self._top = sorted([*self._top, *(float(w) for w in widths)], reverse=True)[:_KEPT]
        self.reference = top_plateau(self._top)


def top_plateau(widths: Iterable[float]) -> float | None:
    """The highest value that several probes agree on within 1 %, None if no such group exists."""
    ordered = np.sort(np.asarray(list(widths), dtype=np.float64))[::-1]
    for i in range(len(ordered) - _PLATEAU_PROBES + 1):
        group = ordered[i : i + _PLATEAU_PROBES]
        if group[-1] >= group[0] * (1 - _PLATEAU_TOLERANCE):
            return float(np.median(group))
    return None
