"""Ideal models against numbers worked by hand, closed forms and published counts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import ConfigError
from ert.models import MODELS, Ideal, Sizes, ideals


def one(op: str, precision: str = "fp32", algorithm: str | None = None, **sizes: int) -> Ideal:
    return next(i for i in ideals(op, Sizes(**sizes), precision) if algorithm in (None, i.algorithm))


def test_vector_add_and_axpy_move_each_element_once():
    assert one("vecadd", size=10).ai_flop_per_byte == pytest.approx(1 / 12)
    assert one("axpy", size=10).ai_flop_per_byte == pytest.approx(2 / 12)
    assert (one("axpy", size=10**6).flops, one("axpy", size=10**6).bytes) == (2e6, 12e6)


@pytest.mark.parametrize(("m", "ai"), [(1, 1.0), (128, 120.5)])
def test_gemm_fp16_4096(m, ai):
    assert one("gemm", "fp16", m=m, n=4096, k=4096).ai_flop_per_byte == pytest.approx(ai, rel=5e-4)


def test_square_gemm_in_fp32_has_a_sixth_of_n():
    assert one("gemm", m=600, n=600, k=600).ai_flop_per_byte == pytest.approx(100)
    assert one("gemm", m=600, n=600, k=600).flops == 2 * 600**3


def test_linear_shares_its_weights_over_the_batch():
    single, many = one("linear", "fp16", m=1, n=4096, k=4096), one("linear", "fp16", m=1, n=4096, k=4096, batch=128)
    assert single.operands["W"] == many.operands["W"]
    assert single.ai_flop_per_byte == pytest.approx(1.0, rel=2e-3)
    assert many.ai_flop_per_byte == pytest.approx(120.5, rel=2e-3)


def test_conv2d_output_size_and_flops():
    # ResNet-50's 7 x 7 stride 2 first layer: 112 x 112 x 64 outputs of 3 x 7 x 7 products.
    direct = one("conv2d", algorithm="direct", channels=3, height=224, width=224, filters=64, kernel_size=7, stride=2)
    assert direct.flops == 2 * 112 * 112 * 64 * 3 * 7 * 7
    assert direct.bytes == 4 * (3 * 224 * 224 + 64 * 3 * 49 + 64 * 112 * 112)


def test_im2col_writes_and_reads_nine_times_the_image():
    sizes = {"channels": 64, "height": 56, "width": 56, "filters": 64}
    direct, im2col = (one("conv2d", algorithm=a, **sizes) for a in ("direct", "im2col"))
    assert im2col.flops == direct.flops
    assert im2col.bytes - direct.bytes == 4 * 2 * 9 * 64 * 56 * 56


def test_winograd_multiplies_2_25_times_less():
    sizes = {"channels": 512, "height": 56, "width": 56, "filters": 512}
    direct, winograd = (one("conv2d", algorithm=a, **sizes) for a in ("direct", "winograd"))
    assert direct.flops / winograd.products[0].flops == pytest.approx(2.25)
    assert winograd.flops > winograd.products[0].flops
    assert not [
        i for i in ideals("conv2d", Sizes(channels=8, height=8, width=8, filters=8, kernel_size=5), "fp32") if i.algorithm == "winograd"
    ]
    assert not [i for i in ideals("conv2d", Sizes(channels=8, height=8, width=8, filters=8, stride=2), "fp32") if i.algorithm == "winograd"]


def test_attention_prefill_and_decode():
    sizes = {"batch": 2, "heads": 32, "length": 1024, "head_dim": 128}
    fused, unfused, decode = ideals("attention", Sizes(**sizes), "fp16")
    assert fused.flops == 4 * 2 * 32 * 1024**2 * 128
    assert fused.bytes == 2 * 4 * 2 * 32 * 1024 * 128
    assert unfused.bytes - fused.bytes == 2 * 4 * 2 * 32 * 1024**2
    # Decode reads the whole cache for 4 FLOPs per element pair: about 1 FLOP/byte in fp16, times the query heads that share a KV head.
    assert decode.ai_flop_per_byte == pytest.approx(1.0, rel=2e-3)
    grouped = ideals("attention", Sizes(**sizes, kv_heads=8), "fp16")[2]
    assert grouped.ai_flop_per_byte == pytest.approx(4.0, rel=1e-2)
    assert ideals("attention", Sizes(**sizes, causal=True), "fp16")[0].flops / fused.flops == pytest.approx(0.5, rel=1e-3)


def test_a_small_cache_makes_a_product_move_more():
    gemm = one("gemm", "fp64", m=4096, n=4096, k=4096)
    assert gemm.bytes_behind(None) == gemm.bytes == 8 * 3 * 4096**2
    # 2 m n k / sqrt(S) - 2 S elements with S = 2**17 elements in 1 MiB
    assert gemm.bytes_behind(2**20) == pytest.approx(8 * (2 * 4096**3 / math.sqrt(2**17) - 2 * 2**17))
    assert one("axpy", size=10).bytes_behind(1) == one("axpy", size=10).bytes


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 5000), st.floats(1, 1e12), st.floats(1, 10))
def test_more_cache_never_needs_more_traffic(m, n, k, capacity, factor):
    gemm = one("gemm", m=m, n=n, k=k)
    assert gemm.bytes <= gemm.bytes_behind(capacity * factor) <= gemm.bytes_behind(capacity)


@pytest.mark.parametrize(
    ("op", "sizes", "words"),
    [
        ("gemm", {"m": 4}, "gemm needs --n --k"),
        ("gemm", {"m": 0, "n": 1, "k": 1}, "--m must be at least 1"),
        ("conv2d", {"channels": 1, "height": 2, "width": 2, "filters": 1, "kernel_size": 7, "padding": 0}, "has no place"),
        ("attention", {"heads": 6, "kv_heads": 4, "length": 8, "head_dim": 8}, "no multiple"),
        ("attention", {"heads": 6}, "--length --head-dim"),
        ("fft", {}, "'fft' is unknown. Known: gemm"),
    ],
)
def test_sizes_it_cannot_have_name_the_option(op, sizes, words):
    with pytest.raises(ConfigError, match=words):
        ideals(op, Sizes(**sizes), "fp32")


def test_every_model_needs_something():
    for op in MODELS:
        with pytest.raises(ConfigError, match="needs"):
            ideals(op, Sizes(), "fp32")
