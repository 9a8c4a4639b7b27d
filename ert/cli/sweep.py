"""``ert sweep``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ert.ceilings import Ceilings, ceilings_to_json
from ert.cli.output import json_option, stdout_console, write_json
from ert.config import load_config, restrict
from ert.devices import Options, canonical_id, choose_device
from ert.progress import StderrProgress
from ert.runner import Interrupted, Request, Written, resume_sweep, run_sweep
from ert.tables import ceilings_report


@click.command(
    epilog="""\b
Examples:
  ert sweep                              the first usable device, about half a minute
  ert sweep --device cpu --config quick  the host CPU, about ten seconds
  ert sweep --level DRAM --precision fp64 --threads 1
  ert sweep --resume results/cpu/20261201T020000Z.points.jsonl
"""
)
@click.option("--device", "device", metavar="D", help="cpu, cuda:0 (0 is short for it) or a GPU's UUID.  [default: the first usable one]")
@click.option("--config", "config", default="default", show_default=True, metavar="NAME|FILE", help="quick, default, full, or a TOML file.")
@click.option("--precision", "precisions", multiple=True, metavar="P", help="Only this precision; may be given several times.")
@click.option("--level", "levels", multiple=True, metavar="L", help="Only this memory level; may be given several times.")
@click.option("--threads", type=int, metavar="N", help="CPU threads, one pinned to each core.  [default: all usable cores]")
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
    """
    resolved = restrict(load_config(config), precisions=precisions, levels=levels)
    written = _run(Request(_device_id(device), resolved, Options(threads=threads), ["ert", *sys.argv[1:]]), out, resume)
    _say(f"wrote {written.path}")
    if not no_plot:
        _draw(written)
    _print(written.ceilings, json_path)


def _print(ceilings: Ceilings, json_path: str | None) -> None:
    if json_path:
        write_json(ceilings_to_json(ceilings), json_path)
    if json_path != "-":
        console = stdout_console()
        console.print(ceilings_report(ceilings, console.width))


def _device_id(asked: str | None) -> str:
    if asked is not None:
        return canonical_id(asked)
    chosen = choose_device()
    _say(f"device: {chosen.id} ({chosen.name}), the first usable one; choose another with --device")
    return chosen.id


def _run(request: Request, out: Path, resume: Path | None) -> Written:
    progress = StderrProgress(f"sweep {request.config.name} on {request.device_id}")
    try:
        return resume_sweep(request, resume, progress) if resume else run_sweep(request, out, progress)
    except Interrupted as stopped:
        progress.finish()
        _say(f"Interrupted. What was measured is kept; go on with: ert sweep --resume {stopped.journal} and the same options.")
        raise click.exceptions.Exit(128 + stopped.signal_number) from stopped
    finally:
        progress.finish()


def _draw(written: Written) -> None:
    from ert.plot import save_roofline  # noqa: PLC0415  (matplotlib takes half a second that --no-plot saves)

    picture = written.path.with_suffix(".png")
    save_roofline(written.ceilings, picture)
    _say(f"drew {picture}")


def _say(text: str) -> None:
    click.echo(text, err=True)
