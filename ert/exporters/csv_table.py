"""``csv``: the long table, one row per ceiling, for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io
from dataclasses import astuple, fields

from ert.ceilings import Ceilings
from ert.exporters.base import Export
from ert.exporters.rows import CeilingRow, ceiling_rows


def write(ceilings: Ceilings) -> Export:
    """All numbers in full precision; empty is not measured or not known."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(f.name for f in fields(CeilingRow))
    for row in ceiling_rows(ceilings):
        writer.writerow(_cell(value) for value in astuple(row))
    return Export(buffer.getvalue())


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
