"""The options of every command that reads application measurements."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ert.points.formats import AUTO, FORMATS
from ert.points.model import TENSOR_SUFFIX, ReadOptions
from ert.precisions import PRECISIONS

_WORK_KEYS = [key for p in PRECISIONS for key in (p, f"{p}{TENSOR_SUFFIX}")]
_PRECISION = f"Precision of files that do not record one: {', '.join(PRECISIONS)}."
_FORMATS = [AUTO, *FORMATS]
_FORMAT = f"Format of POINTS: {', '.join(_FORMATS)}."

# Also for a file of another tool that stands for ceilings.
precision_option = click.option("--precision", type=click.Choice(_WORK_KEYS), metavar="P[_tensor]", help=_PRECISION)
device_option = click.option("--device", metavar="ID", help="Device of a file that holds several.")


def points_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--format`` as ``format_name``; --decimal, --precision, --device and --per-launch as ``options``."""

    @click.option("--format", "format_name", type=click.Choice(_FORMATS), default=AUTO, show_default=True, metavar="FORMAT", help=_FORMAT)
    @click.option("--decimal", type=click.Choice(["point", "comma"]), help="Decimal sign of POINTS, where the file does not prove it.")
    @precision_option
    @device_option
    @click.option("--per-launch", is_flag=True, help="Judge every launch by itself instead of all launches of one name together.")
    @wraps(command)
    def with_options(*arguments: Any, decimal: Any, precision: Any, device: Any, per_launch: Any, **others: Any) -> Any:
        given = {"--format": others["format_name"] != AUTO, "--decimal": decimal is not None, "--per-launch": per_launch}
        if not others["points"] and any(given.values()):
            raise click.UsageError(f"{' and '.join(name for name in given if given[name])}: for POINTS, and none is given.")
        return command(*arguments, options=ReadOptions(decimal, per_launch, precision, device), **others)

    return with_options
