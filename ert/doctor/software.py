"""What is installed: ert itself, Python, packages, the C compiler, the cache of compiled kernels."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

from ert import __version__
from ert.devices import Listed
from ert.doctor.fact import Fact, collect
from ert.errors import KernelError
from ert.hostcc import REMEDY, Compiler, cache_folder, find_compiler
from ert.kernels import OWN_FOLDER
from ert.units import capacity

DISTRIBUTION = "ert-roofline"
# "numpy>=1.26", "pycuda>=2025.1; extra == 'cuda'"
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)[^;]*(;.*)?$")
_VECTOR_NAMES = {64: "AVX-512", 32: "AVX"}


def software_facts() -> list[Fact]:
    """Everything a sweep of the CPU and the offline commands stand on."""
    return collect(
        [
            ("ert", _ert),
            ("Python", lambda: Fact("Python", "ok", f"{platform.python_version()}, {sys.executable}", platform.python_version())),
            ("packages", lambda: packages_fact(_required(), _version)),
            ("C compiler", _compiler),
            ("kernel cache", _cache),
        ]
    ) + [fact for fact in (own_kernels_fact(os.environ.get(OWN_FOLDER["cpu"])),) if fact]


def device_fact(device: Listed) -> Fact:
    """One device as ``ert devices`` lists it; its reason holds the remedy. A GPU that is not there is no problem, a CPU is one."""
    if device.reason is None:
        return Fact(device.id, "ok", device.name)
    return Fact(device.id, "problem" if device.id == "cpu" else "note", device.name, remedy=device.reason)


def _ert() -> Fact:
    return Fact("ert", "ok", f"{__version__}, {Path(__file__).resolve().parents[1]}", __version__)


def _required() -> list[str]:
    try:
        return required_packages(metadata.requires(DISTRIBUTION) or [])
    except metadata.PackageNotFoundError:
        return []


def required_packages(requirements: Iterable[str]) -> list[str]:
    """Names of the packages that are always needed, in the order declared; those of an extra are left out."""
    found = (_REQUIREMENT.match(line) for line in requirements)
    return [match[1] for match in found if match and "extra" not in (match[2] or "")]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def packages_fact(names: Iterable[str], version_of: Callable[[str], str | None]) -> Fact:
    """Versions of the required packages, or those that are missing."""
    versions = {name: version_of(name) for name in names}
    if not versions:
        return Fact("packages", "note", f"{DISTRIBUTION} is not installed, so its packages are not known", remedy="pip install -e .")
    missing = [name for name, version in versions.items() if version is None]
    text = ", ".join(f"{name} {version or 'MISSING'}" for name, version in versions.items())
    if missing:
        return Fact("packages", "problem", text, {**versions}, f"pip install {' '.join(missing)}")
    return Fact("packages", "ok", text, {**versions})


def own_kernels_fact(folder: str | None) -> Fact | None:
    """A line only where another folder stands in for the shipped CPU kernels."""
    if not folder:
        return None
    return Fact(
        "CPU kernels", "note", f"from {folder} instead of the shipped ones", folder, f"unset {OWN_FOLDER['cpu']} for the shipped ones"
    )


def _compiler() -> Fact:
    try:
        return compiler_fact(find_compiler())
    except KernelError as error:
        return Fact("C compiler", "problem", str(error).removesuffix(REMEDY).strip(), remedy=REMEDY)


def compiler_fact(compiler: Compiler) -> Fact:
    """Command, version and the vectors it makes for this machine."""
    vectors = f"{compiler.vector_bytes}-byte vectors"
    if name := _VECTOR_NAMES.get(compiler.vector_bytes):
        vectors += f" ({name})"
    return Fact("C compiler", "ok", f"{' '.join(compiler.command)}: {compiler.version}; {vectors}", " ".join(compiler.command))


def _cache() -> Fact:
    folder, warning = cache_folder()
    if warning:
        return Fact("kernel cache", "note", warning.message, str(folder), warning.remedy)
    files = [file for file in folder.rglob("*") if file.is_file()]
    size = capacity(sum(file.stat().st_size for file in files))
    return Fact("kernel cache", "ok", f"{folder}, writable, {len(files)} files, {size}", str(folder))
