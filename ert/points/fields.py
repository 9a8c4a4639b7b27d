"""One row of ert's own points file, CSV or JSON -> a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from ert.errors import AnalysisError
from ert.levels import LEVELS
from ert.points.model import TENSOR_SUFFIX, UNKNOWN, Decimal, KernelPoint, Origin, ReadOptions, Skipped, split_work, work_key
from ert.points.numerals import is_missing, parse_number
from ert.precisions import PRECISIONS
from ert.suggest import nearest

BYTES_COLUMNS = {f"{level.lower()}_bytes": level for level in reversed(LEVELS)}
NO_PRECISION = "none"
_NAMES = ("name", "kernel")
_PLAIN = (*_NAMES, "time_s", "precision", "path", "flops", "launches", "label")
_PATHS = ("vector", "tensor")


class Fields:
    """The cells of one row by column name; ``locate`` puts file, line and column before a message."""

    def __init__(self, cells: Mapping[str, str], origin: Origin, locate: Callable[[str, str], AnalysisError], decimal: Decimal) -> None:
        self._cells = cells
        self.origin = origin
        self.error = locate
        self._decimal = decimal

    def text(self, column: str) -> str | None:
        value = self._cells.get(column, "").strip()
        return value or None

    def number(self, column: str) -> float | None:
        """None where the cell is empty or a profiler's word for missing. Raises AnalysisError for text and for negative numbers."""
        text = self._cells.get(column, "")
        if is_missing(text):
            return None
        try:
            value = parse_number(text, self._decimal)
        except ValueError as error:
            raise self.error(column, f"{error}. Plain SI numbers are expected: seconds, FLOPs, bytes") from error
        if value < 0:
            raise self.error(column, f"{text} is negative")
        return value

    @property
    def columns(self) -> list[str]:
        return list(self._cells)

    def has(self, column: str) -> bool:
        return column in self._cells


def flops_columns(columns: list[str]) -> dict[str, str]:
    """Column -> work key for ``flops_<precision>[_tensor]``."""
    return {
        c: c.removeprefix("flops_") for c in columns if c.startswith("flops_") and split_work(c.removeprefix("flops_"))[0] in PRECISIONS
    }


def unknown_columns(columns: list[str]) -> list[tuple[str, str | None]]:
    """(column, the nearest one that exists) for columns this format does not have."""
    known = [*_PLAIN, *BYTES_COLUMNS, *(f"flops_{p}" for p in PRECISIONS), *(f"flops_{p}{TENSOR_SUFFIX}" for p in PRECISIONS)]
    return [(c, next(iter(get_close_matches(c, known, n=1, cutoff=0.7)), None)) for c in columns if c not in known]


def is_points_header(columns: list[str]) -> bool:
    """True if these are columns of a points file: a name, a time, and something that was counted."""
    counted = [c for c in columns if c == "flops" or c in BYTES_COLUMNS] + list(flops_columns(columns))
    return any(n in columns for n in _NAMES) and "time_s" in columns and bool(counted)


def to_point(fields: Fields, options: ReadOptions) -> KernelPoint | Skipped:
    """Raises AnalysisError with file, line and column for what is not a number, a precision or a path."""
    name = next((n for column in _NAMES if (n := fields.text(column))), None)
    if name is None:
        raise fields.error("name", "a kernel needs a name")
    launches = _launches(fields)
    time_s, flops = fields.number("time_s"), _flops(fields, options)
    levels = {level: fields.number(column) for column, level in BYTES_COLUMNS.items() if fields.has(column)}
    if not time_s:
        reason = "time_s is missing" if time_s is None else "time_s is 0: shorter than the timer resolves"
        return Skipped(name, reason, fields.origin, launches)
    missing = [f"{level} bytes" for level, value in levels.items() if value is None]
    missing += ["FLOPs"] if flops is None else [f"{key} FLOPs" for key, value in flops.items() if value is None]
    return KernelPoint(
        name=name,
        time_s=time_s,
        flops=flops,
        bytes=levels,
        origin=fields.origin,
        launches=launches,
        label=fields.text("label"),
        missing=tuple(missing),
    )


def _launches(fields: Fields) -> int:
    value = fields.number("launches")
    if value is None:
        return 1
    if value < 1 or value != int(value):
        raise fields.error("launches", f"{value:g} is not a whole number of launches")
    return int(value)


def _flops(fields: Fields, options: ReadOptions) -> dict[str, float | None] | None:
    """Work key -> FLOPs without the zeros; None if no column counts FLOPs."""
    columns = flops_columns(fields.columns)
    parts = {key: fields.number(column) for column, key in columns.items()}
    if fields.has("flops"):
        value, key = fields.number("flops"), _key(fields, options)
        if value and key == NO_PRECISION:
            raise fields.error("precision", f"'{NO_PRECISION}' is for kernels without FLOPs, and this one has {value:g}")
        parts[key] = value
    if not parts:
        return None
    return {key: value for key, value in parts.items() if value is None or value > 0}


def _key(fields: Fields, options: ReadOptions) -> str:
    precision, path = fields.text("precision"), fields.text("path") or "vector"
    if precision is None:
        return options.precision or UNKNOWN
    if path not in _PATHS:
        raise fields.error("path", f"'{path}' is unknown. Known: {', '.join(_PATHS)}")
    precision, stated = split_work(precision)
    if precision not in PRECISIONS and precision != NO_PRECISION:
        known = [*PRECISIONS, NO_PRECISION]
        raise fields.error("precision", f"'{precision}' is unknown.{nearest(precision, known)} Known: {', '.join(known)}")
    return work_key(precision, "tensor" if "tensor" in (path, stated) else "vector")
