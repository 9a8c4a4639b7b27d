"""Verify CUDA kernels without a device: the instructions each declares against those in its compiled hot loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ert.errors import ConfigError
from ert.hostcc import cache_folder
from ert.kernels import Kernel
from ert.nvcompile import Compiler, Target, find_compiler, unmet_requirement
from ert.sass import find_nvdisasm
from ert.sass_check import VariantCheck, check_variants, default_variants, parameter_variants
from ert.suggest import nearest
from ert.verify import Progress, VariantReport, Verification


def verify_cuda(kernels: Iterable[Kernel], architecture: str, progress: Progress) -> Verification:
    """Compile every kernel for one architecture (``sm_90a``), with its defaults and each parameter at each other declared value.

    ``progress`` is told each kernel before it is compiled. Raises KernelError without a CUDA compiler or nvdisasm, saying how to
    get them, and ConfigError for an architecture the compiler does not know.
    """
    compiler = find_compiler()
    find_nvdisasm()
    target = _target(architecture, compiler)
    reports: list[VariantReport] = []
    for kernel in kernels:
        progress(f"{kernel.name} for {architecture}")
        reports += _verify_kernel(kernel, target, compiler)
    return Verification("cuda", compiler.version, architecture, tuple(reports))


def _target(architecture: str, compiler: Compiler) -> Target:
    """``sm_90a`` is known where ``sm_90`` is: the compilers list families without the letter."""
    if architecture.rstrip("af") in compiler.supported:
        return Target(architecture)
    hint = nearest(architecture, compiler.supported)
    raise ConfigError(f"--arch {architecture}: {compiler.version} does not know it.{hint} It knows {', '.join(compiler.supported)}.")


def _verify_kernel(kernel: Kernel, target: Target, compiler: Compiler) -> list[VariantReport]:
    unmet = [(precision, unmet_requirement(kernel, precision, target)) for precision in kernel.precisions]
    unsupported = [VariantReport(kernel.name, p, kernel.defaults(), "unsupported", reason) for p, reason in unmet if reason]
    variants = [v for default in default_variants([kernel], target) for v in (default, *parameter_variants(default))]
    return _reports(check_variants(variants, target, compiler, cache_folder()[0] / "cubins")) + unsupported


def _reports(checks: Sequence[VariantCheck]) -> list[VariantReport]:
    return [
        VariantReport(
            kernel=check.variant.kernel.name,
            precision=check.variant.precision,
            parameters={**check.variant.kernel.defaults(), **check.variant.parameters},
            status="failed" if check.differences else "ok",
            reason="; ".join(check.differences) or None,
            declared=check.declared,
            counted=check.counted,
        )
        for check in checks
    ]
