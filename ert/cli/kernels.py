"""``ert kernels``: the catalogue, one kernel, or all of them against compiled code."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

import click

from ert.cli.output import json_option, stdout_console, write_json
from ert.errors import KernelError, UsageError
from ert.files import dump_json
from ert.hostcc import find_compiler
from ert.kernels import DeviceKind, Kernel, load_kernels
from ert.kernels_table import kernel_report, kernels_document, kernels_list
from ert.suggest import nearest
from ert.verify import Progress, Verification, verify_cpu
from ert.verify_cuda import verify_cuda
from ert.verify_table import verification_document, verification_report

_ARCHITECTURE = re.compile("sm_[0-9]+[a-z]?")
_KINDS: tuple[DeviceKind, ...] = ("cpu", "cuda")


@click.command(
    epilog="""\b
Examples:
  ert kernels                               # the catalogue
  ert kernels fma                           # one kernel: parameters, declared work, source
  ert kernels --verify                      # every CPU kernel against its compiled code and NumPy
  ert kernels wgmma --verify --arch sm_90a  # a CUDA kernel; no GPU is needed
"""
)
@click.argument("name", required=False)
@click.option("--kind", type=click.Choice(_KINDS), help="Kernels of this kind of device only.")
@click.option("--verify", is_flag=True, help="Compile every variant and compare what it declares with what it does.")
@click.option("--arch", metavar="SM", help="Verify the CUDA kernels for this architecture, such as sm_90a.")
@json_option
def kernels(name: str | None, kind: DeviceKind | None, verify: bool, arch: str | None, json_path: str | None) -> None:
    """List the kernels: what each measures, and the FLOPs and bytes one trip of its hot loop declares.

    With --verify each is compiled for this machine (or, with --arch, for an NVIDIA architecture), the instructions of its hot loop
    are counted, and on the CPU its results are compared with NumPy. Exit status 1 if one fails.
    """
    if arch and kind == "cpu":
        raise click.UsageError("--arch is for CUDA kernels; leave out --kind cpu.")
    if arch and not _ARCHITECTURE.fullmatch(arch):
        raise click.UsageError(f"--arch {arch}: not an architecture. Write it as sm_90 or sm_90a.")
    found = _select(name, "cuda" if arch else kind)
    done = _verify(found, name, arch) if verify or arch else None
    if json_path:
        write_json(dump_json(kernels_document(found) | ({"verification": verification_document(done)} if done else {})), json_path)
    if json_path != "-":
        _print(found, name, done)
    if done and done.failed:
        labels = ", ".join(v.label for v in done.failed[:5])
        raise KernelError(f"{len(done.failed)} of {len(done.variants)} kernel variants failed: {labels}. A sweep refuses them, too.")


def _print(found: Sequence[Kernel], name: str | None, done: Verification | None) -> None:
    console = stdout_console()
    if done:
        console.print(verification_report(done))
    elif name:
        console.print(*(kernel_report(kernel) for kernel in found), sep="\n\n")
    else:
        console.print(kernels_list(found, console.width))


def _select(name: str | None, kind: DeviceKind | None) -> list[Kernel]:
    """The kernels of this name (a CPU and a CUDA kernel may share one) and kind. Raises UsageError naming the nearest."""
    every = [kernel for k in _KINDS if kind in (None, k) for kernel in load_kernels(k).values()]
    found = [kernel for kernel in every if name in (None, kernel.name)]
    if not found:
        names = list(dict.fromkeys(kernel.name for kernel in every))
        where = f" for --kind {kind}" if kind else ""
        raise UsageError(f"kernel '{name}' is unknown{where}.{nearest(name or '', names)} Known: {', '.join(names)}.")
    return found


def _verify(found: Sequence[Kernel], name: str | None, arch: str | None) -> Verification:
    if arch:
        return _with_progress(lambda progress: verify_cuda(found, arch, progress))
    on_cpu = [kernel for kernel in found if kernel.device_kind == "cpu"]
    if not on_cpu:
        raise UsageError(f"{name or '--kind cuda'}: CUDA kernels are verified for one architecture: add --arch, such as --arch sm_90a.")
    if len(on_cpu) < len(found):
        click.echo("CPU kernels only; --arch sm_90a verifies the CUDA kernels, without a GPU.", err=True)
    return _with_progress(lambda progress: verify_cpu(on_cpu, find_compiler(), progress))


def _with_progress(verify: Callable[[Progress], Verification]) -> Verification:
    """One line rewritten on a terminal; elsewhere nothing: the table says it all."""

    def draw(text: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)

    try:
        return verify(lambda label: draw(f"verifying {label}"))
    finally:
        draw("")
