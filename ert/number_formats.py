"""The number formats of kernels as NumPy sees them: float64 to bits and back, and multiply-adds rounded once, as hardware does.

Bits are unsigned integers of the format's size; tf32 is stored as fp32, int8 and int32 as themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.unsignedinteger]
Floats = NDArray[np.float64]

_SIZE = {"fp64": "u8", "fp32": "u4", "tf32": "u4", "fp16": "u2", "bf16": "u2", "fp8": "u1", "int32": "u4", "int8": "u1"}
# bfloat16 keeps 8 of float64's 53 significant bits.
_BF16_DROPPED_BITS = 45
_E4M3_MANTISSA_BITS, _E4M3_BIAS = 3, 7


def bits_dtype(precision: str) -> np.dtype[np.unsignedinteger]:
    """The unsigned integer that holds one element."""
    return np.dtype(_SIZE[precision])


def encode(values: Floats, precision: str) -> Bits:
    """float64 -> bits, each value rounded to the nearest (ties to even); integers wrap around."""
    match precision:
        case "fp64":
            return values.astype(np.float64).view(np.uint64)
        case "fp32" | "tf32":
            return values.astype(np.float32).view(np.uint32)
        case "fp16":
            return values.astype(np.float16).view(np.uint16)
        case "bf16":
            return _encode_bf16(values)
        case "fp8":
            return _encode_e4m3(values)
    return np.rint(values).astype(np.int64).astype(bits_dtype(precision))


def decode(bits: Bits, precision: str) -> Floats:
    """Bits -> float64, exactly. Of a tf32 only the bits the tensor cores read."""
    return _DECODERS[precision](bits)


def e4m3_values() -> Floats:
    """The 256 values of e4m3 (OCP 8-bit floating point specification): 4 bits of exponent, 3 of mantissa, no infinity."""
    byte = np.arange(256)
    exponent, mantissa = byte >> _E4M3_MANTISSA_BITS & 15, byte & 7
    subnormal = np.ldexp(mantissa.astype(float), 1 - _E4M3_BIAS - _E4M3_MANTISSA_BITS)
    size = np.where(exponent == 0, subnormal, np.ldexp(8.0 + mantissa, exponent - _E4M3_BIAS - _E4M3_MANTISSA_BITS))
    size[(byte & 0x7F) == 0x7F] = np.nan
    return np.asarray(np.where(byte & 0x80, -size, size), dtype=np.float64)


_DECODERS: dict[str, Callable[[Bits], Floats]] = {
    "fp64": lambda bits: bits.view(np.float64),
    "fp32": lambda bits: bits.view(np.float32).astype(np.float64),
    "tf32": lambda bits: (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64),
    "fp16": lambda bits: bits.view(np.float16).astype(np.float64),
    "bf16": lambda bits: (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64),
    "fp8": lambda bits: np.take(e4m3_values(), bits),
    "int32": lambda bits: bits.view(np.int32).astype(np.float64),
    "int8": lambda bits: bits.view(np.int8).astype(np.float64),
}


def _encode_bf16(values: Floats) -> Bits:
    bits = values.astype(np.float64).view(np.uint64)
    dropped = np.uint64(_BF16_DROPPED_BITS)
    half_less_one = np.uint64((1 << (_BF16_DROPPED_BITS - 1)) - 1)
    rounded = (bits + half_less_one + (bits >> dropped & np.uint64(1))) >> dropped << dropped
    return (rounded.view(np.float64).astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def _encode_e4m3(values: Floats) -> Bits:
    """Nearest of the finite values; halfway goes to the even mantissa. Beyond the largest: the largest."""
    positive = e4m3_values()[:127]
    size = np.minimum(np.abs(values), positive[-1])
    above = np.clip(np.searchsorted(positive, size), 1, 126)
    below = above - 1
    to_above, to_below = positive[above] - size, size - positive[below]
    takes_above = (to_above < to_below) | ((to_above == to_below) & (above % 2 == 0))
    return np.asarray(np.where(takes_above, above, below) | np.where(np.signbit(values), 0x80, 0), dtype=np.uint8)


def multiply_add(x: Bits, y: Bits, z: Bits, precision: str) -> Bits:
    """x * y + z elementwise, rounded once (fp64, fp32, fp16, bf16) or wrapped around (int32)."""
    if precision == "int32":
        return np.asarray(x * y + z, dtype=np.uint32)
    a, b, c = (decode(v, precision) for v in (x, y, z))
    if precision == "fp64":
        return encode(_fma_fp64(a, b, c), precision)
    # The product of two narrower numbers is exact in float64; a sum rounded to odd can be rounded again without harm.
    return encode(_to_odd(*_two_sum(a * b, c)), precision)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b and the error of that sum, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a * b and the error of that product, exactly (Dekker, with Veltkamp's splitting)."""

    def split(v: Floats) -> tuple[Floats, Floats]:
        scaled = v * 134217729.0  # 2**27 + 1
        high = scaled - (scaled - v)
        return high, v - high

    product = a * b
    (a_high, a_low), (b_high, b_low) = split(a), split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _to_odd(total: Floats, error: Floats) -> Floats:
    """total + error rounded to the neighbour with an odd last bit, unless it is exact."""
    bits = np.ascontiguousarray(total).view(np.int64)
    towards = np.where((error > 0) == (total > 0), 1, -1)
    is_even_and_inexact = (error != 0) & (bits & 1 == 0)
    return (bits + np.where(is_even_and_inexact, towards, 0)).view(np.float64)


def _fma_fp64(a: Floats, b: Floats, c: Floats) -> Floats:
    """a * b + c rounded once (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008)."""
    product, product_error = _two_product(a, b)
    low, low_error = _two_sum(c, product_error)
    high, high_error = _two_sum(product, low)
    return high + _to_odd(*_two_sum(low_error, high_error))
