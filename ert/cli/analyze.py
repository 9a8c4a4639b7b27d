"""``ert analyze``: F, D and t by hand, or an operation before it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ert.analyze import Analysis, analyze_ideals, analyze_point, to_dict
from ert.analyze_table import analysis_report
from ert.cli.output import json_option, stdout_console, write_json
from ert.errors import ConfigError
from ert.files import dump_json
from ert.levels import LEVELS
from ert.models import MODELS, SIZE_NAMES, Sizes, ideals, option
from ert.points.ceilings import load_ceilings
from ert.points.model import work_key
from ert.precisions import PRECISIONS
from ert.units import parse_quantity

_HELP = {
    "size": "Elements of a vector (axpy, vecadd).",
    "m": "Rows of A and C (gemm); tokens (linear).",
    "n": "Columns of B and C (gemm); features out (linear).",
    "k": "Columns of A, rows of B (gemm); features in (linear).",
    "batch": "Images, sequences or products at once.",
    "channels": "Channels of the input (conv2d).",
    "height": "Rows of the input (conv2d).",
    "width": "Columns of the input (conv2d).",
    "filters": "Channels of the output (conv2d).",
    "kernel_size": "Edge of a filter (conv2d).",
    "stride": "Step of the filter (conv2d).",
    "padding": "Zeros around the input (conv2d).  [default: half the filter]",
    "heads": "Heads of Q (attention).",
    "kv_heads": "Heads of K and V (attention).  [default: --heads]",
    "length": "Tokens of a sequence (attention).",
    "head_dim": "Features of a head (attention).",
}
_EXAMPLE = """\b
Examples:
  ert analyze results/cpu/20261201T020000Z.json --flops 10G --bytes 1GB --time 2ms
  ert analyze results/cpu/20261201T020000Z.json --op gemm --m 128 --n 4096 --k 4096 --dtype fp64
  ert analyze results/cpu/20261201T020000Z.json --op conv2d --channels 64 --height 56 --width 56 --filters 64
"""


class Quantity(click.ParamType[tuple[str, float]]):
    """A positive number with an optional prefix and unit; LEVEL= before it where ``has_level``."""

    def __init__(self, unit: str, *, has_level: bool = False) -> None:
        self.unit, self.has_level, self.name = unit, has_level, f"{'[LEVEL=]' if has_level else ''}NUMBER[{unit}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """(level or nothing, SI value)."""
        level, _, text = str(value).rpartition("=")
        if level and (not self.has_level or level not in LEVELS):
            self.fail(f"'{level}' is no memory level. Known: {', '.join(LEVELS)}.", param, ctx)
        try:
            number = parse_quantity(text, self.unit)
        except ConfigError as error:
            self.fail(str(error), param, ctx)
        if number < 0 or (number == 0 and self.unit == "s"):
            self.fail(f"{text} must be above 0.", param, ctx)
        return level, number


def size_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option per size that a model may use."""
    for name in reversed(SIZE_NAMES):
        default = Sizes.__dataclass_fields__[name].default
        if name == "causal":
            command = click.option("--causal", is_flag=True, help="Only earlier tokens are attended to (attention).")(command)
        else:
            shown = isinstance(default, int)
            command = click.option(option(name), name, type=int, default=default, show_default=shown, metavar="N", help=_HELP[name])(
                command
            )
    return command


@click.command("analyze", epilog=_EXAMPLE)
@click.argument("ceilings", type=click.Path(), metavar="CEILINGS")
@click.option("--flops", type=Quantity("FLOP"), help="F of the work, such as 1e10 or 10G; 0 for a copy.")
@click.option("--bytes", "moved", type=Quantity("B", has_level=True), multiple=True, help="D at --level, or at another one: L2=4GB.")
@click.option("--time", type=Quantity("s"), help="t of the same work, such as 2ms.")
@click.option(
    "--precision", "--dtype", type=click.Choice(list(PRECISIONS)), default="fp32", show_default=True, help="Precision of the work."
)
@click.option("--path", type=click.Choice(["vector", "tensor"]), default="vector", show_default=True, help="Unit that --flops ran on.")
@click.option("--level", type=click.Choice(list(LEVELS)), default="DRAM", show_default=True, help="Level of a --bytes without one.")
@click.option("--op", type=click.Choice(list(MODELS)), help="F and D of a known operation instead of --flops and --bytes.")
@size_options
@json_option
def analyze(ceilings: str, json_path: str | None, **given: Any) -> None:
    """Place one hand-computed point, or a known operation, under the roofs of the file CEILINGS.

    F are the FLOPs of the work (one FMA is 2), D the bytes it moves at one memory level, t its time. With --op every
    algorithm of the operation is compared by its least traffic and time, before anything is written.
    """
    found = _analysis(ceilings, given)
    if json_path:
        write_json(dump_json(to_dict(found)), json_path)
    if json_path != "-":
        console = stdout_console()
        console.print(analysis_report(found, console.width))


def _analysis(path: str, given: dict[str, Any]) -> Analysis:
    time_s = given["time"][1] if given["time"] else None
    if given["op"]:
        if given["flops"] or given["moved"]:
            raise click.UsageError("--op states FLOPs and bytes itself: leave out --flops and --bytes.")
        sizes = Sizes(**{name: given[name] for name in SIZE_NAMES})
        return analyze_ideals(load_ceilings(path), ideals(given["op"], sizes, given["precision"]), time_s)
    if given["flops"] is None or not given["moved"]:
        raise click.UsageError("give --flops and --bytes, or --op with its sizes.")
    levels = {level or given["level"]: amount for level, amount in given["moved"]}
    key = work_key(given["precision"], given["path"])
    return analyze_point(load_ceilings(path), given["flops"][1], levels, key, time_s)
