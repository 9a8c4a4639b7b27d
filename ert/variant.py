"""A kernel with its parameters chosen: how it is told from others, and how messages call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ert.kernels import Kernel


@dataclass(frozen=True, slots=True)
class KernelVariant:
    """A kernel with all its -D macros chosen."""

    kernel: Kernel
    precision: str
    parameters: Mapping[str, int] = field(hash=False)

    @property
    def key(self) -> tuple[str, str, tuple[tuple[str, int], ...]]:
        return self.kernel.name, self.precision, tuple(sorted(self.parameters.items()))

    @property
    def label(self) -> str:
        return variant_label(self.kernel.name, self.precision, self.parameters)


def variant_label(kernel: str, precision: str, parameters: Mapping[str, int]) -> str:
    """``fma/fp64 ERT_CHAINS=4``: with the names that a sweep file may give."""
    return " ".join([f"{kernel}/{precision}", *(f"{name}={value}" for name, value in parameters.items())])
