"""``ert sweep``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ert.ceilings.file import ceilings_to_json, to_dict
from ert.cli.device_option import device_id_of
from ert.cli.output import json_option, say_warnings, stdout_console, write_json
from ert.cli.types import DeviceId
from ert.config import SweepConfig, read_config, restrict
from ert.devices import Options, every_device
from ert.errors import ErtError, LostError
from ert.files import dump_json
from ert.progress import StderrProgress
from ert.ranks import local_rank
from ert.runner import Interrupted, Request, Written, resume_sweep, run_sweep
from ert.tables import ceilings_report

# --device all
ALL = "all"


@click.command(
    epilog="""\b
Examples:
  ert sweep                               # the first usable device, about half a minute
  ert sweep --device cpu --config quick   # the host CPU, about ten seconds
  ert sweep --device all --json all.json  # every GPU, one after the other
  mpirun -n 4 ert sweep                   # four GPUs side by side, one by each process
  ert sweep --level DRAM --precision fp64 --threads 1
  ert sweep --resume results/cpu/20261201T020000Z.points.jsonl
"""
)
@click.option(
    "--device",
    "device",
    type=DeviceId(ALL),
    metavar="D",
    help="cpu, cuda:0 (short: 0), a GPU's UUID, or all.  [default: the first usable one]",
)
@click.option("--config", "config", default="default", show_default=True, metavar="NAME|FILE", help="quick, default, full, or a TOML file.")
@click.option("--precision", "precisions", multiple=True, metavar="P", help="Only this precision; may be given several times.")
@click.option("--level", "levels", multiple=True, metavar="L", help="Only this memory level; may be given several times.")
@click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads, one pinned to each core.  [default: all usable cores]"
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Folder for DIR/<device>/<UTC time>.json and .png.",
)
@click.option("--resume", type=click.Path(path_type=Path), metavar="FILE", help="Go on with an interrupted sweep's .points.jsonl.")
@json_option
@click.option("--no-plot", is_flag=True, help="Do not draw the picture.")
def sweep(
    *,
    device: str | None,
    config: str,
    precisions: tuple[str, ...],
    levels: tuple[str, ...],
    threads: int | None,
    out: Path,
    resume: Path | None,
    json_path: str | None,
    no_plot: bool,
) -> None:
    """Measure a device: bandwidth of every memory level, rate of every precision, and the roof between them.

    Writes DIR/<device>/<UTC time>.json and a picture beside it, and prints the table of ceilings.

    With --device all every GPU is measured, one after the other, each into files of its own (the CPU, where there is no GPU), and
    --json writes a list of what the files hold. A device that fails costs only its own file; the exit code is then 1.

    Under srun or mpirun each process without --device measures a device of its own.
    """
    if device == ALL:
        _refuse_with_all(resume)
    whole, findings = read_config(config)
    resolved = restrict(whole, precisions=precisions, levels=levels)
    say_warnings(findings)
    outputs = _Outputs(out, resume, json_path, no_plot=no_plot)
    if device == ALL:
        _sweep_all([_request(each.id, resolved, threads) for each in every_device()], outputs)
    else:
        written = _sweep(_request(device_id_of(device), resolved, threads), outputs)
        if json_path:
            write_json(ceilings_to_json(written.ceilings), json_path)
        _draw(written, outputs)
        if written.lost:
            raise LostError(_how_to_go_on(written))


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Where results go, and the journal to go on with."""

    folder: Path
    resume: Path | None
    json_path: str | None
    no_plot: bool


def _refuse_with_all(resume: Path | None) -> None:
    """What one process that measures every device cannot do. Raises UsageError."""
    if resume:
        raise click.UsageError("--resume goes on with the sweep of one device: name it with --device.")
    rank = local_rank(os.environ)
    if rank and rank.local:
        raise click.UsageError(
            f"{rank.source}={rank.local}: --device all is for one process. Leave --device out, and each one measures a device of its own."
        )


def _request(device_id: str, config: SweepConfig, threads: int | None) -> Request:
    return Request(device_id, config, Options(threads=threads), ["ert", *sys.argv[1:]])


def _sweep_all(requests: Sequence[Request], outputs: _Outputs) -> None:
    """One device after the other; what goes wrong with one is said, and the next one has its turn. Exits with 1 in the end."""
    found: list[Written] = []
    for request in requests:
        try:
            found.append(_sweep(request, outputs))
        except ErtError as error:
            _say(f"Error: {request.device_id} was not measured. {error}")
    if outputs.json_path and found:
        write_json(dump_json([to_dict(each.ceilings) for each in found]), outputs.json_path)
    for each in found:
        _draw(each, outputs)
        if each.lost:
            _say(f"Error: {_how_to_go_on(each)}")
    if len(found) < len(requests) or any(each.lost for each in found):
        raise click.exceptions.Exit(1)


def _sweep(request: Request, outputs: _Outputs) -> Written:
    """Measure and print one device. Pictures come last: no number waits for one that cannot be drawn."""
    written = _run(request, outputs.folder, outputs.resume)
    _say(f"wrote {written.path}")
    if outputs.json_path != "-":
        console = stdout_console()
        console.print(ceilings_report(written.ceilings, console.width))
    return written


def _run(request: Request, out: Path, resume: Path | None) -> Written:
    progress = StderrProgress(f"sweep {request.config.name} on {request.device_id}")
    try:
        return resume_sweep(request, resume, progress) if resume else run_sweep(request, out, progress)
    except Interrupted as stopped:
        progress.finish()
        command = f"ert sweep --device {request.device_id} --resume {stopped.journal}"
        _say(f"Interrupted. What was measured is kept; go on with: {command} and the same options.")
        raise click.exceptions.Exit(128 + stopped.signal_number) from stopped
    finally:
        progress.finish()


def _how_to_go_on(written: Written) -> str:
    """Where the device was lost on the way."""
    command = f"ert sweep --device {written.ceilings.device['id']} --resume {written.journal}"
    return f"{written.lost} {written.path} holds what was measured; the rest: {command} and the same options."


def _draw(written: Written, outputs: _Outputs) -> None:
    if outputs.no_plot:
        return
    from ert.plot import save_roofline  # noqa: PLC0415  (matplotlib takes half a second that --no-plot saves)

    picture = written.path.with_suffix(".png")
    save_roofline(written.ceilings, picture)
    _say(f"drew {picture}")


def _say(text: str) -> None:
    click.echo(text, err=True)
