"""Two ceilings files, ceiling by ceiling: worse, same, better, or not comparable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ert.ceilings import Ceilings
from ert.ceilings.kinds import Ceiling
from ert.checks import name_of
from ert.codec import encode
from ert.columns import unit_of
from ert.errors import ConfigError
from ert.fingerprint import EXCUSES, changes, fingerprint_of
from ert.jsontypes import Json

SCHEMA = "ert.diff"
SCHEMA_VERSION = 1
# Runs of one device, minutes apart, agree within this; nights differ by about half of it (configs/nightly.toml).
DEFAULT_THRESHOLD = 0.02

Verdict = Literal["worse", "same", "better", "not comparable"]


@dataclass(frozen=True, slots=True)
class Row:
    """One ceiling in both files; rates in ``unit``, B/s, FLOP/s or OP/s.

    change, change_ci95  new / base - 1, None where there is nothing to compare
    """

    ceiling: str
    unit: str
    roof: bool
    base: float | None
    base_ci95: tuple[float, float] | None
    new: float | None
    new_ci95: tuple[float, float] | None
    change: float | None
    change_ci95: tuple[float, float] | None
    verdict: Verdict
    note: str


@dataclass(frozen=True, slots=True)
class Diff:
    """All rows, in the order of the files, and what else differs.

    environment  what the change may come from: driver, clocks, compiler
    """

    base: str
    new: str
    threshold: float
    rows: tuple[Row, ...]
    environment: tuple[str, ...]
    note: str

    @property
    def verdict(self) -> Verdict:
        """worse if any ceiling is; better only if none is worse."""
        verdicts = {row.verdict for row in self.rows}
        order: tuple[Verdict, ...] = ("worse", "better", "same")
        return next((verdict for verdict in order if verdict in verdicts), "not comparable")

    def to_dict(self) -> dict[str, Json]:
        """The document of ``ert diff --json``."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "base": self.base,
            "new": self.new,
            "threshold": self.threshold,
            "rows": encode(self.rows),
            "environment": encode(self.environment),
            "note": self.note,
            "verdict": self.verdict,
        }


def compare(base: Ceilings, new: Ceilings, threshold: float = DEFAULT_THRESHOLD, names: tuple[str, str] = ("base", "new")) -> Diff:
    """Every ceiling of either file. Raises ConfigError for a threshold that is no share."""
    if not 0 <= threshold < 1:
        raise ConfigError(f"--threshold {threshold:g}: must be a share from 0 to 1, such as 0.02, or written 2%.")
    before, after = fingerprint_of(base), fingerprint_of(new)
    obstacle = _obstacle(before.device, after.device, (before.sweep, after.sweep))
    left, right = ({name_of(c): c for c in ceilings.all_ceilings} for ceilings in (base, new))
    rows = tuple(_row(name, left.get(name), right.get(name), threshold, obstacle) for name in dict.fromkeys([*left, *right]))
    return Diff(*names, threshold, rows, tuple(map(str, changes(before.environment, after.environment))), obstacle)


def _obstacle(before: Mapping[str, Json], after: Mapping[str, Json], sweeps: tuple[str | None, str | None]) -> str:
    """Why the files as a whole cannot be compared; empty if they can. Two cards of one kind can."""
    differing = [str(change) for change in changes(before, after) if change.what != "uuid"]
    if sweeps[0] != sweeps[1]:
        differing.append("they were swept with different configurations; give both the same --config, --level and --precision")
    return "; ".join(differing)


def _row(name: str, base: Ceiling | None, new: Ceiling | None, threshold: float, obstacle: str) -> Row:
    either = base or new
    assert either is not None  # the name comes from one of them
    change, interval = (None, None) if base is None or new is None else relative_change(base, new)
    verdict, note = _verdict(base, new, change, interval, threshold) if not obstacle else ("not comparable", obstacle)
    return Row(
        ceiling=name,
        unit=unit_of(either),
        roof=either.roof,
        base=base.value if base else None,
        base_ci95=base.ci95 if base else None,
        new=new.value if new else None,
        new_ci95=new.ci95 if new else None,
        change=change,
        change_ci95=interval,
        verdict=verdict,
        note=note,
    )


def relative_change(base: Ceiling, new: Ceiling) -> tuple[float, tuple[float, float] | None]:
    """new / base - 1 and its 95 % interval: the relative half widths of independent measurements add as squares."""
    ratio = math.log(new.value / base.value)
    if base.ci95 is None or new.ci95 is None:
        return math.expm1(ratio), None
    low = math.hypot(math.log(new.value / new.ci95[0]), math.log(base.ci95[1] / base.value))
    high = math.hypot(math.log(new.ci95[1] / new.value), math.log(base.value / base.ci95[0]))
    return math.expm1(ratio), (math.expm1(ratio - low), math.expm1(ratio + high))


def _verdict(
    base: Ceiling | None, new: Ceiling | None, change: float | None, interval: tuple[float, float] | None, threshold: float
) -> tuple[Verdict, str]:
    if base is None or new is None or change is None:
        return "not comparable", f"only in the {'new' if base is None else 'base'} file"
    excuses = [f"{flag} in the {which} file" for which, c in (("base", base), ("new", new)) for flag in EXCUSES if flag in c.flags]
    if excuses:
        return "not comparable", "; ".join(excuses)
    if abs(change) <= threshold:
        return "same", ""
    if interval is None:
        return ("worse" if change < 0 else "better"), "without an interval: too few samples"
    if interval[0] <= 0 <= interval[1]:
        return "same", "within the intervals"
    return ("worse" if change < 0 else "better"), ""
