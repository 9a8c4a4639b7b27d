"""Builds PyCUDA, of which there are no wheels, with or without a CUDA toolkit: ``python -m ert.pycuda_setup``.

It needs g++, a driver library to link with, and CUDA headers: those of a toolkit, else of wheels. A wheel of PyCUDA that was
carried along (``--wheels FOLDER``) is taken first; then nothing is fetched.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ert.errors import ErtError

PYCUDA = "pycuda==2026.1"
BESIDE = ("nvidia-ml-py",)
HEADER_WHEELS = ("nvidia-cuda-runtime", "nvidia-cuda-profiler-api", "nvidia-cuda-crt")
_DRIVER_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib", "/usr/lib")


def find_toolkit() -> Path | None:
    """A CUDA toolkit with headers: $CUDA_HOME, else /usr/local/cuda."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return next((folder for folder in [*named, Path("/usr/local/cuda")] if (folder / "include" / "cuda.h").is_file()), None)


def find_driver_library() -> Path:
    """libcuda.so.1 of the NVIDIA driver. Raises ErtError if there is none."""
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep), *_DRIVER_FOLDERS]
    for folder in filter(None, folders):
        if (Path(folder) / "libcuda.so.1").exists():
            return Path(folder) / "libcuda.so.1"
    raise ErtError("There is no NVIDIA driver here (no libcuda.so.1): PyCUDA has nothing to link with. Install the driver first.")


def build_wheel(driver_library: Path, folder: Path) -> Path:
    """Build a wheel of PyCUDA in ``folder``, linked with this driver library; takes one to two minutes.

    Raises ErtError with pip's words.
    """
    link = folder / "link"
    link.mkdir(parents=True, exist_ok=True)
    # The linker looks for the name without the number, which drivers do not bring.
    (link / "libcuda.so").symlink_to(driver_library.resolve())
    settings = {"CUDA_ENABLE_CURAND": "False", "CUDADRV_LIB_DIR": f"['{link}']", "CUDA_INC_DIR": f"['{_headers(folder)}']"}
    options = [f"--config-settings=--global-option=--conf:{name}={value}" for name, value in settings.items()]
    pip("wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", str(folder), *options, PYCUDA)
    return next(folder.glob("pycuda-*.whl"))


def _headers(folder: Path) -> Path:
    toolkit = find_toolkit()
    if toolkit:
        return toolkit / "include"
    pip("install", "--no-deps", "--target", str(folder / "headers"), *HEADER_WHEELS)
    return next((folder / "headers").glob("nvidia/*/include"))


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
        raise ErtError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr).strip()[-3000:]}")


def install(wheels: Path | None) -> str:
    """Bring PyCUDA into this environment unless it is there; what was done, in words. Raises ErtError."""
    if importlib.util.find_spec("pycuda"):
        return "PyCUDA is installed already."
    if wheels and any(wheels.glob("pycuda*")):
        pip("install", "--no-index", "--find-links", str(wheels), "pycuda", *BESIDE)
        return f"Installed PyCUDA from {wheels}."
    with tempfile.TemporaryDirectory(prefix="ert-pycuda-") as folder:
        wheel = build_wheel(find_driver_library(), Path(folder))
        pip("install", str(wheel), *BESIDE)
    return "Built PyCUDA and installed it."


def main() -> int:
    """Entry point of ``python -m ert.pycuda_setup``."""
    parser = argparse.ArgumentParser(prog="python -m ert.pycuda_setup", description=__doc__)
    parser.add_argument("--wheels", type=Path, help="folder with a carried wheel or source archive of PyCUDA and what it needs")
    try:
        print(install(parser.parse_args().wheels))
    except ErtError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
