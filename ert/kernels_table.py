"""The kernel catalogue as tables for a terminal and as JSON. Nothing here prints; the command line does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.codec import encode
from ert.jsontypes import Json
from ert.kernels import Kernel, Parameter, kernel_folder

# Narrower than this, the list leaves out what one trip does: `ert kernels NAME` shows it.
ROOMY_WIDTH = 150
_WORDS = (
    "lanes: elements of a vector; vector_bytes: its size (CPU: 16, 32 or 64, the widest the machine has; CUDA: 16 or 32 per thread)",
    "pack: elements of a 32-bit GPU register; element_bytes: size of one operand; one multiply-add is 2 FLOPs",
)


def kernels_list(kernels: Sequence[Kernel], width: int) -> RenderableType:
    """One line per kernel; with what one trip declares where there is room."""
    table = _table()
    columns = ["kernel", "device", "measures", "op", "precisions", "levels", "parameters"]
    trip = ["FLOPs per trip", "bytes loaded", "bytes stored"] if width >= ROOMY_WIDTH else []
    for column in (*columns, *trip):
        table.add_column(column, no_wrap=column in ("kernel", "device", "measures", "op"), overflow="fold")
    for kernel in kernels:
        declared = [kernel.trip.get(key, "0") for key in ("flops", "bytes_loaded", "bytes_stored")] if trip else []
        table.add_row(*map(Text, (*_cells(kernel), *declared)))
    hint = "ert kernels NAME: one of them with its parameters, source and facts; ert kernels --verify: all against compiled code"
    return Group(table, Text(), *map(Text, _WORDS if trip else ()), Text(hint))


def _cells(kernel: Kernel) -> tuple[str, ...]:
    op = kernel.op if kernel.path == "vector" else f"{kernel.op} ({kernel.path})"
    names = ", ".join(name.removeprefix("ERT_").lower() for name in kernel.parameters)
    measures = f"{kernel.measures}, experimental" if kernel.experimental else kernel.measures
    return kernel.name, kernel.device_kind, measures, op, " ".join(kernel.precisions), " ".join(kernel.levels) or "registers", names


def kernel_report(kernel: Kernel) -> RenderableType:
    """Everything one kernel file declares, and where that file lies."""
    table = _table(headed=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, text in _facts(kernel).items():
        table.add_row(Text(name), Text(text))
    return Group(Text(f"{kernel.name} ({kernel.device_kind}): {kernel.summary}"), Text(), table, Text(), *map(Text, _WORDS))


def _facts(kernel: Kernel) -> dict[str, str]:
    facts = {
        "measures": f"{kernel.measures}, operation {kernel.op} on the {kernel.path} path",
        "precisions": ", ".join(kernel.precisions),
        "levels": ", ".join(kernel.levels) or "none: it stays in registers",
    }
    facts |= {f"needs ({key})": " or ".join(value.strip("_") for value in values) for key, values in kernel.requires.items()}
    facts |= {name: _parameter(parameter) for name, parameter in kernel.parameters.items()}
    facts |= {"FLOPs per trip": kernel.trip.get("flops", "0"), "bytes loaded": kernel.trip.get("bytes_loaded", "0")}
    facts |= {"bytes stored": kernel.trip.get("bytes_stored", "0")}
    facts |= {f"{word} instructions": count for word, count in kernel.instructions.items()}
    facts["source"] = str(kernel_folder(kernel.device_kind).joinpath(kernel.file_name))
    facts["facts"] = "the comment /*ert at the head of that file; they live nowhere else"
    if kernel.experimental:
        facts["experimental"] = f"swept only if a sweep's file names it: [kernels.{kernel.name}]"
    return facts


def _parameter(parameter: Parameter) -> str:
    values = [f"default {parameter.default}"]
    if len(parameter.values) > 1:
        values.append(f"a sweep tries {', '.join(map(str, parameter.values))}")
    values += [f"{value} only at {', '.join(levels)}" for value, levels in parameter.only.items()]
    return f"{parameter.doc} ({'; '.join(values)})".lstrip()


def kernels_document(kernels: Sequence[Kernel]) -> dict[str, Json]:
    """Every declared fact, for other programs; expressions stay expressions."""
    return {"schema": "ert.kernels", "schema_version": 1, "kernels": [_row(kernel) for kernel in kernels]}


def _row(kernel: Kernel) -> Json:
    row = encode(kernel)
    assert isinstance(row, dict)  # encode of a dataclass
    del row["source"]
    row["sha256"] = kernel.sha256
    row["path_of_source"] = str(kernel_folder(kernel.device_kind).joinpath(kernel.file_name))
    row["parameters"] = [_parameter_row(parameter) for parameter in kernel.parameters.values()]
    return row


def _parameter_row(parameter: Parameter) -> Json:
    only: Mapping[int, tuple[str, ...]] = parameter.only
    return {
        "name": parameter.name,
        "default": parameter.default,
        "values": list(parameter.values),
        "doc": parameter.doc,
        "only": {str(value): list(levels) for value, levels in only.items()},
    }


def _table(*, headed: bool = True) -> Table:
    return Table(box=box.SIMPLE_HEAD if headed else None, show_header=headed, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
