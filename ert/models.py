"""What known operations need at least: FLOPs and compulsory traffic from their sizes, before anything is written or measured.

F counts what the algorithm does, one FMA as 2. D is ideal: every operand crosses the level once. Where the level in
front of it is too small for that, matrix products have a lower bound of their own (``bytes_behind``). Both are floors:
a real kernel moves more, never less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from ert.errors import ConfigError
from ert.precisions import PRECISIONS


@dataclass(frozen=True, slots=True)
class Product:
    """``count`` matrix products of m x k by k x n."""

    m: int
    n: int
    k: int
    count: int = 1

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.n * self.k * self.count


@dataclass(frozen=True, slots=True)
class Ideal:
    """One way to do one operation.

    operands  name -> elements moved (an operand that is read and written counts twice)
    products  the matrix products in it, for the bound of a limited cache
    extra_flops  FLOPs outside of the products
    note      what is assumed, or what this way costs elsewhere
    """

    op: str
    algorithm: str
    precision: str
    operands: Mapping[str, float]
    products: tuple[Product, ...] = ()
    extra_flops: float = 0.0
    note: str | None = None

    @property
    def element_bytes(self) -> int:
        return PRECISIONS[self.precision].bytes

    @property
    def flops(self) -> float:
        return sum(p.flops for p in self.products) + self.extra_flops

    @property
    def bytes(self) -> float:
        return sum(self.operands.values()) * self.element_bytes

    @property
    def ai_flop_per_byte(self) -> float:
        return self.flops / self.bytes

    @property
    def name(self) -> str:
        return self.op if self.algorithm == self.op else f"{self.op}, {self.algorithm}"

    def bytes_behind(self, capacity_bytes: float | None) -> float:
        """Least traffic of a level behind a cache of this capacity (None: as large as needed).

        A product moves at least 2mnk / sqrt(S) - 2S elements through a cache of S elements.
        Source: Hong and Kung, STOC 1981; the constant: Smith et al., A Tight I/O Lower Bound for Matrix Multiplication, 2019.
        """
        if capacity_bytes is None:
            return self.bytes
        elements = max(capacity_bytes / self.element_bytes, 1.0)
        bounds = (p.count * max(p.flops / p.count / math.sqrt(elements) - 2 * elements, 0.0) for p in self.products)
        return max(self.bytes, sum(bounds) * self.element_bytes)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes a person gives; each operation uses some of them."""

    size: int | None = None
    m: int | None = None
    n: int | None = None
    k: int | None = None
    batch: int = 1
    channels: int | None = None
    height: int | None = None
    width: int | None = None
    filters: int | None = None
    kernel_size: int = 3
    stride: int = 1
    padding: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    length: int | None = None
    head_dim: int | None = None
    causal: bool = False

    def need(self, op: str, *names: str) -> list[int]:
        """The values of these sizes. Raises ConfigError naming the options that are missing or not above 0."""
        values = {name: getattr(self, name) for name in names}
        absent = [name for name, value in values.items() if value is None]
        if absent:
            raise ConfigError(f"{op} needs {' '.join(map(option, absent))}.")
        wrong = [name for name, value in values.items() if value < 1]
        if wrong:
            raise ConfigError(f"{option(wrong[0])} must be at least 1.")
        return list(values.values())


def option(name: str) -> str:
    """``head_dim`` -> ``--head-dim``."""
    return "--" + name.replace("_", "-")


def ideals(op: str, sizes: Sizes, precision: str) -> list[Ideal]:
    """Every known algorithm of an operation at these sizes. Raises ConfigError for an unknown one, or sizes it cannot have."""
    if op not in MODELS:
        raise ConfigError(f"operation '{op}' is unknown. Known: {', '.join(MODELS)}.")
    if precision not in PRECISIONS:
        raise ConfigError(f"precision '{precision}' is unknown. Known: {', '.join(PRECISIONS)}.")
    return MODELS[op](sizes, precision)


def _axpy(sizes: Sizes, precision: str) -> list[Ideal]:
    (n,) = sizes.need("axpy", "size")
    return [Ideal("axpy", "axpy", precision, {"x": n, "y": 2 * n}, extra_flops=2 * n)]


def _vecadd(sizes: Sizes, precision: str) -> list[Ideal]:
    (n,) = sizes.need("vecadd", "size")
    return [Ideal("vecadd", "vecadd", precision, {"a": n, "b": n, "c": n}, extra_flops=n)]


def _gemm(sizes: Sizes, precision: str) -> list[Ideal]:
    m, n, k, batch = sizes.need("gemm", "m", "n", "k", "batch")
    operands = {"A": batch * m * k, "B": batch * k * n, "C": batch * m * n}
    return [Ideal("gemm", "gemm", precision, operands, (Product(m, n, k, batch),), note="C is written only (beta = 0)")]


def _linear(sizes: Sizes, precision: str) -> list[Ideal]:
    tokens, out, features, batch = sizes.need("linear", "m", "n", "k", "batch")
    rows = tokens * batch
    operands = {"x": rows * features, "W": features * out, "b": out, "y": rows * out}
    note = "--m tokens per sequence, --k features in, --n features out; the weights are shared by the whole batch"
    return [Ideal("linear", "linear", precision, operands, (Product(rows, out, features),), rows * out, note)]


@dataclass(frozen=True, slots=True)
class _Conv:
    """A convolution's sizes; p x q outputs per image and filter."""

    batch: int
    channels: int
    height: int
    width: int
    filters: int
    kernel: int
    p: int
    q: int

    @property
    def images(self) -> int:
        return self.batch * self.channels * self.height * self.width

    @property
    def outputs(self) -> int:
        return self.batch * self.filters * self.p * self.q

    @property
    def weights(self) -> int:
        return self.filters * self.channels * self.kernel**2

    @property
    def product(self) -> Product:
        return Product(self.batch * self.p * self.q, self.filters, self.channels * self.kernel**2)


def _conv(sizes: Sizes) -> _Conv:
    batch, channels, height, width, filters = sizes.need("conv2d", "batch", "channels", "height", "width", "filters")
    kernel, stride = sizes.need("conv2d", "kernel_size", "stride")
    padding = kernel // 2 if sizes.padding is None else sizes.padding
    p, q = ((edge + 2 * padding - kernel) // stride + 1 for edge in (height, width))
    if padding < 0 or p < 1 or q < 1:
        raise ConfigError(f"conv2d: a {kernel} x {kernel} filter with padding {padding} has no place in {height} x {width}.")
    return _Conv(batch, channels, height, width, filters, kernel, p, q)


def _conv2d(sizes: Sizes, precision: str) -> list[Ideal]:
    c = _conv(sizes)
    columns = c.batch * c.p * c.q * c.channels * c.kernel**2
    through = {"image": c.images, "filters": c.weights, "output": c.outputs}
    found = [
        Ideal("conv2d", "direct", precision, through, (c.product,)),
        Ideal(
            "conv2d", "im2col", precision, {**through, "columns": 2 * columns}, (c.product,), note="the column matrix is written and read"
        ),
    ]
    return found + ([_winograd(c, precision, through)] if c.kernel == 3 and sizes.stride == 1 else [])


def _winograd(c: _Conv, precision: str, through: Mapping[str, float]) -> Ideal:
    """F(2x2, 3x3): 16 multiplications for 4 outputs instead of 36.

    Transforms: 32 FLOPs per input tile, 28 per filter, 24 per output tile (Lavin and Gray, CVPR 2016).
    """
    tiles = c.batch * math.ceil(c.p / 2) * math.ceil(c.q / 2)
    transforms = 32.0 * tiles * c.channels + 28.0 * c.filters * c.channels + 24.0 * tiles * c.filters
    staged = 2 * 16 * (tiles * (c.channels + c.filters) + c.filters * c.channels) * PRECISIONS[precision].bytes
    note = f"transforms stay on the chip; through memory they add {staged / 1e6:.4g} MB. Fewer FLOPs: compare times, not FLOP/s"
    return Ideal("conv2d", "winograd", precision, through, (Product(tiles, c.filters, c.channels, 16),), transforms, note)


def _attention(sizes: Sizes, precision: str) -> list[Ideal]:
    batch, heads, length, dim = sizes.need("attention", "batch", "heads", "length", "head_dim")
    kv_heads = heads if sizes.kv_heads is None else sizes.need("attention", "kv_heads")[0]
    if heads % kv_heads:
        raise ConfigError(f"attention: --heads {heads} is no multiple of --kv-heads {kv_heads}.")
    kv = 2 * batch * kv_heads * length * dim
    # Of the causal half, the diagonal belongs to it.
    pairs = length * (length + 1) / 2 if sizes.causal else float(length * length)
    prefill = {"Q": batch * heads * length * dim, "K and V": kv, "O": batch * heads * length * dim}
    scores = {**prefill, "scores": 4 * batch * heads * pairs}
    decode = {"Q": batch * heads * dim, "K and V": kv, "O": batch * heads * dim}
    work = 4.0 * batch * heads * pairs * dim
    return [
        Ideal("attention", "prefill, fused", precision, prefill, extra_flops=work, note="scores stay on the chip; softmax is not counted"),
        Ideal(
            "attention", "prefill, unfused", precision, scores, extra_flops=work, note="scores and weights are written and read once each"
        ),
        Ideal("attention", "decode", precision, decode, extra_flops=4.0 * batch * heads * length * dim, note="one new token per sequence"),
    ]


# name -> every algorithm of that operation
MODELS: dict[str, Callable[[Sizes, str], list[Ideal]]] = {
    "gemm": _gemm,
    "axpy": _axpy,
    "vecadd": _vecadd,
    "linear": _linear,
    "conv2d": _conv2d,
    "attention": _attention,
}
SIZE_NAMES = tuple(f.name for f in fields(Sizes))
