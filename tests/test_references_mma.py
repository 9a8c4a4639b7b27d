"""The tolerances of the tensor-core references hold for the arithmetic of real tensor cores, and still tell a wrong layout."""

import numpy as np
import pytest

from ert.cuda_launch import Launch, find_difference
from ert.cuda_operands import operand_table
from ert.kernels import load_kernels
from ert.references_cuda import expected
from ert.references_mma import _step_matrices

KERNEL = load_kernels("cuda")["wgmma"]
# Fraction bits that stay when the terms of a sum are aligned to the largest: "FP8 GEMM retains around 14 bits" (DeepSeek-V3 Technical
# Report, section 3.3.2) means 13 behind the point; for the wider formats no less than fp32 has (Fasi et al., PeerJ CS 7:e330, 2021).
FRACTION_BITS = {"fp8": 13, "fp16": 23, "bf16": 23, "tf32": 23}


def launch(precision):
    return Launch(KERNEL, precision, KERNEL.defaults(), 16, 1, 2, 2, operand_table(KERNEL, precision, 1), [])


def exponent(values):
    return np.frexp(values)[1] - 1


def on_tensor_cores(a, b, c, bits):
    """A B^T + C as the hardware adds: every term cut ``bits`` below the largest, then summed."""
    terms = np.concatenate([a[:, None] * b, c[..., None]], axis=2)
    largest = np.maximum((exponent(a)[:, None] + exponent(b)).max(axis=2), exponent(c))
    unit = 2.0 ** (largest - bits)
    return (np.trunc(terms / unit[..., None]) * unit[..., None]).sum(axis=2).astype(np.float32).astype(float)


def results(precision, rows):
    """What a launch leaves behind: register i of thread t in slot 128 i + t."""
    job = launch(precision)
    d = np.zeros((64, 256))
    for a, b in _step_matrices(job, 64, 256) * job.repeats:
        d = on_tensor_cores(a, b, d, FRACTION_BITS[precision])
    thread, i = np.arange(128), np.arange(128)[:, None]
    return d[rows(thread, i), i // 4 * 8 + thread % 4 * 2 + i % 2].astype(np.float32).view(np.uint8).ravel()


def true_rows(thread, i):
    return thread // 32 * 16 + thread % 32 // 4 + i // 2 % 2 * 8


@pytest.mark.parametrize("precision", FRACTION_BITS)
def test_the_rounding_of_hopper_stays_far_within_the_tolerance(precision):
    wanted = expected(launch(precision))
    got = results(precision, true_rows)
    assert find_difference(wanted, got) is None
    error = np.abs(got.view(np.float32).reshape(wanted.values.shape) - wanted.values)
    assert (error < wanted.tolerance / 4).all()


@pytest.mark.parametrize("precision", FRACTION_BITS)
def test_rows_that_changed_places_are_noticed(precision):
    found = find_difference(expected(launch(precision)), results(precision, lambda thread, i: true_rows(thread, i) ^ 8))
    assert int(found.split(" ")[0]) > 0.9 * 64 * 256
