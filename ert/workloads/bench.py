"""Which bench runs the workloads of which kind of device: one line each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import cast

from ert.devices import kind_of
from ert.errors import ConfigError
from ert.workloads.experiments import Bench

# kind -> module with ``open_bench(device_id, threads) -> Bench``; imported when it is needed
BENCHES: Mapping[str, str] = {"cpu": "ert.workloads.cpu", "cuda": "ert.workloads.cuda"}


def open_bench(device_id: str, threads: int | None = None) -> Bench:
    """The bench of a device. Raises ConfigError for a kind that has none, DeviceError if the device cannot be had."""
    kind = kind_of(device_id)
    if kind not in BENCHES:
        raise ConfigError(f"--device {device_id}: no workloads for this kind. Known: {', '.join(BENCHES)}.")
    return cast(Bench, importlib.import_module(BENCHES[kind]).open_bench(device_id, threads))
