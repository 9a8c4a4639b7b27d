"""`make gpu-check`: the first and the last word about a real GPU, in under six minutes and without a network.

Holds the kernels against their compiled code, sweeps, asks cuBLAS and the driver's own copy as witnesses, sweeps at length and once
more, and prints one table of what was expected and what was found. Ceilings files, table and log go to results/: each row is printed,
and on disk, before the next is looked for, and what goes wrong costs its own step. Everything shares one limit of time; a step that no
longer fits is a row that says so. Exit status 1 if a step failed or was not run, 3 if a row falls short.
"""

from __future__ import annotations

import argparse
import datetime
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TypeVar

from gpucheck.expected import SWEEP_TARGET_S
from gpucheck.programs import GRACE_S, Programs
from gpucheck.steps import STEPS, run_apart, run_here
from gpucheck.sweeps import PROGRAM, Asked, Swept, repeat_rows, result_rows, sweep_rows
from gpucheck.table import Row, Table, guarded
from gpucheck.witnesses import GEMM_PRECISIONS

from ert.devices import canonical_id, folder_of
from ert.files import write_remedy

RESULTS = Path(__file__).resolve().parent.parent / "results"
LIMIT_S = 360.0
# Left for ending a step that takes too long, and for the last line.
MARGIN_S = GRACE_S + 2
# For the log alone: what a person asks who wants to know why a number falls short.
LOOKS = (("nvidia-smi",), ("nvidia-smi", "-q"), ("nvcc", "--version"), ("uname", "-a"), (str(PROGRAM), "doctor"))
LOOK_LIMIT_S = 15.0

T = TypeVar("T")


class Stopped(BaseException):
    """Somebody ends the check."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: a step is not begun with less than ``least``, and ended after ``most``."""

    least: float
    most: float


# A device that hangs must leave time for the steps after it.
DEVICE_STEP, CODE_STEP, SHORT_SWEEP, LONG_SWEEP = Times(3, 40), Times(5, 100), Times(15, 200), Times(60, 400)


class Check:
    """One check of one device: its steps, one after the other, within one limit of time."""

    def __init__(self, device_id: str, out: Path, sweeps: tuple[str, str], programs: Programs, end_s: float) -> None:
        self._device_id, self._out, self._sweeps, self._programs, self._end_s = device_id, out, sweeps, programs, end_s

    def rows(self) -> Iterator[Row]:
        """Every row, in the order of the work: what is quick and tells most comes first, for nobody may be able to come back."""
        yield from self._device_step("machine", None)
        for command in LOOKS:
            self._programs.look(command, min(LOOK_LIMIT_S, self._left_s))
        yield from self._device_step("code", None, CODE_STEP)
        short, long = self._sweeps
        first = yield from self._sweep(short, SHORT_SWEEP, SWEEP_TARGET_S)
        for name in ("copy", *(f"gemm-{precision}" for precision in GEMM_PRECISIONS)):
            yield from self._device_step(name, first.path if first else None)
        full = yield from self._sweep(long, LONG_SWEEP)
        again = yield from self._sweep(short, SHORT_SWEEP, SWEEP_TARGET_S, is_again=True)
        if first and again:
            yield from guarded("two sweeps", repeat_rows("two sweeps", first.ceilings, again.ceilings))
        if first and full:
            yield from guarded(
                "two kinds of sweep", repeat_rows(f"{long} after {short}", first.ceilings, full.ceilings, is_judged=not again)
            )

    @property
    def _left_s(self) -> float:
        return max(0.0, self._end_s - time.monotonic() - MARGIN_S)

    def _device_step(self, name: str, ceilings: Path | None, times: Times = DEVICE_STEP) -> Iterator[Row]:
        yield from self._step(STEPS[name][0], times, partial(run_apart, self._programs, name, self._device_id, ceilings))

    def _sweep(
        self, config: str, times: Times, target_s: float | None = None, *, is_again: bool = False
    ) -> Generator[Row, None, Swept | None]:
        asked = Asked(self._device_id, config, self._out, target_s)
        swept = yield from self._step(f"{config} sweep{' again' * is_again}", times, partial(sweep_rows, self._programs, asked))
        if swept and not is_again:
            yield from result_rows(swept.ceilings)
        return swept

    def _step(self, what: str, times: Times, rows: Callable[[float], Generator[Row, None, T]]) -> Generator[Row, None, T | None]:
        """The rows of a step that may take so many seconds, in which errors are rows; one row if there is no time for it."""
        left_s = self._left_s
        if left_s < times.least:
            yield Row(what, "not run: no time left", fate="not run")
            return None
        print(f"... {what}, {left_s:.0f} s left", file=sys.stderr)
        return (yield from guarded(what, rows(min(left_s, times.most))))


def main() -> int:
    """Run, print, write; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="0")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--sweeps", nargs=2, default=("default", "full"), help="the first is run twice, before and after the second")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="seconds for everything  [default: %(default)g]")
    parser.add_argument("--started", type=float, help="when that time began, in seconds since 1970  [default: now]")
    parser.add_argument("--step", choices=STEPS, help="one step alone, its rows as lines of JSON")
    parser.add_argument("--ceilings", type=Path, help="of --step: a ceilings file to compare with")
    chosen = parser.parse_args()
    device_id = canonical_id(chosen.device)
    if chosen.step:
        return run_here(chosen.step, device_id, chosen.ceilings)
    gone_s = max(0.0, time.time() - chosen.started) if chosen.started else 0.0
    end_s = time.monotonic() + chosen.limit_s - gone_s
    stem = chosen.out / folder_of(device_id) / f"gpu-check-{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}"
    try:
        programs = Programs(stem.with_suffix(".log"))
    except OSError as error:
        print(f"Error: {error.filename}: {error.strerror}. {write_remedy(error)}", file=sys.stderr)
        return 1
    return run(Table(stem.with_suffix(".txt")), Check(device_id, chosen.out, tuple(chosen.sweeps), programs, end_s))


def run(table: Table, check: Check) -> int:
    """Fill the table; the exit status. A signal ends the step, and the table says so."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        with kept_awake():
            for row in check.rows():
                table.add(row)
    except Stopped as stopped:
        table.stop(f"stopped by {signal.Signals(stopped.args[0]).name}")
        return 128 + int(stopped.args[0])
    return table.finish()


def stop(number: int, _frame: FrameType | None) -> None:
    """Of a signal: once is enough, for a second one must not keep the first from ending in order."""
    signal.signal(number, signal.SIG_IGN)
    raise Stopped(number)


@contextmanager
def kept_awake() -> Iterator[None]:
    """Without persistence mode a GPU that nobody uses takes seconds to come back; a use of NVML keeps it there between the steps."""
    try:
        import pynvml  # noqa: PLC0415  (without it only time is lost)

        pynvml.nvmlInit()
        held = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    except Exception:  # whatever it is that NVML lacks: the steps say it
        held = []
    yield
    del held


if __name__ == "__main__":
    sys.exit(main())
