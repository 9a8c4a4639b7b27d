"""Which bench runs the workloads of which kind of device: one line each."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from ert.devices import kind_of, lock_name
from ert.errors import ConfigError
from ert.lock import device_lock
from ert.workloads.experiments import Bench

# kind -> module with ``open_bench(device_id, threads) -> Bench``; imported when it is needed
BENCHES: Mapping[str, str] = {"cpu": "ert.workloads.cpu", "cuda": "ert.workloads.cuda"}


@contextmanager
def open_bench(device_id: str, threads: int | None = None) -> Iterator[Bench]:
    """The bench of a device that is nobody else's meanwhile.

    Raises ConfigError for a kind that has none, DeviceError if the device cannot be had or a sweep has it.
    """
    kind = kind_of(device_id)
    if kind not in BENCHES:
        raise ConfigError(f"--device {device_id}: no workloads for this kind. Known: {', '.join(BENCHES)}.")
    with device_lock(lock_name(device_id), device_id):
        bench = cast(Bench, importlib.import_module(BENCHES[kind]).open_bench(device_id, threads))
        try:
            yield bench
        finally:
            bench.close()
