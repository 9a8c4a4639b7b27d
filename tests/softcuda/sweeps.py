"""``ert`` run on soft GPUs as a program, and the files it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from softcuda.devices import H200_LIKE, SoftDevice, environment

ERT = Path(sys.executable).with_name("ert")
CONFIGS = Path(__file__).parents[1] / "data" / "cuda"
QUICKLY = ("--config", str(CONFIGS / "small.toml"), "--no-plot")
FEW = ("--config", str(CONFIGS / "few.toml"), "--no-plot", "--precision", "fp32", "--level", "DRAM")
# A second GPU beside the A100-like one.
SECOND = replace(H200_LIKE, uuid="bbbbbbbb-1111-1111-1111-111111111111", pci="0000:b1:00.0")


def ert(devices: Sequence[SoftDevice], *arguments: str, visible: str | None = None, **options: str) -> subprocess.CompletedProcess[str]:
    """A run of the program; ``visible``: CUDA_VISIBLE_DEVICES, ``options``: those of ``environment``."""
    given = environment(devices, **options) | ({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    return subprocess.run([ERT, *arguments], env=given, capture_output=True, text=True, check=False, timeout=300)


def sweep(devices: Sequence[SoftDevice], folder: Path, *arguments: str, device: str = "0", expect: int = 0, **options: str) -> Any:
    """The ceilings file of a sweep that ends with exit code ``expect``, as JSON; a list of them for ``device="all"``."""
    done = ert(devices, "sweep", "--device", device, "--out", str(folder), "--json", "-", *arguments, **options)
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout)
