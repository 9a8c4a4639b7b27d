"""Fill a store with made-up nights of 24 GPUs of one kind, to try `ert history` and `ert diff` on: python examples/nights.py STORE

GPU-5c21 loses 4 % of its DRAM bandwidth in the last three nights; GPU-c287 has had 5 % less of its tensor rate from the first night on.
The nights are the same each time.
"""

from __future__ import annotations

import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

from ert.ceilings import Ceilings
from ert.ceilings.kinds import BandwidthCeiling, ComputeCeiling
from ert.ceilings.model import Tool
from ert.store import add_run

FIRST, NIGHTS, GPUS, PER_HOST = datetime(2026, 11, 1, 2), 17, 24, 8
# byte/s and flop/s
LEVELS = {"L2": 9.6e12, "DRAM": 4.38e12}
RATES = {("fp64", "vector"): 33.4e12, ("bf16", "tensor"): 810e12}
NOISE, HALF_INTERVAL = 0.003, 0.002


def main(store: Path) -> None:
    """Write every night of every GPU."""
    noise = random.Random(4)
    for gpu in range(GPUS):
        for night in range(NIGHTS):
            add_run(store, _run(gpu, night, noise))


def _run(gpu: int, night: int, noise: random.Random) -> Ceilings:
    device = {"id": f"cuda:{gpu % PER_HOST}", "kind": "cuda", "vendor": "Example", "name": "Example GPU", "uuid": _uuid(gpu)}
    return Ceilings(
        created=f"{FIRST + timedelta(days=night):%Y-%m-%dT%H:%M:%SZ}",
        tool=Tool("ert", "0.1.0"),
        argv=("ert", "nightly"),
        device=device,
        environment={"host": f"node{gpu // PER_HOST + 1}", "driver": "580.95"},
        config={"name": "default", "sha256": "0" * 64},
        bandwidth_ceilings=tuple(_level(name, value * _share(gpu, night, name, noise)) for name, value in LEVELS.items()),
        compute_ceilings=tuple(_rate(*key, value * _share(gpu, night, key[1], noise)) for key, value in RATES.items()),
        roofs=(),
        points=(),
    )


def _uuid(gpu: int) -> str:
    """Spread over the numbers of four digits, the first one being GPU-5c21."""
    return f"GPU-{(0x5C21 + 0x1111 * gpu) % 0x10000:04x}"


def _share(gpu: int, night: int, what: str, noise: random.Random) -> float:
    """Of the usual value: noise, the loss of the first GPU, the weakness of the seventh."""
    is_lost = gpu == 0 and what == "DRAM" and night >= NIGHTS - 3
    is_weak = gpu == 6 and what == "tensor"
    return (1 + noise.gauss(0, NOISE)) * (0.96 if is_lost else 1) * (0.95 if is_weak else 1)


def _level(level: str, value: float) -> BandwidthCeiling:
    return BandwidthCeiling(level=level, op="read", value=value, ci95=_interval(value), roof=True, kernel="read")


def _rate(precision: str, path: str, value: float) -> ComputeCeiling:
    op = "mma" if path == "tensor" else "fma"
    return ComputeCeiling(precision=precision, path=path, op=op, value=value, ci95=_interval(value), roof=True, kernel=op)


def _interval(value: float) -> tuple[float, float]:
    return value * (1 - HALF_INTERVAL), value * (1 + HALF_INTERVAL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
