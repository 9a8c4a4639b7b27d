"""ert.measure: repeats by doubling; a kernel that takes no time did not run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.devices.base import Sample
from ert.errors import MeasurementError
from ert.measure import calibrate, visit


class Clockwork:
    """A kernel of ``start_s + repeat_s * repeats`` seconds; notes what was asked."""

    working_set_bytes = None
    flops_per_repeat = 1.0
    bytes_per_repeat = 0.0

    def __init__(self, repeat_s: float, start_s: float = 0.0) -> None:
        self.repeat_s, self.start_s = repeat_s, start_s
        self.asked: list[tuple[int, int]] = []
        self.is_warm = False

    def sample(self, repeats: int, count: int, patience_s: float = 0.0) -> list[Sample]:
        self.asked.append((repeats, count))
        return [Sample(self.start_s + self.repeat_s * repeats) for _ in range(count)]

    def warm_up(self) -> None:
        assert not self.asked
        self.is_warm = True

    def close(self) -> None:
        pass


@given(st.floats(1e-9, 1.0), st.floats(0.0, 1e-5))
def test_a_sample_lasts_the_least_time_and_not_much_longer(repeat_s, start_s):
    kernel = Clockwork(repeat_s, start_s)
    repeats = calibrate(kernel, 1e-4)
    time_s = start_s + repeat_s * repeats
    assert time_s >= 1e-4
    assert repeats == 1 or time_s <= 2.1e-4
    assert len(kernel.asked) < 30


def test_one_repeat_that_is_long_enough_is_enough():
    kernel = Clockwork(0.5)
    assert calibrate(kernel, 1e-4) == 1
    assert kernel.asked == [(1, 2)]


@pytest.mark.parametrize("start_s", [0.0, 5e-6])
def test_a_kernel_whose_time_does_not_grow_with_its_repeats_did_not_run(start_s):
    with pytest.raises(MeasurementError, match=r"repeats took less than 0\.0001 s: the kernel did not run"):
        calibrate(Clockwork(0.0, start_s), 1e-4)


def test_a_visit_warms_up_first_and_takes_its_samples_at_once():
    kernel = Clockwork(1e-5)
    assert [sample.time_s for sample in visit(kernel, 10, 3, 0.0)] == pytest.approx([1e-4] * 3)
    assert kernel.is_warm
    assert kernel.asked == [(10, 3)]


@pytest.mark.parametrize("time_s", [0.0, -1e-6, float("nan")])
def test_a_sample_that_took_no_time_is_an_error_and_no_fast_sample(time_s):
    with pytest.raises(MeasurementError, match="a sample of 10 repeats took"):
        visit(Clockwork(time_s / 10), 10, 3, 0.0)
