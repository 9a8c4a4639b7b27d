"""Nsight Compute CSV text for tests: the wide raw page and the long details page, every field quoted as ncu does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

IDENTITY = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC")
LONG = ("Section Name", "Metric Name", "Metric Unit", "Metric Value")

TIME = "gpu__time_duration.sum"
DRAM = "dram__bytes.sum"
L2 = "lts__t_bytes.sum"
L1 = "l1tex__t_bytes.sum"
FADD, FMUL, FFMA = (f"sm__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("fadd", "fmul", "ffma"))
DADD, DMUL, DFMA = (f"sm__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("dadd", "dmul", "dfma"))


def quoted(fields: Sequence[object], delimiter: str = ",") -> str:
    return delimiter.join('"' + str(f).replace('"', '""') + '"' for f in fields) + "\n"


def identity(number: int, name: str, cc: str = "8.0") -> list[object]:
    return [number, 4242, "solver", "127.0.0.1", name, 1, 7, "(256, 1, 1)", "(1024, 1, 1)", 0, cc]


def wide(units: Mapping[str, str], launches: Sequence[tuple[str, Sequence[object]]], cc: str = "8.0", delimiter: str = ",") -> str:
    """Header, row of units, one row per (kernel name, values in the order of ``units``)."""
    text = quoted([*IDENTITY, *units], delimiter) + quoted([""] * len(IDENTITY) + list(units.values()), delimiter)
    return text + "".join(quoted([*identity(i, name, cc), *values], delimiter) for i, (name, values) in enumerate(launches))


def long(rows: Sequence[tuple[int, str, str, str, str]], section: str = "Command line profiler metrics") -> str:
    """Header and one row per (ID, kernel name, metric, unit, value)."""
    text = quoted([*IDENTITY, *LONG])
    return text + "".join(quoted([*identity(i, name), section, metric, unit, value]) for i, name, metric, unit, value in rows)
