"""Compares what the kernels declare with what the compiler made of them, for any architecture, without a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ert.errors import KernelError
from ert.kernels import Kernel
from ert.nvcompile import Compiler, Target, compile_kernel, macros, unmet_requirement
from ert.precisions import PRECISIONS
from ert.sass import disassemble, find_differences, hot_loop_counts
from ert.variant import variant_label

# 256-bit loads and stores of global memory came with this compute capability (PTX ISA 8.8, "ld").
_WIDE_SINCE = 100


@dataclass(frozen=True, slots=True)
class Variant:
    """One kernel with everything filled in."""

    kernel: Kernel
    precision: str
    parameters: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return variant_label(self.kernel.name, self.precision, self.parameters)


@dataclass(frozen=True, slots=True)
class VariantCheck:
    """``differences``: what the code does otherwise than declared, in words; empty if it does the same.

    declared, counted  instructions of each declared class in one trip; empty for a variant that did not compile
    """

    variant: Variant
    differences: tuple[str, ...]
    declared: Mapping[str, int] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)


def vector_bytes(architecture: str) -> int:
    """The widest access to global memory of one thread on this architecture."""
    return 32 if int("".join(c for c in architecture if c.isdigit())) >= _WIDE_SINCE else 16


def default_variants(kernels: Iterable[Kernel], target: Target) -> list[Variant]:
    """Every kernel and precision this target can run, with default parameters."""
    return [Variant(k, p) for k in kernels for p in k.precisions if not unmet_requirement(k, p, target)]


def parameter_variants(variant: Variant) -> list[Variant]:
    """The variant with each parameter in turn at each of its declared values."""
    return [
        Variant(variant.kernel, variant.precision, {parameter.name: value})
        for parameter in variant.kernel.parameters.values()
        for value in parameter.values
        if value != parameter.default
    ]


def check_variants(variants: Sequence[Variant], target: Target, compiler: Compiler, cache_folder: Path) -> list[VariantCheck]:
    """Compile and disassemble every variant; one that does not compile is a difference like any other.

    Raises KernelError if there is no nvdisasm, or if it does not know the architecture.
    """
    width = vector_bytes(target.architecture)
    images: dict[int, bytes] = {}
    failures: dict[int, str] = {}
    for index, variant in enumerate(variants):
        definitions = macros(variant.kernel, variant.precision, variant.parameters, width)
        try:
            images[index] = compile_kernel(variant.kernel, definitions, target, compiler, cache_folder)
        except KernelError as error:
            failures[index] = str(error)
    codes = dict(zip(images, disassemble(list(images.values()), target.architecture), strict=True))
    checks = []
    for index, variant in enumerate(variants):
        if index in failures:
            checks.append(VariantCheck(variant, (failures[index],)))
            continue
        element = PRECISIONS[variant.precision].bytes
        facts = variant.kernel.trip_facts(variant.parameters, element_bytes=element, vector_bytes=width)
        counted = hot_loop_counts(codes[index], facts.instructions, 8 * width)
        declared = {word: count for word, count in facts.instructions.items() if word != "chunks"}
        differences = tuple(find_differences(codes[index], facts.instructions, 8 * width))
        checks.append(VariantCheck(variant, differences, declared, {word: counted[word] for word in declared}))
    return checks
