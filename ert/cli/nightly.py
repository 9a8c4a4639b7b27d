"""``ert nightly``: measure, store, judge."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ert.cli.output import say_warnings
from ert.cli.store_options import EXIT_ALARM, Outputs, deliver, output_options, rules_option, say_findings, store_option
from ert.cli.types import DeviceId

if TYPE_CHECKING:
    from ert.history_rules import Rules
    from ert.nightly import Night
    from ert.runner import Request


@click.command(
    epilog="""\b
Examples:
  ert nightly --device cpu --store /var/lib/ert
  ert nightly --device cuda:0 --device cuda:1 --store /var/lib/ert --prometheus /var/lib/node_exporter/ert.prom
  srun --ntasks-per-node=8 ert nightly --store /shared/ert --junit 'ert-{host}-{rank}.xml'"""
)
@click.option(
    "--device",
    "devices",
    type=DeviceId(),
    multiple=True,
    metavar="D",
    help="May be given several times.  [default: this rank's, else the first]",
)
@store_option
@click.option("--config", default="default", show_default=True, metavar="NAME|FILE", help="quick, default, full, or a TOML file.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.  [default: all usable cores]")
@click.option("--resume", type=click.Path(path_type=Path), metavar="FILE", help="Go on with a night that was interrupted.")
@rules_option
@output_options
@click.pass_context
def nightly(
    ctx: click.Context,
    /,
    *,
    devices: tuple[str, ...],
    store: Path,
    config: str,
    threads: int | None,
    resume: Path | None,
    rules: Path | None,
    **paths: str | None,
) -> None:
    """Measure a device, add the run to the store DIR, and say of it: fine, look here, or not comparable.

    What looks odd is measured again at once, twice, before anything is said. Exit code 3: a loss that lasts, or drift;
    1: a device that could not be measured (no_data). Under srun or mpirun each process takes a device of its own.
    """
    from ert.cli.device_option import device_id_of  # noqa: PLC0415
    from ert.config import read_config  # noqa: PLC0415
    from ert.devices import Options  # noqa: PLC0415
    from ert.history_rules import load_rules  # noqa: PLC0415
    from ert.nightly import merge  # noqa: PLC0415
    from ert.runner import Request  # noqa: PLC0415

    chosen = [device_id_of(each) for each in devices or (None,)]
    (sweep, findings), limits, options = read_config(config), load_rules(rules), Options(threads=threads)
    say_warnings(findings)
    nights = [_night(store, Request(each, sweep, options, ("ert", *sys.argv[1:])), limits, resume) for each in chosen]
    found = merge(nights)
    say_findings(found.findings)
    deliver(found, Outputs(**{name.removesuffix("_path"): path for name, path in paths.items()}), "+".join(chosen))
    if found.is_alarming:
        ctx.exit(EXIT_ALARM)
    if any(night.error for night in nights):
        ctx.exit(1)


def _night(store: Path, request: Request, rules: Rules, resume: Path | None) -> Night:
    from ert.nightly import run_night  # noqa: PLC0415
    from ert.progress import StderrProgress  # noqa: PLC0415
    from ert.runner import Interrupted  # noqa: PLC0415

    progress = StderrProgress(f"nightly {request.config.name} on {request.device_id}")
    try:
        night = run_night(store, request, rules, progress, resume)
    except Interrupted as stopped:
        progress.finish()
        words = f"ert nightly --store {store} --resume {stopped.journal}"
        click.echo(f"Interrupted. Nothing is in the store yet; go on with: {words} and the same options.", err=True)
        raise click.exceptions.Exit(128 + stopped.signal_number) from stopped
    finally:
        progress.finish()
    _say_night(night.paths, night.error)
    return night


def _say_night(paths: Sequence[Path], error: str | None) -> None:
    for path in paths:
        click.echo(f"wrote {path}", err=True)
    if error:
        click.echo(f"Error: {error}", err=True)
