"""The formats: one line each. A file's content chooses its reader; ``--format`` overrides."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ert.errors import AnalysisError
from ert.points import advisor, babelstream, carm, ert110, kerncraft, likwid, mixbench, ncu, nersc, nvbandwidth, points_json, rocprof, table
from ert.points.document import Document, read_document
from ert.points.model import DEFAULTS, Reading, ReadOptions
from ert.points.plausible import without_impossible

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Format:
    """One reader. ``summary`` is what people call its files."""

    summary: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document, ReadOptions], Reading]


# The order is the order of asking: formats with unmistakable marks before those that only need certain columns.
FORMATS: dict[str, Format] = {
    "ncu": Format("Nsight Compute CSV", ncu.recognises, ncu.read),
    "likwid": Format("likwid-perfctr -O", likwid.recognises, likwid.read),
    "rocprof": Format("rocprof-compute kernels or roofline.csv", rocprof.recognises, rocprof.read),
    "advisor": Format("Intel Advisor roofs or survey", advisor.recognises, advisor.read),
    "ert110": Format("roofline.json of ERT 1.1.0", ert110.recognises, ert110.read),
    "nvbandwidth": Format("nvbandwidth -j", nvbandwidth.recognises, nvbandwidth.read),
    "babelstream": Format("BabelStream", babelstream.recognises, babelstream.read),
    "mixbench": Format("mixbench", mixbench.recognises, mixbench.read),
    "carm": Format("CARM roofline csv", carm.recognises, carm.read),
    "kerncraft": Format("Kerncraft machine file", kerncraft.recognises, kerncraft.read),
    "nersc": Format("NERSC roofline plot input", nersc.recognises, nersc.read),
    "json": Format("ert points JSON", points_json.recognises, points_json.read),
    "csv": Format("ert points CSV", table.recognises, table.read),
}


def recognise(document: Document) -> str | None:
    """The name of the format whose marks this text bears."""
    return next((name for name, f in FORMATS.items() if f.recognises(document)), None)


def read_points(path: str, format_name: str = AUTO, options: ReadOptions = DEFAULTS) -> Reading:
    """Read one file of application measurements or of another tool's ceilings; ``-`` is standard input.

    Raises AnalysisError or SchemaError naming file, line and column; ErtError if the file cannot be read.
    """
    return parse_points(read_document(path), format_name, options)


def parse_points(document: Document, format_name: str = AUTO, options: ReadOptions = DEFAULTS) -> Reading:
    """The same for text that is already at hand."""
    if format_name == AUTO and not document.text.strip():
        raise AnalysisError(f"{document.name}: the file is empty: no ncu CSV found, nor anything else.")
    name = recognise(document) if format_name == AUTO else format_name
    if name not in FORMATS:
        known = "; ".join(f"{key}: {f.summary}" for key, f in FORMATS.items())
        raise AnalysisError(f"{document.name}: none of the known formats is recognised in it. Name one with --format. Known: {known}.")
    with _without_collector():
        return without_impossible(FORMATS[name].read(document, options))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Reading makes objects by the million, none of them in cycles: looking for cycles takes a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
