"""PyCUDA linked with the soft driver, in a folder of its own: built once (a minute or two), kept between runs and clones."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ert.pycuda_setup import BESIDE, PYCUDA, build_wheel, pip
from softcuda.build import cache_folder, driver_folder

_NEEDS = ("pytools", "mako", *BESIDE)


def site_folder() -> Path:
    """The folder to put on PYTHONPATH; built now if need be, whole or absent."""
    folder = cache_folder() / f"{PYCUDA.replace('==', '-')}-{sys.implementation.cache_tag}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            site = Path(name) / "site"
            pip("install", "--target", str(site), *_NEEDS)
            wheel = build_wheel(driver_folder() / "libcuda.so.1", Path(name))
            pip("install", "--no-deps", "--target", str(site), str(wheel))
            try:
                site.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder
