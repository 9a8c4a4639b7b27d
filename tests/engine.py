"""A sweep of a planted machine, from the configuration to the ceilings, without the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fake_device import FakeDevice

from ert.assemble import Run, assemble
from ert.ceilings import Ceilings
from ert.ceilings.model import Tool
from ert.config import SweepConfig, load_config
from ert.journal import Journal
from ert.kernels import Kernel
from ert.plan import make_plan
from ert.sweep import Sweep

QUICK = load_config("quick")
DEFAULT = load_config("default")
RUN = Run("2026-12-01T02:00:00Z", ("ert", "sweep"), Tool("ert", "test"), {"host": "here", "os": "x", "python": "3", "packages": {}})


class Silent:
    """Progress nobody watches; keeps what was said."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.etas_s: list[float | None] = []
        self.doing: list[str] = []

    def update(self, share: float, eta_s: float | None, doing: str) -> None:
        self.shares.append(share)
        self.etas_s.append(eta_s)
        self.doing.append(doing)


def with_sampling(config: SweepConfig, **changes: object) -> SweepConfig:
    return replace(config, sampling=replace(config.sampling, **changes))


def sweep_of(
    device: FakeDevice, folder: Path, config: SweepConfig = QUICK, kernels: Mapping[str, Kernel] | None = None, name: str = "x"
) -> Sweep:
    return Sweep(device, make_plan(device, config, kernels), config, Journal.create(folder / f"{name}.points.jsonl", {}), Silent())


def measured(device: FakeDevice, folder: Path, config: SweepConfig = QUICK, kernels: Mapping[str, Kernel] | None = None) -> Ceilings:
    plan = make_plan(device, config, kernels)
    states = sweep_of(device, folder, config, kernels).run()
    return assemble(device, config, plan, states, RUN)
