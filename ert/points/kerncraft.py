"""A Kerncraft machine file -> the bandwidths of its benchmarks section, the best over the number of cores.

Quantities are texts with a unit ("80.00 GB/s", sometimes broken over two lines); prefixes are decimal. Bytes are those
of the kernel's streams without write-allocate traffic, as ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import yaml

from ert.errors import ConfigError, SchemaError
from ert.points.document import Document
from ert.points.model import Origin, Reading, ReadOptions, Witness
from ert.units import parse_quantity

_LEVELS = {"L1": "L1", "L2": "L2", "L3": "L3", "MEM": "DRAM"}
_OPS = {"load": "read", "store": "write", "copy": "copy", "update": "update", "triad": "triad"}
Node = None | bool | int | float | str | list["Node"] | dict[object, "Node"] | tuple["Node", "Node"]


def recognises(document: Document) -> bool:
    """True for YAML with Kerncraft's keys."""
    return "memory hierarchy:" in document.head and "FLOPs per cycle" in document.head


def read(document: Document, options: ReadOptions) -> Reading:
    """One witness per level and kernel. Raises SchemaError naming line and column, or the key."""
    benchmarks = _mapping(document, _load(document), "benchmarks")
    measurements = _mapping(document, benchmarks, "measurements")
    kernels = _plain(benchmarks.get("kernels"))
    sizes = {str(name): kernel for name, kernel in kernels.items() if isinstance(kernel, dict)} if isinstance(kernels, dict) else {}
    witnesses = [
        witness for level, by_threads in measurements.items() for witness in _level(document, str(level), _plain(by_threads), sizes)
    ]
    return Reading("kerncraft", document.name, witnesses=tuple(witnesses), findings=document.findings)


def _load(document: Document) -> Node:
    """Safe YAML; !!omap, which real machine files use, becomes a mapping."""
    try:
        return _plain(cast(Node, yaml.safe_load(document.text)))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise SchemaError(f"{document.name}: {place}not valid YAML: {error.problem}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SchemaError(f"{document.name}: not valid YAML: {error}.") from error


def _plain(node: Node) -> Node:
    """PyYAML gives an !!omap as a list of pairs."""
    if not isinstance(node, list):
        return node
    pairs = [item for item in node if isinstance(item, tuple)]
    return dict(pairs) if pairs and len(pairs) == len(node) else node


def _mapping(document: Document, parent: Node, key: str) -> dict[object, Node]:
    child = _plain(parent.get(key)) if isinstance(parent, dict) else None
    if not isinstance(child, dict):
        raise SchemaError(f"{document.name}: '{key}' is not a mapping, as in a Kerncraft machine file with benchmarks.")
    return child


def _level(document: Document, level: str, by_threads: Node, sizes: Mapping[str, Mapping[object, Node]]) -> Iterator[Witness]:
    """The best result of each kernel over all numbers of threads per core and of cores."""
    best: dict[str, float] = {}
    for threads, run in by_threads.items() if isinstance(by_threads, dict) else ():
        where = f"benchmarks.measurements.{level}.{threads}.results"
        results = _plain(run.get("results")) if isinstance(run, dict) else None
        for kernel, values in results.items() if isinstance(results, dict) else ():
            found = [_rate(document, value, f"{where}.{kernel}") for value in (values if isinstance(values, list) else [values])]
            best[str(kernel)] = max([*found, best.get(str(kernel), 0.0)])
    known = _LEVELS.get(level)
    reason = None if known else f"'{level}' is no level of ours"
    for kernel, value in best.items():
        op = _OPS.get(kernel) or _op(sizes.get(kernel, {}))
        yield Witness(
            f"Kerncraft {level} {kernel}", "bandwidth", value or None, Origin(document.name), level=known, op=op, not_comparable=reason
        )


def _rate(document: Document, value: Node, where: str) -> float:
    # A quantity broken over two lines holds the line's indentation.
    text = " ".join(str(value).split())
    try:
        return parse_quantity(text, "B/s")
    except ConfigError as error:
        raise SchemaError(f"{document.name}: {where}: {error}") from error


def _op(kernel: Mapping[object, Node]) -> str | None:
    """What a kernel does, from its streams."""
    streams = [kernel.get(f"{kind} streams") for kind in ("read", "write")]
    reads, writes = (int(str(s.get("streams", 0))) if isinstance(s, dict) else 0 for s in streams)
    return {(1, 0): "read", (0, 1): "write", (1, 1): "copy", (2, 1): "triad"}.get((reads, writes))
