"""One line of what the doctor found, and how a question that cannot be answered becomes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import psutil

from ert.errors import ErtError
from ert.jsontypes import Json

# ok; worth knowing; a sweep fails, or its numbers are wrong, until this is remedied.
Status = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One finding.

    text    for people
    value   the number, word or list behind it, SI base; None where there is none
    remedy  what to do, None if there is nothing to do
    """

    name: str
    status: Status
    text: str
    value: Json = None
    remedy: str | None = None


def collect(questions: Sequence[tuple[str, Callable[[], Fact]]]) -> list[Fact]:
    """The answer to every named question; one that fails is a problem with the reason, and the others go on."""
    found = []
    for name, ask in questions:
        try:
            found.append(ask())
        except (ErtError, OSError, psutil.Error) as error:
            found.append(Fact(name, "problem", f"cannot be found out: {error}"))
    return found
