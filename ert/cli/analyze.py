"""``ert analyze``: F, D and t by hand, or an operation before it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
from click.core import ParameterSource

from ert.analyze import Analysis, analyze_ideals, analyze_point, to_dict
from ert.analyze_table import analysis_report
from ert.cli.output import json_option, stdout_console, write_json
from ert.cli.types import Quantity
from ert.cli.words import as_usage
from ert.files import dump_json
from ert.levels import LEVELS
from ert.models import MODELS, SIZE_NAMES, Sizes, ideals, option
from ert.points.ceilings import load_ceilings
from ert.points.model import work_key
from ert.precisions import PRECISIONS

# size -> what it is, and the operations it is that of
_SIZES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "size": (("Elements of a vector", ("axpy", "vecadd")),),
    "m": (("Rows of A and C", ("gemm",)), ("tokens", ("linear",))),
    "n": (("Columns of B and C", ("gemm",)), ("features out", ("linear",))),
    "k": (("Columns of A, rows of B", ("gemm",)), ("features in", ("linear",))),
    "batch": (("Images, sequences or products at once", ("gemm", "linear", "conv2d", "attention")),),
    "channels": (("Channels of the input", ("conv2d",)),),
    "height": (("Rows of the input", ("conv2d",)),),
    "width": (("Columns of the input", ("conv2d",)),),
    "filters": (("Channels of the output", ("conv2d",)),),
    "kernel_size": (("Edge of a filter", ("conv2d",)),),
    "stride": (("Step of the filter", ("conv2d",)),),
    "padding": (("Zeros around the input", ("conv2d",)),),
    "heads": (("Heads of Q", ("attention",)),),
    "kv_heads": (("Heads of K and V", ("attention",)),),
    "length": (("Tokens of a sequence", ("attention",)),),
    "head_dim": (("Features of a head", ("attention",)),),
    "causal": (("Only earlier tokens are attended to", ("attention",)),),
}
# The options of one point by hand, which --op answers itself.
_BY_HAND = {"flops": "--flops", "moved": "--bytes", "path": "--path", "level": "--level"}
_DEFAULTS = {"padding": "half the filter", "kv_heads": "--heads"}
# Products of these stay far inside the range of a float.
_LARGEST_SIZE = 10**12
_EXAMPLE = """\b
Examples:
  ert analyze results/cpu/20261201T020000Z.json --flops 10G --bytes 1GB --time 2ms
  ert analyze results/cpu/20261201T020000Z.json --op gemm --m 128 --n 4096 --k 4096 --dtype fp64
  ert analyze results/cpu/20261201T020000Z.json --op conv2d --channels 64 --height 56 --width 56 --filters 64
"""


def size_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option per size that a model may use."""
    for name in reversed(SIZE_NAMES):
        default = Sizes.__dataclass_fields__[name].default
        text = _size_help(name)
        if name == "causal":
            command = click.option("--causal", is_flag=True, help=text)(command)
        else:
            whole = click.IntRange(0 if name == "padding" else 1, _LARGEST_SIZE)
            shown = isinstance(default, int)
            command = click.option(option(name), name, type=whole, default=default, show_default=shown, metavar="N", help=text)(command)
    return command


def _size_help(name: str) -> str:
    uses = "; ".join(f"{what} ({', '.join(operations)})" for what, operations in _SIZES[name])
    return f"{uses}." + (f"  [default: {_DEFAULTS[name]}]" if name in _DEFAULTS else "")


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
    _refuse_unused(given["op"])
    if given["op"]:
        with as_usage():
            wanted = ideals(given["op"], Sizes(**{name: given[name] for name in SIZE_NAMES}), given["precision"])
        return analyze_ideals(load_ceilings(path), wanted, time_s)
    if given["flops"] is None or not given["moved"]:
        raise click.UsageError("give --flops and --bytes, or --op with its sizes.")
    flops, levels = given["flops"][1], _by_level(given["moved"], given["level"])
    if not flops and not any(levels.values()):
        raise click.UsageError("--flops 0 and --bytes 0 are no work: give FLOPs, or bytes of a level.")
    return analyze_point(load_ceilings(path), flops, levels, work_key(given["precision"], given["path"]), time_s)


def _refuse_unused(op: str | None) -> None:
    """An option that says nothing about what is asked would look as if it had been heard. Raises click.UsageError."""
    context = click.get_current_context()
    words = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if op and (by_hand := [name for name in words if name in _BY_HAND]):
        raise click.UsageError(f"--op states FLOPs and bytes itself, on every level and path: leave out {_options(by_hand)}.")
    if strange := [name for name in words if name in _SIZES and op not in _operations(name)]:
        uses = ", ".join(dict.fromkeys(each for name in strange for each in _operations(name)))
        raise click.UsageError(f"{_options(strange)}: {f'{op} has no such size' if op else 'for --op'} ({uses}). Leave it out.")


def _operations(size: str) -> list[str]:
    return [operation for _, operations in _SIZES[size] for operation in operations]


def _options(names: Iterable[str]) -> str:
    return " and ".join(_BY_HAND.get(name, option(name)) for name in names)


def _by_level(moved: Sequence[tuple[str, float]], default: str) -> dict[str, float]:
    """Level -> bytes. Raises click.UsageError for a level that is given twice."""
    levels: dict[str, float] = {}
    for level, amount in moved:
        if (level or default) in levels:
            plain = "" if level else " (--level, for a --bytes without one)"
            raise click.UsageError(f"--bytes: {level or default}{plain} is given twice. One number of bytes for each level.")
        levels[level or default] = amount
    if default not in levels and click.get_current_context().get_parameter_source("level") is ParameterSource.COMMANDLINE:
        raise click.UsageError(f"--level {default} is for a --bytes without a level, and every one has its own. Leave it out.")
    return levels
