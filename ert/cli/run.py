"""``ert run``: the two classic experiments on this machine, with their predictions checked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import click

from ert.cli.compare import INCOMPLETE
from ert.cli.device_option import device_id_of
from ert.cli.output import json_option, stdout_console, write_json
from ert.cli.types import DeviceId
from ert.compare import to_dict
from ert.devices import folder_of
from ert.errors import ConfigError
from ert.files import dump_json
from ert.judge_table import comparison_report, summary_lines
from ert.points.ceilings import load_ceilings
from ert.precisions import PRECISIONS
from ert.workloads.bench import open_bench
from ert.workloads.cases import LIBRARY, OWN, WORKLOADS, Failed, Timed, Workload
from ert.workloads.experiments import Bench, Experiment, Wish, evaluate, plan
from ert.workloads.table import prediction_table, predictions_json

_BY = {"own": (OWN,), "library": (LIBRARY,), "both": (OWN, LIBRARY)}
_EXAMPLE = """\b
Examples:
  ert run axpy --device cpu
  ert run gemm --precision fp32 --size 192 --size 1536 --ceilings results/cpu/20261201T020000Z.json
"""


@click.command("run", epilog=_EXAMPLE)
@click.argument("workload", type=click.Choice(WORKLOADS))
@click.option(
    "--device", type=DeviceId(), metavar="D", help="cpu, cuda:0 (0 is short for it) or a GPU's UUID.  [default: the first usable one]"
)
@click.option("--ceilings", type=click.Path(), metavar="FILE", help="The roof to place it on.  [default: the newest in DIR/<device>]")
@click.option(
    "--precision", "precisions", multiple=True, type=click.Choice(list(PRECISIONS)), help="Only this precision; may be given several times."
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Elements of an array, or N of GEMM; may be given several times.",
)
@click.option(
    "--stride",
    "strides",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="AXPY: every Nth element.  [default: 32, 16, 8, 4, 2, 1]",
)
@click.option(
    "--offset",
    "offsets",
    multiple=True,
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="AXPY: arrays begin so far off a line.  [default: one element]",
)
@click.option(
    "--kernel", "by", type=click.Choice(list(_BY)), default="both", show_default=True, help="Own kernels, the BLAS beside them, or both."
)
@click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads, one pinned to each core.  [default: all usable cores]"
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results"), show_default=True, metavar="DIR", help="Folder of the picture."
)
@click.option("--no-plot", is_flag=True, help="Do not draw the picture.")
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    /,
    *,
    workload: Workload,
    device: str | None,
    ceilings: str | None,
    json_path: str | None,
    out: Path,
    no_plot: bool,
    **wished: object,
) -> None:
    """Measure AXPY, vector add or GEMM and place it on the measured roof.

    AXPY is bound by bandwidth: stride 1 must lift it along the slope, and an odd alignment must cost little. GEMM is bound by
    compute once it is large: a larger N and a lower precision must bring it towards the matching flat roof. Each
    prediction is checked against the measurement.

    Exit status: 0 everything was measured; 3 some cases could not be (they are listed).
    """
    device_id, wish = device_id_of(device), _wish(workload, wished)
    folder = out / folder_of(device_id)
    roof = load_ceilings(ceilings or _newest(folder, device_id))
    with open_bench(device_id, cast(int | None, wished["threads"])) as bench:
        found = evaluate(_measured(bench, wish), roof, bench)
    # Numbers first: where the picture cannot be written, they exist nowhere else.
    _print(found, workload, json_path)
    if not no_plot:
        _draw(found, folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{workload}.png")
    ctx.exit(0 if found.comparison.is_complete else INCOMPLETE)


def _wish(workload: Workload, wished: dict[str, object]) -> Wish:
    numbers = {name: cast(tuple[int, ...], wished[name]) for name in ("sizes", "strides", "offsets")}
    if workload != "axpy" and (numbers["strides"] or numbers["offsets"]):
        raise click.UsageError(f"--stride and --offset are for axpy; {workload} has none.")
    return Wish(
        workload,
        precisions=cast(tuple[str, ...], wished["precisions"]),
        sizes=numbers["sizes"],
        strides=numbers["strides"],
        offsets_bytes=numbers["offsets"],
        by=_BY[str(wished["by"])],
    )


def _newest(folder: Path, device_id: str) -> str:
    """The newest ceilings file of a device; their names begin with the time."""
    files = sorted(path for path in folder.glob("*Z*.json") if path.is_file())
    if not files:
        raise ConfigError(
            f"no ceilings of {device_id} in {folder}. Measure them with `ert sweep --device {device_id}`, or say --ceilings FILE."
        )
    return str(files[-1])


def _measured(bench: Bench, wish: Wish) -> list[Timed | Failed]:
    cases = plan(wish, bench)
    answers = []
    for number, answer in enumerate(bench.run(cases), start=1):
        outcome = "failed" if isinstance(answer, Failed) else "measured"
        click.echo(f"{number} of {len(cases)} {outcome}: {answer.case.series}, {answer.case.label}", err=True)
        answers.append(answer)
    return answers


def _draw(found: Experiment, picture: Path) -> None:
    from ert.plot import save_roofline  # noqa: PLC0415  (matplotlib takes half a second that --no-plot saves)

    save_roofline(found.comparison.ceilings, picture, kernels=found.kernels)
    click.echo(f"drew {picture}", err=True)


def _print(found: Experiment, workload: Workload, json_path: str | None) -> None:
    if json_path:
        document = {**to_dict(found.comparison), "workload": workload, "predictions": predictions_json(found.predictions)}
        write_json(dump_json(document), json_path)
    if json_path != "-":
        console = stdout_console()
        console.print(comparison_report(found.comparison, 0, console.width, advised=0))
        if found.predictions:
            console.print(prediction_table(found.predictions))
    for line in summary_lines(found.comparison):
        click.echo(line, err=True)
