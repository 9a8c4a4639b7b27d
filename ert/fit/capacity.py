"""Where a curve leaves a level."""

from __future__ import annotations

import numpy as np

from ert.fit.model import Interval
from ert.fit.plateaus import Plateau, WeightedSizes

# A level is left where a quarter of the way down to the next is gone, in log bandwidth: past the rounding of the corner, which
# is noise or a few conflict misses, and before the half-way point, where most accesses already miss.
_LEFT = 0.25
# But not before 10 % are gone (0.105 in log), unless that is more than half of the way.
_LEAST_LOSS = 0.105
_CLEARLY = 0.5


def leaving_size(points: WeightedSizes, level: Plateau, below: Plateau) -> tuple[float, Interval]:
    """The size in bytes at which the curve leaves ``level`` for ``below``, and its interval.

    The interval runs from the last size on the level to the first that is clearly off it: half of the way down.
    """
    between = np.arange(level.members[-1], below.members[0] + 1)
    between = between[~points.is_lone[between]]
    octave = points.sizes.octave[between]
    middle = (level.last + below.first) / 2
    way = level.at(middle) - below.at(middle)
    left = max(_LEFT * way, min(_LEAST_LOSS, _CLEARLY * way))
    clearly = max(_CLEARLY * way, left)
    lost = level.log_rate + level.slope * (octave - level.octave) - points.sizes.log_rate[between]
    # The level's own last size has lost nothing, whatever its noise says; further losses never shrink.
    lost[0] = min(lost[0], 0.0)
    lost = np.maximum.accumulate(lost)
    size = float(np.interp(left, lost, octave))
    end = octave[np.argmax(lost >= clearly)] if lost[-1] >= clearly else octave[-1]
    return 2.0**size, (2.0 ** float(octave[0]), 2.0 ** max(float(end), size))
