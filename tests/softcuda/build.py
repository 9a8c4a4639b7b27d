"""Builds the soft driver: a folder with libcuda.so.1, libnvidia-ml.so.1 and an ``nvcc``, made once for each state of the sources."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import platformdirs

HERE = Path(__file__).resolve().parent
SHARED = ("g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")


def cache_folder() -> Path:
    """Kept between runs and clones."""
    return platformdirs.user_cache_path("ert-tests")


def driver_folder() -> Path:
    """The built driver, built now if need be; whole or absent, also when two runs build at once."""
    sources = sorted(path for folder in ("driver", "include") for path in (HERE / folder).iterdir())
    key = hashlib.sha256(b"\0".join(path.read_bytes() for path in [*sources, HERE / "soft_nvcc.py", Path(__file__)]))
    folder = cache_folder() / f"driver-{key.hexdigest()[:16]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(dir=folder.parent))
        _build(building)
        try:
            building.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    return folder


def _build(folder: Path) -> None:
    driver = [str(path) for path in sorted((HERE / "driver").glob("*.cpp")) if path.name != "nvml.cpp"]
    monitor = [str(HERE / "driver" / name) for name in ("nvml.cpp", "state.cpp")]
    _run([*SHARED, "-Wl,-soname,libcuda.so.1", "-o", str(folder / "libcuda.so.1"), *driver, "-ldl"])
    _run([*SHARED, "-Wl,-soname,libnvidia-ml.so.1", "-o", str(folder / "libnvidia-ml.so.1"), *monitor, "-ldl"])
    (folder / "libcuda.so").symlink_to("libcuda.so.1")
    (folder / "only-cuda").mkdir()
    (folder / "only-cuda" / "libcuda.so.1").symlink_to("../libcuda.so.1")
    # Copies, for the folder outlives this checkout.
    shutil.copy(HERE / "soft_nvcc.py", folder)
    shutil.copytree(HERE / "include", folder / "include")
    compiler = folder / "bin" / "nvcc"
    compiler.parent.mkdir()
    compiler.write_text('#!/bin/sh\nexec python3 "$(dirname "$0")/../soft_nvcc.py" "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


if __name__ == "__main__":
    print(driver_folder())
