"""``markdown``: the tables of ``ert show`` for a README, an issue or a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ert.ceilings import Ceilings
from ert.columns import CeilingsTable, ceilings_tables, notes
from ert.diagnostic_notes import diagnostic_notes
from ert.exporters.base import Export
from ert.provenance import provenance

# What Markdown or the HTML inside it would take for markup; a pipe would end the cell.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def write(ceilings: Ceilings) -> Export:
    """A heading with the provenance, the tables, and the command that makes them again."""
    found = provenance(ceilings)
    parts = [f"## {_escaped(found.device)}", _escaped(found.state)]
    parts += [f"### {table.title}\n\n{_table(table)}" for table in ceilings_tables(ceilings)]
    parts += [
        "\n".join(f"- {_escaped(line)}" for line in [*notes(ceilings), *diagnostic_notes(ceilings)]),
        f"Made by: {_code(found.command)}",
    ]
    return Export("\n\n".join(parts) + "\n")


def _table(table: CeilingsTable) -> str:
    """Roofs in bold, numbers to the right."""
    lines = [_line(c.name for c in table.columns), _line("---:" if c.is_number else "---" for c in table.columns)]
    for index, row in enumerate(table.rows):
        is_roof = bool(table.roofs) and table.roofs[index]
        lines.append(_line(f"**{_escaped(cell)}**" if is_roof and cell else _escaped(cell) for cell in row))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """A code span whose fence is longer than any run of backticks inside."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"
