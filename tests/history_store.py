"""Stores for tests: many small runs, written without the ceremony of the real writer, or with it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from make_ceilings import make_ceilings
from numpy.typing import NDArray

from ert.ceilings import Ceilings
from ert.ceilings.file import to_dict
from ert.jsontypes import Json
from ert.store import add_run

FIRST = datetime.date(2025, 1, 1)
# Typical of one card: byte/s of two levels, flop/s of two precisions.
BANDWIDTH = {"L2": 5e12, "DRAM": 2e12}
RATES = {("fp64", "vector"): 9.5e12, ("fp16", "tensor"): 2.8e14}
# How long GPU-A of the command line tests has lost bandwidth.
DRAM_LOSS_NIGHTS = 14
NAMES = ("L2 read", "DRAM read", "fp64 vector fma", "fp16 tensor mma")


def night_of(number: int) -> str:
    """Date of a night, 0 is 2025-01-01."""
    return (FIRST + datetime.timedelta(days=number)).isoformat()


def a_run(
    night: int,
    values: Mapping[str, float | None],
    *,
    host: str = "node1",
    uuid: str = "GPU-1111",
    throttled: tuple[str, ...] = (),
    device: Mapping[str, Json] | None = None,
    environment: Mapping[str, Json] | None = None,
    config: Mapping[str, Json] | None = None,
    time: str = "02:00:00",
) -> Ceilings:
    """A run with these ceilings by name; None leaves one out."""
    levels = {name.split()[0]: v for name, v in values.items() if v and name.endswith(" read")}
    rates = {(name.split()[0], name.split()[1]): v for name, v in values.items() if v and not name.endswith(" read")}
    plain = make_ceilings(levels, rates, name="Example GPU")
    flagged = [replace(c, flags=("throttled",) if f"{c.level} {c.op}" in throttled else ()) for c in plain.bandwidth_ceilings]
    computed = [replace(c, flags=("throttled",) if f"{c.precision} {c.path} {c.op}" in throttled else ()) for c in plain.compute_ceilings]
    return replace(
        plain,
        created=f"{night_of(night)}T{time}Z",
        device={**plain.device, "uuid": uuid, **(device or {})},
        environment={"host": host, "driver": "550.1", **(environment or {})},
        config={"name": "default", "sha256": "a" * 64, **(config or {})},
        bandwidth_ceilings=tuple(flagged),
        compute_ceilings=tuple(computed),
    )


def usual(factor: float = 1.0) -> dict[str, float | None]:
    """The ceilings of an ordinary night, all times ``factor``."""
    return {name: value * factor for name, value in zip(NAMES, [*BANDWIDTH.values(), *RATES.values()], strict=True)}


def fill(store: Path, nights: int, *, sigma: float = 0.004, seed: int = 1, first: int = 0, **changes: object) -> None:
    """Ordinary nights of one device."""
    generator = np.random.default_rng(seed)
    for night in range(first, first + nights):
        values = {name: value * float(np.exp(sigma * generator.standard_normal())) for name, value in usual().items() if value}
        add_run(store, a_run(night, values, **changes))  # type: ignore[arg-type]  # the keywords of a_run


def write_fleet(store: Path, log_values: NDArray[np.float64]) -> None:
    """A store of (devices, nights, 4) log ratios to the usual ceilings; two devices to a host, NaN for a night without a run."""
    plain = json.dumps(to_dict(replace(a_run(0, usual()), roofs=())))
    template = plain.replace("%", "%%")
    names = list(usual().values())
    for value in names:
        template = template.replace(f'"value": {value!r}', '"value": %r')
    template = template.replace(f"{FIRST.isoformat()}T", "%sT").replace("GPU-1111", "%s").replace("node1", "%s")
    order = np.argsort([plain.index(f'"value": {value!r}') for value in names])
    values = (np.exp(log_values) * np.array(names, dtype=np.float64))[..., order]
    dates = [night_of(night) for night in range(log_values.shape[1])]
    for device in range(log_values.shape[0]):
        host, uuid = f"node{device // 2:04d}", f"GPU-{device:04d}"
        folder = store / host / uuid
        folder.mkdir(parents=True)
        for date, row in zip(dates, values[device].tolist(), strict=True):
            if row[0] == row[0]:
                (folder / f"{date.replace('-', '')}T020000Z.json").write_text(template % (date, uuid, host, *row))
