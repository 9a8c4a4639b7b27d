"""The outcome of a validation: rows, the verdict over them, and the document of the contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ert.codec import encode
from ert.jsontypes import Json

SCHEMA = "ert.validation"
SCHEMA_VERSION = 1

Verdict = Literal["pass", "below", "above", "unknown"]
Unit = Literal["byte/s", "flop/s", "op/s", "byte"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison; numbers are SI base, None where there is none.

    spec         what the sheet promises: per device, dense, and scaled to a MIG slice
    theoretical  the physical limit at the measured clock;  theoretical_source: where it comes from, or why there is none
    op           the operation that was measured
    sheet        the number as printed;  source: the document it stands in
    """

    what: str
    unit: Unit
    measured: float | None = None
    spec: float | None = None
    theoretical: float | None = None
    theoretical_source: str | None = None
    verdict: Verdict = "unknown"
    note: str = ""
    op: str | None = None
    clock_hz: float | None = None
    sheet: str | None = None
    source: str | None = None

    @property
    def ratio(self) -> float | None:
        """Measured over promised."""
        return self.measured / self.spec if self.measured is not None and self.spec else None

    @property
    def theoretical_ratio(self) -> float | None:
        """Measured over theoretical."""
        return self.measured / self.theoretical if self.measured is not None and self.theoretical else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """All rows of one ceilings file against one sheet.

    spec         name of the sheet, None where there is none;  spec_reason: why this one, or why none
    candidates   sheets that could be meant where there is none
    """

    device: str
    spec: str | None
    spec_reason: str
    candidates: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of the rows: below, then above; among unknown ones a single pass is a pass."""
        verdicts = {row.verdict for row in self.rows}
        order: tuple[Verdict, ...] = ("below", "above", "pass")
        return next((verdict for verdict in order if verdict in verdicts), "unknown")

    def to_dict(self) -> dict[str, Json]:
        """The document of the contract."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "device": self.device,
            "spec": self.spec,
            "spec_reason": self.spec_reason,
            "candidates": list(self.candidates),
            "rows": [_row(row) for row in self.rows],
            "verdict": self.verdict,
        }


def _row(row: Row) -> dict[str, Json]:
    """The row with its ratios, which are derived and so not stored."""
    fields = encode(row)
    assert isinstance(fields, dict)  # encode of a dataclass
    first = {key: fields[key] for key in ("what", "unit", "measured", "spec")}
    ratios: dict[str, Json] = {"ratio": row.ratio, "theoretical": row.theoretical, "theoretical_ratio": row.theoretical_ratio}
    return first | ratios | {key: value for key, value in fields.items() if key not in {*first, *ratios}}
