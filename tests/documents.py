"""The files that the examples in README, docs and help name, so that every example runs as it stands."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
EXAMPLES = ROOT / "examples"
# The programs of this environment.
PROGRAMS = Path(sys.executable).parent
# Folders that the examples name and that nobody has.
STORES = ("/var/lib/ert", "/shared/ert")
# An example that measures takes this machine's time: only its words are checked.
MEASURE = {"sweep", "nightly", "run"}
_CEILINGS = ROOT / "tests" / "data" / "ceilings" / "cpu.json"
_NAMES = ("results/cpu/20261201T020000Z.json", "results/cpu/20261202T020000Z.json", "results/cuda-0/20261201T020000Z.json")
_ALSO = ("ceilings.json", "before.json", "after.json", "h200.json", "h100.json", "a100.json")


def fill_store(store: Path) -> Path:
    """A store with the nights of `examples/nights.py`."""
    subprocess.run([sys.executable, str(EXAMPLES / "nights.py"), str(store)], check=True, capture_output=True)
    return store


def prepare(folder: Path) -> Path:
    """Lay out every file that an example names."""
    for name in (*_NAMES, *_ALSO):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_CEILINGS, folder / name)
    shutil.copy(EXAMPLES / "app.csv", folder / "app.csv")
    shutil.copy(EXAMPLES / "h200-caches.json", folder / "device.json")
    shutil.copy(ROOT / "tests" / "data" / "curves" / "gpu-l2-cache-h200.csv", folder / "curve.csv")
    return folder


def environment(**more: str) -> dict[str, str]:
    """The programs of this environment first, at a width of its own."""
    return {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110", **more}


def words(line: str) -> list[str] | None:
    """The words behind ``ert`` in a line of a shell, up to a pipe or redirection; None if it does not call it."""
    parts = shlex.split(line, comments=True)
    if "ert" not in parts:
        return None
    parts = parts[parts.index("ert") + 1 :]
    ends = [parts.index(mark) for mark in ("|", ">", ">>") if mark in parts]
    return parts[: min(ends, default=len(parts))]
