"""What an exporter is: ceilings in, the text of one file out, and a list of what that format cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ert.ceilings import Ceilings


@dataclass(frozen=True, slots=True)
class Export:
    """The text of a file. ``left_out``: each thing of the ceilings file it has no place for, with the reason."""

    text: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exporter:
    """One format. ``summary`` says who reads its files; ``write`` raises AnalysisError for ceilings it cannot express at all."""

    summary: str
    write: Callable[[Ceilings], Export]


def other_than_roofs(ceilings: Ceilings) -> list[str]:
    """What a format with one number per level and precision leaves out, for ``Export.left_out``; empty if that is nothing."""
    other = [f"{c.level} {c.op}" for c in ceilings.bandwidth_ceilings if not c.roof]
    other += [f"{c.precision} {c.path} {c.op}" for c in ceilings.compute_ceilings if not c.roof]
    return [f"{', '.join(other)}: one roof per level and precision"] if other else []
