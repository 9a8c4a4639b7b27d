"""ert.references: the witness itself, against closed forms and hand sums."""

from __future__ import annotations

import numpy as np
import pytest

from ert.references import REFERENCES, Inputs, dot

OPERANDS = np.array([[0.5, 2.0], [1.0, -1.0], [4.0, 8.0], [16.0, 32.0]])
ARRAY = np.arange(1.0, 9.0)


def one(op: str, **given):
    return REFERENCES[op].compute(Inputs(**{"arrays": (ARRAY,), "operands": OPERANDS, **given}))


def test_a_checksum_is_the_exclusive_or_of_all_vectors():
    bits = np.array([1, 2, 4, 8, 16, 32], dtype=np.uint64)
    found = one("read", arrays=(bits.view(np.float64),))
    assert found.result.tolist() == [[1 ^ 4 ^ 16, 2 ^ 8 ^ 32]]


def test_a_checksum_over_two_passes_cancels_and_over_three_is_that_of_one():
    given = Inputs((ARRAY,), OPERANDS)
    once = REFERENCES["read"].passes(given, 1).result.view(np.uint64)
    assert once.any()
    assert not REFERENCES["read"].passes(given, 2).result.view(np.uint64).any()
    assert (REFERENCES["read"].passes(given, 3).result.view(np.uint64) == once).all()


def test_a_write_repeats_the_first_eight_operands():
    operands = np.arange(20.0).reshape(10, 2)
    found = one("write", operands=operands, arrays=(np.zeros(20),))
    assert found.arrays[0].tolist() == [*range(16), 0, 1, 2, 3]


def test_a_copy_a_triad_and_an_update_by_hand():
    assert [a.tolist() for a in one("copy", arrays=(ARRAY, np.zeros(8))).arrays] == [ARRAY.tolist()] * 2
    (_, _, c) = one("triad", arrays=(ARRAY, np.full(8, 10.0), np.zeros(8))).arrays
    assert c.tolist() == [1 + 5, 2 + 20, 3 + 5, 4 + 20, 5 + 5, 6 + 20, 7 + 5, 8 + 20]
    assert one("update").arrays[0].tolist() == [0.5, 4, 1.5, 8, 2.5, 12, 3.5, 16]


def test_two_passes_of_an_update_scale_twice():
    assert REFERENCES["update"].passes(Inputs((ARRAY,), OPERANDS), 2).arrays[0].tolist() == [0.25, 8, 0.75, 16, 1.25, 24, 1.75, 32]


def test_a_mixed_kernel_does_half_as_many_multiply_adds_as_operations():
    # Four operations: twice x = x * 0.5 + 1 on the even elements, twice x = x * 2 - 1 on the odd ones.
    assert one("mixed", flops=4).arrays[0].tolist() == [1.75, 5.0, 2.25, 13.0, 2.75, 21.0, 3.25, 29.0]


def test_a_chain_is_a_geometric_series():
    # x_n = a^n x_0 + b (1 - a^n) / (1 - a)
    steps, (a, b) = 20, (0.5, 1.0)
    found = one("fma", steps=steps, chains=[2])
    assert found.result[0, 0] == pytest.approx(a**steps * 4 + b * (1 - a**steps) / (1 - a), rel=1e-12)
    assert found.result[1, 0] == pytest.approx(a**steps * 16 + b * (1 - a**steps) / (1 - a), rel=1e-12)


def test_multiply_adds_beside_adds_are_equally_many():
    operands = np.array([[1.0], [9.0], [0.0], [0.0], [0.0]])
    found = one("fma+add", operands=operands, steps=6, chains=[1, 2])
    # a = 1: one chain of six x * 1 + 1, and two chains of three adds of 1 each.
    assert found.result.ravel().tolist() == [6.0, 3.0, 3.0]


def test_integers_wrap_as_the_hardware_does():
    operands = np.array([[3], [5], [2**30]], dtype=np.int32)
    found = one("fma", operands=operands, steps=2, chains=[1])
    expected = (2**30 * 9 + 5 * 3 + 5) % 2**32
    assert found.result.view(np.uint32)[0, 0] == expected
    assert found.tolerance == 0.0


def test_half_precision_is_rounded_after_every_step():
    operands = np.array([[1.0], [2.0**-12], [1.0]], dtype=np.float16)
    # Each sum falls back to 1: an addend below half a unit in the last place is lost, however often it is added.
    assert one("fma", operands=operands, steps=512, chains=[1]).result[0, 0] == 1.0


@pytest.mark.parametrize("flops", [1, 2, 64, 1024])
def test_half_precision_agrees_with_numpys_own_arithmetic(flops):
    generator = np.random.default_rng(3)
    operands = generator.uniform(0.99, 1.0, (4, 16)).astype(np.float16)
    array = generator.standard_normal(64).astype(np.float16)
    found = one("mixed", operands=operands, arrays=(array,), flops=flops)
    x = array.reshape(-1, 16).copy()
    for step in range((flops + 1) // 2):
        rows = slice(None, None, 2) if step == flops // 2 else slice(None)
        exact = x[rows].astype(np.float32) * operands[0] + operands[1]
        x[rows] = exact.astype(np.float16)
    assert np.allclose(found.arrays[0].astype(float), x.ravel().astype(float), rtol=5e-3, atol=5e-3)


def test_byte_dot_products_by_hand():
    rows = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [10, 0, 0, 0]], dtype=np.uint8)
    # 10 + 3 * (1*5 + 2*6 + 3*7 + 4*8)
    assert dot(rows, "int8", 3, 1).result.tolist() == [[220]]


def test_short_dot_products_by_hand():
    rows = np.array([[100, 200], [300, 400], [7, 0]], dtype=np.int16).view(np.uint8)
    assert dot(rows, "int16", 2, 1).result.tolist() == [[7 + 2 * (30000 + 80000)]]


def test_bf16_dot_products_by_hand_with_room_for_rounding():
    def bf16(*values: float) -> np.ndarray:
        return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)

    rows = np.stack([bf16(1.5, 2.0), bf16(4.0, -0.5), np.array([0.25], np.float32).view(np.uint8)])
    found = dot(rows, "bf16", 4, 1)
    assert found.result.tolist() == [[0.25 + 4 * (6.0 - 1.0)]]
    assert 0 < found.tolerance < 1e-3
