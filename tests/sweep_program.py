"""The ``ert sweep`` program as tests run it: the installed one, and the one with a planted machine; a sweep that is over at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FAKE = [sys.executable, str(Path(__file__).with_name("fake_ert.py"))]
# Every point is visited once and done: six samples, whatever the machine does meanwhile.
TINY = """
[budget]
total_s = 60
[sampling]
min_time_s = 2e-5
per_visit = 6
min_samples = 6
max_samples = 6
[curve]
points_per_octave = 1
largest_per_cache = 5
largest_bytes = 67108864
[kernels.fma]
ERT_CHAINS = [10]
[kernels.mixed]
ERT_FLOPS = [1, 64]
[kernels.read]
ERT_STREAMS = [1]
ERT_PREFETCH_BYTES = [0]
"""


def tiny_sweep(folder: Path) -> str:
    """A sweep file in that folder."""
    path = folder / "tiny.toml"
    path.write_text(TINY)
    return str(path)


def start(program: list[str], *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env={**os.environ, **environment}
    )


def run(program: list[str], *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    process = start(program, *arguments, cwd=cwd, **environment)
    stdout, stderr = process.communicate(timeout=120)
    assert "Traceback" not in stderr
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")
