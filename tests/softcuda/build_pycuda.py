"""Builds PyCUDA against the soft driver, once, and installs it into a folder of its own: there are no wheels of it.

Needs g++ and CUDA headers: those of a toolkit, else of the wheels nvidia-cuda-runtime and nvidia-cuda-profiler-api (fetched
into the same folder). Takes about 75 s the first time, nothing afterwards. Run it to see the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from softcuda.build import cache_folder, driver_folder

PYCUDA = "pycuda==2026.1"
NEEDS = ("pytools", "mako", "nvidia-ml-py")
HEADERS = ("nvidia-cuda-runtime", "nvidia-cuda-profiler-api", "nvidia-cuda-crt")
TOOLKITS = ("/usr/local/cuda",)


def site_folder() -> Path:
    """The folder to put on PYTHONPATH; built now if need be, whole or absent."""
    folder = cache_folder() / f"{PYCUDA.replace('==', '-')}-{sys.implementation.cache_tag}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            site = Path(name) / "site"
            _pip("install", "--target", str(site), *NEEDS)
            wheel = _build_wheel(Path(name))
            _pip("install", "--no-deps", "--target", str(site), str(wheel))
            try:
                site.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder


def _build_wheel(folder: Path) -> Path:
    driver = driver_folder()
    settings = {"CUDA_ENABLE_CURAND": "False", "CUDADRV_LIB_DIR": f"['{driver}']", "CUDA_INC_DIR": f"['{_headers(folder)}']"}
    options = [f"--config-settings=--global-option=--conf:{name}={value}" for name, value in settings.items()]
    _pip("wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", str(folder), *options, PYCUDA)
    return next(folder.glob("pycuda-*.whl"))


def _headers(folder: Path) -> Path:
    for toolkit in [os.environ.get("CUDA_HOME", ""), *TOOLKITS]:
        if (Path(toolkit) / "include" / "cuda.h").is_file():
            return Path(toolkit) / "include"
    _pip("install", "--no-deps", "--target", str(folder / "headers"), *HEADERS)
    return next((folder / "headers").glob("nvidia/*/include"))


def _pip(*arguments: str) -> None:
    # The bin folder of a toolkit goes first: PyCUDA looks for cuda.h beside the nvcc it finds on PATH.
    toolkits = os.pathsep.join(f"{toolkit}/bin" for toolkit in TOOLKITS if shutil.which("nvcc", path=f"{toolkit}/bin"))
    environment = {**os.environ, "PATH": f"{toolkits}{os.pathsep}{os.environ['PATH']}"} if toolkits else None
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    print(site_folder())
