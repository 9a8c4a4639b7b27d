"""The nearest known name, for the error about one that is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """`` Did you mean 'fp16'?``, upper or lower case, with the space before it; empty if no known name is near."""
    by_lower_case = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_lower_case, n=1)
    return f" Did you mean '{by_lower_case[near[0]]}'?" if near else ""
