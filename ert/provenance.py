"""What stands with every table and picture: device, clock, date, tool, and the command that makes it again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePath

from ert.ceilings import Ceilings
from ert.units import with_prefix

# Clocks closer than this are one clock: the governor's own steps are coarser.
SAME_CLOCK = 1.01


@dataclass(frozen=True, slots=True)
class Provenance:
    """Each a short text for people; an unknown one says so."""

    device: str
    clock: str
    threads: str
    date: str
    tool: str
    command: str

    @property
    def state(self) -> str:
        """Clock, threads, date and tool in one line."""
        return ", ".join(filter(None, (self.clock, self.threads, self.date, self.tool)))


def provenance(ceilings: Ceilings) -> Provenance:
    """The provenance of a ceilings file, in words."""
    tool = ceilings.tool
    commit = ", ".join(filter(None, (tool.git, "modified" if tool.dirty else None)))
    return Provenance(
        device=f"{ceilings.device.get('name', 'unnamed device')} ({ceilings.device.get('id', 'no id')})",
        clock=_clock(ceilings),
        threads=_threads(ceilings),
        date=f"{ceilings.created[:16].replace('T', ' ')} UTC",
        tool=f"{tool.name} {tool.version}" + (f" ({commit})" if commit else ""),
        command=_command(ceilings.argv),
    )


def _clock(ceilings: Ceilings) -> str:
    measured = [c.clock_hz for c in ceilings.all_ceilings if c.clock_hz]
    if measured:
        low, high = min(measured), max(measured)
        if high < low * SAME_CLOCK:
            return with_prefix(high, "Hz", 3)
        return f"{with_prefix(low, 'Hz', 3)} to {with_prefix(high, 'Hz', 3)}"
    reported = ceilings.device.get("clock_hz")
    if isinstance(reported, int | float) and reported > 0:
        return f"{with_prefix(reported, 'Hz', 3)} as reported"
    return "clock not measured"


def _threads(ceilings: Ceilings) -> str:
    counts = sorted({c.threads for c in ceilings.all_ceilings if c.threads})
    if not counts:
        return ""
    return f"{' or '.join(map(str, counts))} thread{'s' if counts != [1] else ''}"


def _command(argv: tuple[str, ...]) -> str:
    """The command line with the program by its plain name: where it was installed does not matter."""
    return shlex.join((PurePath(argv[0]).name, *argv[1:])) if argv else "unknown"
