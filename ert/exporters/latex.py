"""``latex``: the tables of ``ert show`` for a paper. Needs ``\\usepackage{booktabs}`` and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ert.ceilings import Ceilings
from ert.columns import CeilingsTable, ceilings_tables
from ert.exporters.base import Export
from ert.provenance import provenance

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def write(ceilings: Ceilings) -> Export:
    """One table environment per table, each with the provenance in its caption."""
    found = provenance(ceilings)
    tables = [
        _table(table, f"{table.title}. {found.device}, {found.state}. Made by: {found.command}")
        for table in ceilings_tables(ceilings, is_roomy=False)
    ]
    return Export("% Needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}.\n" + "\n".join(tables))


def _table(table: CeilingsTable, caption: str) -> str:
    """Roofs in bold, numbers to the right."""
    lines = [_line((c.name for c in table.columns), is_bold=False)]
    lines += [_line(row, is_bold=bool(table.roofs) and table.roofs[index]) for index, row in enumerate(table.rows)]
    head, *body = lines
    alignment = "".join("r" if c.is_number else "l" for c in table.columns)
    return "\n".join(
        (
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{_escaped(caption)}.}}",
            f"  \\begin{{tabular}}{{{alignment}}}",
            r"    \toprule",
            head,
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        )
    )


def _line(cells: Iterable[str], *, is_bold: bool) -> str:
    texts = [_escaped(cell) for cell in cells]
    shown = [f"\\textbf{{{text}}}" if is_bold and text else text for text in texts]
    return f"    {' & '.join(shown)} \\\\"


def _escaped(text: str) -> str:
    """LaTeX's own characters as text, and two hyphens as such; one the input encoding may lack stays as it is, XeLaTeX prints it."""
    plain = re.sub(r'[\\{}$&#%_~^<>|"]', lambda found: _SPECIAL[found[0]], " ".join(text.split()))
    return plain.replace("--", "-{}-").replace(" .. ", "--")
