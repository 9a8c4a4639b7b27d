"""ert.fit.points: compute ceilings and corners out of a file's points, against planted machines."""

from __future__ import annotations

import numpy as np
import pytest

from ert.ceilings.point import Point
from ert.fit.points import fit_points


def compute_point(chains: int, rate: float, seed: int, **more: object) -> Point:
    """30 samples at 1 % noise of a kernel that does 1e9 operations a repeat."""
    noise = np.random.default_rng(seed).normal(1, 0.01, 30)
    times = tuple(float(t) for t in 1e9 * 10 / rate * noise)
    return Point(
        id=f"fma/fp64/registers/chains={chains}", kernel="fma", measures="compute", op="fma", precision="fp64", path="vector",
        flops=1e9, repeats=10, samples_s=times, **more,
    )  # fmt: skip


def mixed_point(flops: int, bandwidth: float, peak: float, exponent: float) -> Point:
    """A noiseless point of 1e6 doubles that are loaded and stored."""
    elements = 1e6
    time_s = ((16 * elements / bandwidth) ** exponent + (flops * elements / peak) ** exponent) ** (1 / exponent)
    return Point(
        id=f"mixed/fp64/DRAM/flops={flops}", kernel="mixed", measures="mixed", op="mixed", precision="fp64", path="vector", level="DRAM",
        flops_per_element=flops, flops=flops * elements, bytes=16 * elements, repeats=1, samples_s=(time_s,) * 8,
    )  # fmt: skip


def test_the_fastest_chain_count_is_the_ceiling():
    found = fit_points([compute_point(4, 5e10, 1), compute_point(8, 1e11, 2), compute_point(12, 1e11, 3)])
    ceiling = found.compute["fp64", "vector", "fma"]
    assert ceiling.value_per_s == pytest.approx(1e11, rel=0.01)
    assert ceiling.ci95 is not None
    assert ceiling.ci95[0] < 1e11 < ceiling.ci95[1]


def test_disturbed_samples_make_no_ceiling():
    calm = compute_point(12, 1e11, 1)
    times = (*calm.samples_s, *(2 * t for t in calm.samples_s))
    marks = ((),) * 30 + (("core shared",),) * 30
    disturbed = Point(
        id=calm.id, kernel="fma", measures="compute", op="fma", precision="fp64", path="vector",
        flops=1e9, repeats=10, samples_s=times, throttled=marks,
    )  # fmt: skip
    assert fit_points([disturbed]).compute["fp64", "vector", "fma"].value_per_s == pytest.approx(1e11, rel=0.01)


def test_a_planted_corner_comes_back():
    found = fit_points([mixed_point(2**k, 5e10, 1e11, 3.0) for k in range(11)])
    corner = found.corners["DRAM", "fp64", "vector"]
    assert corner.bandwidth_bytes_per_s == pytest.approx(5e10, rel=1e-3)
    assert corner.rate_flop_per_s == pytest.approx(1e11, rel=1e-3)
    assert corner.exponent == pytest.approx(3.0, rel=1e-2)


def test_points_of_one_side_of_the_ridge_are_a_warning_and_no_corner():
    found = fit_points([mixed_point(2**k, 5e10, 1e11, 3.0) for k in range(8, 11)])
    assert not found.corners
    assert [warning.code for warning in found.warnings] == ["no_corner"]


def test_a_file_without_such_points_has_neither():
    found = fit_points([])
    assert not found.compute
    assert not found.corners
    assert not found.warnings
