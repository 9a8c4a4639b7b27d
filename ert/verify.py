"""Verify kernels: what each declares against what the compiler made of it and against what it computes.

The sweep refuses a kernel that fails here; this shows every variant at once, with the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from ert.asmcheck import Work, count_trip
from ert.devices.cpu_facts import usable_cpus
from ert.devices.cpu_kernel import Variant, defines, load_kernel, why_unsupported
from ert.errors import KernelError
from ert.hostcc import Compiler, compile_source
from ert.kernels import Kernel, TripFacts
from ert.precisions import PRECISIONS
from ert.variant import variant_label

Status = Literal["ok", "failed", "unsupported"]


@dataclass(frozen=True, slots=True)
class VariantReport:
    """One variant of one kernel.

    declared, counted  what one trip does, by what is counted: ``flops``, ``bytes_loaded``, ``bytes_stored`` of a CPU kernel,
                       instruction classes of a CUDA kernel; empty where nothing could be counted
    reason             why it failed or is unsupported, None if it is all right
    """

    kernel: str
    precision: str
    parameters: Mapping[str, int]
    status: Status
    reason: str | None = None
    declared: Mapping[str, int] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return variant_label(self.kernel, self.precision, self.parameters)


@dataclass(frozen=True, slots=True)
class Verification:
    """All variants of some kernels under one compiler; ``target`` says what the code is for."""

    device_kind: str
    compiler: str
    target: str
    variants: tuple[VariantReport, ...]

    @property
    def failed(self) -> tuple[VariantReport, ...]:
        return tuple(v for v in self.variants if v.status == "failed")


Progress = Callable[[str], None]


def verify_cpu(kernels: Iterable[Kernel], compiler: Compiler, progress: Progress) -> Verification:
    """Compile every variant for this machine, count its hot loop, and hold its results against NumPy.

    ``progress`` is told each variant before it runs. Nothing is raised for a kernel that fails: it is a report.
    """
    reports: list[VariantReport] = []
    variants: list[Variant] = []
    for kernel, precision in ((k, p) for k in kernels for p in k.precisions):
        if reason := why_unsupported(compiler, kernel, precision):
            reports.append(VariantReport(kernel.name, precision, kernel.defaults(), "unsupported", reason))
        else:
            variants += [Variant(kernel, precision, values) for values in kernel.combinations()]
    _compile_all(variants, compiler)
    for variant in variants:
        progress(variant.label)
        reports.append(_verify_variant(variant, compiler))
    return Verification("cpu", compiler.version, f"{compiler.vector_bytes}-byte vectors", tuple(reports))


def _compile_all(variants: Sequence[Variant], compiler: Compiler) -> None:
    """Fill the cache on all cores; a variant that does not compile says so when its turn comes."""

    def compile_one(variant: Variant) -> None:
        with suppress(KernelError):
            compile_source(compiler, variant.kernel.name, variant.kernel.source, defines(variant, compiler.vector_bytes))

    with ThreadPoolExecutor(max(1, len(usable_cpus()))) as workers:
        list(workers.map(compile_one, variants))


def _verify_variant(variant: Variant, compiler: Compiler) -> VariantReport:
    status: Status = "ok"
    reason = None
    declared: Mapping[str, int] = {}
    counted: Mapping[str, int] = {}
    try:
        declared = _counts(_declared(variant, compiler))
        counted = _counts(_counted(variant, compiler))
        load_kernel(compiler, variant)
    except KernelError as error:
        status, reason = "failed", str(error)
    return VariantReport(variant.kernel.name, variant.precision, variant.parameters, status, reason, declared, counted)


def _declared(variant: Variant, compiler: Compiler) -> TripFacts:
    element_bytes = PRECISIONS[variant.precision].bytes
    return variant.kernel.trip_facts(variant.parameters, element_bytes=element_bytes, vector_bytes=compiler.vector_bytes)


def _counted(variant: Variant, compiler: Compiler) -> Work:
    compiled = compile_source(compiler, variant.kernel.name, variant.kernel.source, defines(variant, compiler.vector_bytes))
    precision = PRECISIONS[variant.precision]
    return count_trip(variant.label, compiled.assembly, element_bytes=precision.bytes, is_float=precision.is_float)


def _counts(trip: TripFacts | Work) -> dict[str, int]:
    return {"flops": trip.flops, "bytes_loaded": trip.bytes_loaded, "bytes_stored": trip.bytes_stored}
