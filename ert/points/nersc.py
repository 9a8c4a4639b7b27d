"""Input of NERSC's plot_roofline_hierarchical.py: roofs, and kernels as AI per level and a rate.

Only ratios are recorded, so a kernel stands here as one second of work. GB/s and GFLOP/s are decimal; no precision
is recorded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from ert.errors import AnalysisError
from ert.points.document import Document
from ert.points.model import UNKNOWN, Collected, KernelPoint, Origin, Reading, ReadOptions, Skipped, Witness
from ert.points.numerals import number_at
from ert.units import GIGA

_LEVELS = {"L1": "L1", "L2": "L2", "L3": "L3", "HBM": "DRAM", "DRAM": "DRAM"}
_MARK = re.compile(r"^\s*(memroofs|AI_[A-Za-z0-9]+)\s", re.MULTILINE)
_ONE_SECOND = "only AI and rate are recorded: shown as one second of work"


@dataclass(slots=True)
class _Lines:
    """The lines of the file by their first word: (line number, the words behind it)."""

    document: Document
    words: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def numbers(self, key: str) -> list[float | None]:
        """Raises AnalysisError naming line and column."""
        line, texts = self.words.get(key, (0, []))
        return [number_at(self.document, text, line, column) for column, text in enumerate(texts, start=2)]

    def texts(self, key: str) -> list[str]:
        return self.words.get(key, (0, []))[1]


def recognises(document: Document) -> bool:
    """True if a line begins with one of its own words."""
    return _MARK.search(document.head) is not None


def read(document: Document, options: ReadOptions) -> Reading:
    """Roofs as witnesses, points as kernels. Raises AnalysisError naming line and column."""
    lines = _lines(document)
    collected = Collected("nersc", document.name, findings=list(document.findings))
    collected.witnesses = [*_bandwidths(lines), *_rates(lines, options)]
    labels, rates = lines.texts("labels"), lines.numbers("FLOPS")
    intensities = {key.removeprefix("AI_"): lines.numbers(key) for key in lines.words if key.startswith("AI_")}
    for level, values in intensities.items():
        if len(values) != len(rates):
            raise document.error(f"AI_{level} has {len(values)} values and FLOPS {len(rates)}.", lines.words[f"AI_{level}"][0])
    for index, rate in enumerate(rates):
        name = labels[index] if index < len(labels) else f"point {index + 1}"
        origin = Origin(document.name, lines.words["FLOPS"][0])
        if not rate:
            collected.skipped.append(Skipped(name, "its FLOPS is missing or 0", origin))
            continue
        collected.points.append(_point(name, rate, {level: values[index] for level, values in intensities.items()}, origin, options))
    if not collected.points and not collected.witnesses and not collected.skipped:
        raise AnalysisError(f"{document.name}: neither roofs nor points found.")
    return collected.reading()


def _lines(document: Document) -> _Lines:
    lines = _Lines(document)
    for number, line in document.lines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise document.error(f"a quote is opened and not closed ({error}).", number) from error
        if words:
            lines.words[words[0]] = (number, words[1:])
    return lines


def _bandwidths(lines: _Lines) -> list[Witness]:
    names, line = lines.texts("mem_roof_names"), lines.words.get("memroofs", (0, []))[0]
    found = []
    for index, value in enumerate(lines.numbers("memroofs")):
        name = names[index] if index < len(names) else f"memory roof {index + 1}"
        level = _LEVELS.get(name.split()[0]) if name else None
        reason = None if level else f"'{name}' is no level of ours"
        bandwidth = None if value is None else value * GIGA
        found.append(Witness(name, "bandwidth", bandwidth, Origin(lines.document.name, line), level=level, not_comparable=reason))
    return found


def _rates(lines: _Lines, options: ReadOptions) -> list[Witness]:
    names, line = lines.texts("comp_roof_names"), lines.words.get("comproofs", (0, []))[0]
    found = []
    for index, value in enumerate(lines.numbers("comproofs")):
        name = names[index] if index < len(names) else f"compute roof {index + 1}"
        rate = None if value is None else value * GIGA
        op = "add" if name.lower().startswith("no-fma") else "fma"
        reason = None if options.precision else "its precision is not recorded"
        found.append(
            Witness(
                name,
                "compute",
                rate,
                Origin(lines.document.name, line),
                precision=options.precision or UNKNOWN,
                op=op,
                not_comparable=reason,
            )
        )
    return found


def _point(name: str, gflops: float, intensities: dict[str, float | None], origin: Origin, options: ReadOptions) -> KernelPoint:
    flops = gflops * GIGA
    levels: dict[str, float | None] = {_LEVELS.get(level, level): flops / ai if ai else None for level, ai in intensities.items()}
    missing: Sequence[str] = [f"AI_{level}" for level, ai in intensities.items() if not ai]
    return KernelPoint(
        name=name,
        time_s=1.0,
        flops={options.precision or UNKNOWN: flops},
        bytes=levels,
        origin=origin,
        missing=tuple(missing),
        notes=(_ONE_SECOND,),
    )
