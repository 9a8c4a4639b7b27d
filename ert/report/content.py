"""What a report is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ert.ceilings import Ceilings
from ert.compare import Comparison
from ert.validation import Validation

MOST_KERNELS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """ceilings    the device the report is about
    comparison  its kernels, judged
    others      ceilings of other devices or dates, to compare with, in the order given
    validation  against a spec sheet or the theoretical peak
    """

    ceilings: Ceilings
    comparison: Comparison | None = None
    others: tuple[Ceilings, ...] = ()
    validation: Validation | None = None

    @property
    def shown(self) -> Comparison | None:
        """The comparison with the kernels that take the most time: a file of 10,000 would open slowly and help nobody."""
        if self.comparison is None or len(self.comparison.kernels) <= MOST_KERNELS:
            return self.comparison
        kernels = self.comparison.kernels
        kept = sorted(sorted(range(len(kernels)), key=lambda i: -kernels[i].point.time_s)[:MOST_KERNELS])
        at = {old: new for new, old in enumerate(kept)}
        whole = [t for t in self.comparison.trajectories if all(i in at for i in t.kernels)]
        moved = tuple(replace(t, kernels=tuple(at[i] for i in t.kernels)) for t in whole)
        return replace(self.comparison, kernels=tuple(kernels[i] for i in kept), trajectories=moved)

    @property
    def hidden_kernels(self) -> int:
        """How many kernels ``shown`` leaves out."""
        return len(self.comparison.kernels) - len(self.shown.kernels) if self.comparison and self.shown else 0
