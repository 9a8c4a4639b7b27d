"""A finding: one warning with its number and its remedy, as the ceilings file stores it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One entry of ``warnings`` in every file ert writes.

    code     short, stable, snake_case, for programs
    message  what was seen and where, for people
    value    the number behind it, SI base, or None
    remedy   what to try, or None
    """

    code: str
    message: str
    value: float | None = None
    remedy: str | None = None
