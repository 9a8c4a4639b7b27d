"""A ceilings file as tables for a terminal. Nothing here prints; the command line does.

Texts are ASCII: they must survive any terminal and any pipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.ceilings import Ceilings
from ert.columns import CeilingsTable, ceilings_tables, failures, notes
from ert.diagnostic_notes import diagnostic_notes
from ert.provenance import provenance

# Narrower than this, the tables leave out the working sets: numbers that are cut off help nobody.
ROOMY_WIDTH = 100


def ceilings_report(ceilings: Ceilings, width: int = ROOMY_WIDTH) -> RenderableType:
    """Everything a person needs from the file, for a terminal ``width`` columns wide.

    Provenance, ceilings with intervals, ridge points, notes, what could not be measured, warnings, the command.
    """
    return Group(*spaced(list(_parts(ceilings, is_roomy=width >= ROOMY_WIDTH))))


def _parts(ceilings: Ceilings, *, is_roomy: bool) -> Iterator[RenderableType]:
    yield _heading(ceilings)
    for table in ceilings_tables(ceilings, is_roomy=is_roomy):
        yield _drawn(table)
    for lines in ([*notes(ceilings), *diagnostic_notes(ceilings)], failures(ceilings)):
        if lines:
            yield Text("\n".join(lines))
    if ceilings.warnings:
        yield _warnings(ceilings)
    yield Text(f"Made by: {provenance(ceilings).command}")


def spaced(parts: Sequence[RenderableType]) -> Iterator[RenderableType]:
    """The parts with a blank line between each two."""
    for index, part in enumerate(parts):
        if index:
            yield Text()
        yield part


def _heading(ceilings: Ceilings) -> Text:
    found = provenance(ceilings)
    return Text.assemble((found.device, "bold"), f"\n{found.state}")


def _drawn(content: CeilingsTable) -> Table:
    """The columns side by side; rows that are roofs stand out."""
    table = Table(
        title=content.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for column in content.columns:
        table.add_column(
            column.name, justify="right" if column.is_number else "left", no_wrap=column.name not in {"kernel", "flags"}, overflow="fold"
        )
    for index, cells in enumerate(content.rows):
        # Text, not str: a kernel or flag may hold brackets, which rich would take for markup.
        table.add_row(*map(Text, cells), style="bold" if content.roofs and content.roofs[index] else "")
    return table


def _warnings(ceilings: Ceilings) -> Text:
    lines = []
    for w in ceilings.warnings:
        lines.append(f"warning: {w.message} [{w.code}]")
        if w.remedy:
            lines.append(f"         remedy: {w.remedy}")
    return Text("\n".join(lines), style="yellow")
