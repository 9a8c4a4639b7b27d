"""Makes an environment on a machine without a network: ``python3 bench/offline_venv.py VENV WHEELS``.

What the Python that runs this has already is seen from the new environment, and only the rest has to be carried. pip comes from a
carried wheel, else from that Python. It needs nothing but that Python: no network, no ensurepip.
"""

from __future__ import annotations

import site
import subprocess
import sys
import venv
from pathlib import Path


def make(folder: Path, wheels: Path) -> None:
    """Make the environment anew. Raises CalledProcessError if pip cannot be had."""
    venv.EnvBuilder(clear=True, symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "ert-beside.pth").write_text("".join(map(line_for, folders_of_this_python())), encoding="utf-8")
    python = folder / "bin" / "python"
    carried = sorted(wheels.glob("pip-*.whl"))
    if carried:
        # A wheel of pip can run before it is installed.
        subprocess.run([python, carried[-1] / "pip", "install", "--quiet", "--no-index", "--force-reinstall", carried[-1]], check=True)
    elif subprocess.run([python, "-m", "pip", "--version"], check=False, capture_output=True).returncode:
        subprocess.run([python, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)


def folders_of_this_python() -> list[str]:
    """Where its packages lie. --system-site-packages would miss those of a Python that belongs to an environment itself."""
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [folder for folder in [*own, *site.getsitepackages()] if Path(folder).is_dir()]


def line_for(folder: str) -> str:
    """Of a .pth file; unlike a bare path this one also follows the .pth files in the folder."""
    return f"import site; site.addsitedir({folder!r})\n"


if __name__ == "__main__":
    try:
        make(Path(sys.argv[1]), Path(sys.argv[2]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"make: {sys.executable} has no pip, and none is carried: put a wheel of pip into {sys.argv[2]}. ({error})")
