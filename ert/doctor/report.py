"""Everything the doctor found: collected, as text for a terminal, as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.codec import encode
from ert.devices import list_devices
from ert.doctor.cuda import cuda_facts
from ert.doctor.fact import Fact
from ert.doctor.machine import machine_facts
from ert.doctor.now import now_facts, sweep_of
from ert.doctor.software import device_fact, software_facts
from ert.jsontypes import Json

Findings = Mapping[str, Sequence[Fact]]
_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


def examine() -> Findings:
    """Section -> facts. Takes about two seconds; needs neither a compiler nor a GPU."""
    devices = list_devices()
    return {
        "Devices": [device_fact(device) for device in devices],
        "Software": software_facts(),
        "CUDA": cuda_facts(),
        "Machine": machine_facts(),
        "Right now": now_facts(devices),
    }


def doctor_report(findings: Findings) -> RenderableType:
    """One block a section; what to do stands below what was found; the count last."""
    parts: list[RenderableType] = []
    for section, facts in findings.items():
        parts += [Text(section, style="bold"), _block(facts), Text()]
    return Group(*parts, Text(summary(findings)))


def _block(facts: Sequence[Fact]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True, min_width=len("  problem"))
    table.add_column(no_wrap=True, min_width=len("virtual machine"))
    table.add_column(overflow="fold")
    for fact in facts:
        table.add_row(Text(f"  {fact.status}", style=_STYLES[fact.status]), Text(fact.name), Text(fact.text))
        if fact.remedy:
            table.add_row(Text(""), Text(""), Text(f"-> {fact.remedy}", style="dim"))
    return table


def summary(findings: Findings) -> str:
    """``0 problems, 3 notes``, and what can be swept now: a device that a sweep holds cannot, until that one is done."""
    facts = [fact for several in findings.values() for fact in several]
    counts = Counter(fact.status for fact in facts)
    usable = [fact.name for fact in findings.get("Devices", ()) if fact.status == "ok"]
    held = {fact.name for fact in facts if fact.status != "ok"}
    free = [name for name in usable if sweep_of(name) not in held]
    if free:
        can = f"A sweep can run: ert sweep --device {free[0]}"
    elif usable:
        can = f"A sweep runs already: wait for it, then ert sweep --device {usable[0]}"
    else:
        can = "Nothing can be swept yet."
    return f"{_count(counts['problem'], 'problem')}, {_count(counts['note'], 'note')}. {can}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def doctor_document(findings: Findings) -> dict[str, Json]:
    """The same for other programs: one row a fact."""
    rows: list[Json] = []
    for section, facts in findings.items():
        for fact in facts:
            row = encode(fact)
            assert isinstance(row, dict)  # encode of a dataclass
            rows.append({"section": section, **row})
    return {"schema": "ert.doctor", "schema_version": 1, "facts": rows}
