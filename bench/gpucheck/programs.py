"""Other programs, each with a limit of time; what they say goes into one log, which outlives whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ert.cuda_parts import library_folders
from ert.hostcc import cache_folder

# A sweep that is interrupted closes its files; what hangs in the driver is killed.
GRACE_S = 8.0


@dataclass(frozen=True, slots=True)
class Done:
    """``status`` None: it was not done in time, and was ended; ``complaint``: the last line on stderr, which says what was wrong."""

    status: int | None
    stdout: str
    time_s: float
    complaint: str = ""

    def how_it_ended(self, limit_s: float) -> str:
        """Of a program that did not end well."""
        if self.status is None:
            return f"was not done after {limit_s:.0f} s and was ended"
        return f"ended with status {self.status}: {self.complaint or 'nothing was said'}"


class Programs:
    """Runs programs that share a log and an environment in which driver and toolkit are found."""

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._path = log
        self._log: BinaryIO = log.open("ab")
        self._environment = environment(os.environ)

    def run(self, command: Sequence[str], limit_s: float) -> Done:
        """What it printed and how it ended; its errors go to the log. Raises OSError if there is no such program.

        Whatever ends the wait, a signal too, ends the program.
        """
        self.note(f"$ {' '.join(command)}")
        begun_at, start_s = self._path.stat().st_size, time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True, env=self._environment)
        try:
            stdout, _ = process.communicate(timeout=limit_s)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            stdout, status = _end(process), None
        except BaseException:
            _end(process)
            raise
        time_s, said = time.monotonic() - start_s, self._path.read_bytes()[begun_at:].decode(errors="replace").split("\n")
        self.note(f"{stdout}[{time_s:.1f} s, {'ended for time' if status is None else f'status {status}'}]")
        return Done(status, stdout, time_s, next((line.strip() for line in reversed(said) if line.strip()), ""))

    def look(self, command: Sequence[str], limit_s: float) -> None:
        """Only for the log: what a program of the machine says, if it is there and there is time."""
        if not limit_s:
            return
        try:
            self.run(command, limit_s)
        except OSError as error:
            self.note(f"{command[0]}: {error.strerror}")

    def note(self, text: str) -> None:
        """A line of one's own in the log."""
        self._log.write(f"{text}\n".encode(errors="replace"))
        self._log.flush()


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """That of this process, in which also those libraries of driver and toolkit are found that no configuration of the loader names."""
    folders = [*filter(None, given.get("LD_LIBRARY_PATH", "").split(os.pathsep)), *map(str, library_folders())]
    # Where no cache can be kept this one is gone with this process; without it each program would compile all kernels again.
    return {**given, "LD_LIBRARY_PATH": os.pathsep.join(folders), "ERT_CACHE_DIR": str(cache_folder()[0])}


def _end(process: subprocess.Popen[str]) -> str:
    """Ask it to stop, then make it; what it had printed."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]
