"""Where the parts of CUDA lie that building PyCUDA needs: the driver's library, a toolkit, headers."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ert.errors import ErtError

# What PyCUDA includes.
HEADERS = ("cuda.h", "cudaProfiler.h")
DRIVER = "libcuda.so.1"
_DEFAULT_TOOLKIT = Path("/usr/local/cuda")
_STUB = "lib64/stubs/libcuda.so"
# The first is where container runtimes mount the driver of the host; the compatibility package of a toolkit comes last.
_DRIVER_FOLDERS = (
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib64/nvidia",
    "/usr/lib/wsl/lib",
    "/usr/lib",
    "/run/opengl-driver/lib",
    "/usr/local/cuda/compat",
)


def find_toolkit() -> Path | None:
    """A CUDA toolkit with headers: $CUDA_HOME, else that of nvcc on PATH, else /usr/local/cuda."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    nvcc = shutil.which("nvcc")
    beside = [Path(nvcc).resolve().parent.parent] if nvcc else []
    return next((folder for folder in [*named, *beside, _DEFAULT_TOOLKIT] if _has_headers(folder / "include")), None)


def find_headers() -> Path | None:
    """A folder with the headers PyCUDA includes: of a toolkit, else of NVIDIA's wheels where another package brought them."""
    toolkit = find_toolkit()
    if toolkit:
        return toolkit / "include"
    return next(filter(_has_headers, folders_of_wheels("include")), None)


def header_folders(site: Path) -> list[Path]:
    """Of NVIDIA's wheels installed into ``site``; those for CUDA 12 have a folder each."""
    return sorted(site.glob("nvidia/*/include"))


def find_driver_library() -> Path | None:
    """libcuda.so.1 of the NVIDIA driver."""
    loaded = _loaded_driver()
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep), *_DRIVER_FOLDERS]
    candidates = [*([loaded] if loaded else []), *(Path(folder) / DRIVER for folder in folders if folder)]
    return next((path for path in candidates if path.exists()), None)


def find_link_library() -> Path:
    """What a program can be linked with: the driver's library, else the stub of a toolkit. Raises ErtError if there is neither."""
    toolkit = find_toolkit()
    found = find_driver_library() or (toolkit / _STUB if toolkit else None)
    if found is None or not found.exists():
        raise ErtError(f"There is no NVIDIA driver here (no {DRIVER}): PyCUDA has nothing to link with. Install the driver first.")
    return found


def _loaded_driver() -> Path | None:
    """The file that the system's loader finds, wherever its configuration has it."""
    with suppress(OSError):
        ctypes.CDLL(DRIVER)
        for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            name = line.partition("/")[2]
            if "libcuda.so" in name:
                return Path(f"/{name}")
    return None


def is_driver_loadable() -> bool:
    """Whether a program that is linked with the driver finds it."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return False
    return True


def cuda_major() -> int | None:
    """Of the newest CUDA the driver can run; None if it does not tell."""
    version, library = ctypes.c_int(), find_driver_library()
    if library is None:
        return None
    try:
        code = ctypes.CDLL(str(library)).cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return None
    return None if code else version.value // 1000


def library_folders() -> list[Path]:
    """Folders of the driver and the toolkit that the system's loader does not look into by itself."""
    driver, toolkit = None if is_driver_loadable() else find_driver_library(), find_toolkit()
    folders = [*([driver.parent] if driver else []), *([toolkit / "lib64"] if toolkit else [])]
    return [folder for folder in folders if folder.is_dir()]


def _has_headers(folder: Path) -> bool:
    return all((folder / name).is_file() for name in HEADERS)


def folders_of_wheels(name: str) -> Iterator[Path]:
    """The folders of this name (include, lib, bin) of NVIDIA's wheels, wherever this Python finds packages."""
    for entry in sys.path:
        yield from sorted(Path(entry).glob(f"nvidia/*/{name}"), reverse=True)
