"""ert.fingerprint: what may be compared with what."""

from __future__ import annotations

import pytest
from history_store import a_run, usual

from ert.fingerprint import Change, changes, fingerprint, fingerprint_of, kernel_sources

DEVICE = {"uuid": "GPU-1", "name": "X", "memory_bytes": 2**36, "threads": 132, "is_mig": False, "power_limit_w": 700.0, "ecc": True}
ENVIRONMENT = {"host": "n1", "driver": "550.1", "os": "Linux-6.1", "kernel_sources": "abc"}
CONFIG = {"sha256": "s"}
BASE = fingerprint(DEVICE, ENVIRONMENT, CONFIG)


@pytest.mark.parametrize(
    ("device", "config"),
    [
        ({"uuid": "GPU-2"}, {}),
        ({"name": "Y"}, {}),
        ({"memory_bytes": 2**35}, {}),
        ({"threads": 66}, {}),
        ({"is_mig": True}, {}),
        ({}, {"sha256": "t"}),
        ({"core_to_core_latency_s": [{"latency_s": 1e-7}]}, {}),
    ],
)
def test_another_device_sweep_or_placement_is_another_series(device: dict, config: dict) -> None:
    assert fingerprint(DEVICE | device, ENVIRONMENT, CONFIG | config).series != BASE.series


@pytest.mark.parametrize(
    ("device", "environment", "what"),
    [
        ({}, {"driver": "560.2"}, "driver: 550.1 -> 560.2"),
        ({}, {"kernel_sources": "def"}, "kernel sources: abc -> def"),
        ({}, {"os": "Linux-6.8"}, "operating system: Linux-6.1 -> Linux-6.8"),
        ({"power_limit_w": 500.0}, {}, "power limit (W): 700 -> 500"),
        ({"ecc": False}, {}, "ECC: on -> off"),
    ],
)
def test_other_surroundings_are_the_same_series_and_say_what_changed(device: dict, environment: dict, what: str) -> None:
    found = fingerprint(DEVICE | device, ENVIRONMENT | environment, CONFIG)
    assert found.series == BASE.series
    assert [str(c) for c in changes(BASE.environment, found.environment)] == [what]


def test_what_one_side_does_not_know_is_no_change() -> None:
    without = fingerprint(DEVICE, {"host": "n1"}, CONFIG)
    assert changes(BASE.environment, without.environment) == ()
    assert changes(without.environment, BASE.environment) == ()


def test_cores_on_one_complex_are_one_placement_whatever_the_nanoseconds() -> None:
    near, also_near, far = (
        fingerprint(DEVICE | {"core_to_core_latency_s": [{"cpus": [0, 1], "latency_s": s}]}, ENVIRONMENT, CONFIG)
        for s in (1.5e-8, 2.2e-8, 1e-7)
    )
    assert near.series == also_near.series != far.series
    assert changes(near.device, far.device) == (Change("placement", "one core complex", "across core complexes"),)


def test_a_repeat_belongs_to_the_sweep_it_repeats() -> None:
    whole = a_run(0, usual())
    part = a_run(0, usual(), config={"sha256": "b" * 64, "repeat_of": {"created": whole.created, "sha256": "a" * 64, "ceilings": []}})
    assert fingerprint_of(part).series == fingerprint_of(whole).series


def test_kernel_sources_differ_between_kinds_of_device() -> None:
    assert kernel_sources("cpu") != kernel_sources("cuda")
    assert kernel_sources("cpu") == kernel_sources("cpu")
