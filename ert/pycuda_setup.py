"""Builds PyCUDA, of which there are no wheels, with or without a CUDA toolkit: ``python -m ert.pycuda_setup``.

It needs g++, Python's headers, a driver library to link with, and CUDA headers: those of a toolkit, else of wheels. Where no CUDA
compiler or disassembler is found, wheels bring them. If ``--wheels FOLDER`` holds anything, all comes from there and nothing is fetched;
with ``--keep-wheel`` PyCUDA is only built, into that folder, for another machine with this version of Python.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ert.cuda_parts import cuda_major, find_headers, find_link_library, find_toolkit, header_folders, library_folders
from ert.errors import ErtError, KernelError
from ert.nvcompile import find_compiler
from ert.sass import find_nvdisasm

PYCUDA = "pycuda==2026.1"
BESIDE = ("nvidia-ml-py",)
# For drivers of CUDA 13 and newer; those for CUDA 12 have a suffix and other files.
HEADER_WHEELS = ("nvidia-cuda-runtime", "nvidia-cuda-profiler-api")
_NVRTC, _NVDISASM, _CUBLAS = "nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm", "nvidia-cublas"
_OLD_MAJOR, _OLD_SUFFIX = 12, "-cu12"
# Older ones need the package "wheel" to make a wheel.
_SETUPTOOLS = "setuptools>=70.1"
_PYTHON_TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
_LONGEST_LOG = 3000


@dataclass(frozen=True, slots=True)
class Source:
    """Where packages come from: the index pip knows, or a folder of carried wheels and source archives."""

    folder: Path | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """Of every pip command."""
        return ("--no-index", "--find-links", str(self.folder.resolve())) if self.folder else ()

    def files(self, package: str) -> list[Path]:
        """Carried files of a package, newest name last."""
        return sorted(self.folder.glob(f"{package.replace('-', '[-_]')}-[0-9]*")) if self.folder else []


def carried(folder: Path | None) -> Source:
    """That folder if it holds a package, else the index."""
    return Source(folder if folder and (any(folder.glob("*.whl")) or any(folder.glob("*.tar.gz"))) else None)


def pip(*arguments: str) -> None:
    """Run pip of this Python. Raises ErtError with what it said."""
    environment = dict(os.environ)
    toolkit = find_toolkit()
    if toolkit and shutil.which("nvcc", path=str(toolkit / "bin")):
        # PyCUDA looks for cuda.h beside the first nvcc on PATH; a wrapper elsewhere would mislead it.
        environment["PATH"] = f"{toolkit / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise ErtError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr).strip()[-_LONGEST_LOG:]}")


def build_wheel(driver_library: Path, folder: Path, source: Source | None = None) -> Path:
    """Build a wheel of PyCUDA in ``folder``, linked with this driver library; takes about a minute.

    Raises ErtError with pip's words.
    """
    source = source or Source()
    link = folder / "link"
    link.mkdir(parents=True, exist_ok=True)
    # The linker looks for the name without the number, which drivers do not bring.
    (link / "libcuda.so").symlink_to(driver_library.resolve())
    headers = [str(path) for path in _headers(folder, source)]
    settings = {"CUDA_ENABLE_CURAND": "False", "CUDADRV_LIB_DIR": f"['{link}']", "CUDA_INC_DIR": str(headers)}
    options = [f"--config-settings=--global-option=--conf:{name}={value}" for name, value in settings.items()]
    if source.folder:
        # What builds it is taken from this environment: an isolated one would see only what is carried.
        pip("install", *source.options, _SETUPTOOLS, "numpy")
        options.append("--no-build-isolation")
    pip("wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", str(folder), *options, *source.options, PYCUDA)
    return next(folder.glob("pycuda-*.whl"))


def _headers(folder: Path, source: Source) -> list[Path]:
    """The folders with CUDA's headers; wheels of them are installed below ``folder`` where there are none."""
    found = find_headers()
    if found:
        return [found]
    pip("install", "--no-deps", "--target", str(folder / "headers"), *source.options, *map(_for_this_driver, HEADER_WHEELS))
    return header_folders(folder / "headers")


def _for_this_driver(package: str) -> str:
    """Code and calls of a newer major version of CUDA do not run on an older driver."""
    return package + (_OLD_SUFFIX if (cuda_major() or _OLD_MAJOR + 1) <= _OLD_MAJOR else "")


def install(wheels: Path | None) -> list[str]:
    """Bring what is missing into this environment; what was done, in words. Raises ErtError."""
    source = carried(wheels)
    done = [_install_pycuda(source)]
    for package, what, find in ((_NVRTC, "a CUDA compiler", find_compiler), (_NVDISASM, "a disassembler", find_nvdisasm)):
        if not _is_found(find):
            done.append(_install_part(package, what, source))
    # Others' product is only a witness, and half a gigabyte: it is installed where somebody carried it.
    if source.files(_CUBLAS) or source.files(_CUBLAS + _OLD_SUFFIX):
        done.append(_install_part(_CUBLAS, "cuBLAS", source))
    return done


def _install_pycuda(source: Source) -> str:
    if importlib.util.find_spec("pycuda"):
        return "PyCUDA is installed already."
    built = [path for path in source.files("pycuda") if f"-{_PYTHON_TAG}-" in path.name]
    if built:
        pip("install", *source.options, str(built[-1]), *BESIDE)
        problem = _why_unusable()
        if not problem:
            return f"Installed {built[-1].name}."
        print(f"{built[-1].name} does not work here ({problem}): PyCUDA is built anew.", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="ert-pycuda-") as folder:
        wheel = build_wheel(find_link_library(), Path(folder), source)
        pip("install", "--force-reinstall", "--no-deps", str(wheel))
        pip("install", *source.options, "pycuda", *BESIDE)
    return "Built PyCUDA and installed it."


def _why_unusable() -> str | None:
    """Why the installed PyCUDA cannot be loaded on this machine, in the loader's words; None if it can."""
    libraries = os.pathsep.join([os.environ.get("LD_LIBRARY_PATH", ""), *map(str, library_folders())]).strip(os.pathsep)
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    done = subprocess.run([sys.executable, "-c", "import pycuda._driver"], capture_output=True, text=True, check=False, env=environment)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else None


def keep_wheel(wheels: Path) -> str:
    """Build PyCUDA into a folder of carried packages, from the source archive there or else the index; what was done. Raises ErtError."""
    source = carried(wheels)
    with tempfile.TemporaryDirectory(prefix="ert-pycuda-") as folder:
        wheel = build_wheel(find_link_library(), Path(folder), source if source.files("pycuda") else None)
        wheels.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, wheels)
    return f"Built {wheels / wheel.name}."


def _is_found(find: Callable[[], object]) -> bool:
    try:
        find()
    except KernelError:
        return False
    return True


def _install_part(package: str, what: str, source: Source) -> str:
    """One of NVIDIA's wheels; without it PyCUDA still works, so what cannot be had is only said."""
    # The disassembler reads code of every version, and has no other name.
    name = package if package == _NVDISASM else _for_this_driver(package)
    try:
        pip("install", "--no-deps", *source.options, name)
    except ErtError:
        return f"There is no {what.split(maxsplit=1)[-1]} here: {name} could not be installed."
    return f"Installed {name}: {what}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m ert.pycuda_setup``."""
    parser = argparse.ArgumentParser(prog="python -m ert.pycuda_setup", description=__doc__)
    parser.add_argument("--wheels", type=Path, help="folder with carried wheels, and a wheel or source archive of PyCUDA")
    parser.add_argument("--keep-wheel", action="store_true", help="only build a wheel of PyCUDA into that folder")
    chosen = parser.parse_args(arguments)
    if chosen.keep_wheel and not chosen.wheels:
        parser.error("--keep-wheel needs --wheels FOLDER to put it into.")
    try:
        print(keep_wheel(chosen.wheels) if chosen.keep_wheel else "\n".join(install(chosen.wheels)))
    except ErtError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
