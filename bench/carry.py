"""`make wheels`: fetches what a GPU machine without a network needs into one folder, and says how much there is to carry.

The other machine may have another version of Python, and packages of its own: those named with --has are left out, and so is what
only they need. PyCUDA comes as a source archive, which is built there; NVIDIA's wheels only where no CUDA toolkit is.
"""

from __future__ import annotations

import argparse
import configparser
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ert.pycuda_setup import BESIDE, HEADER_WHEELS, PYCUDA

ROOT = Path(__file__).resolve().parent.parent
# What installing itself needs, and what PyCUDA needs (its source archive does not say so to pip).
ALWAYS = ("pip", "setuptools", "typing-extensions", *BESIDE, "pytools", "mako", "platformdirs")
# Carried even to a machine that has them: theirs may be too old to install anything.
OWN_VERSION = {"pip", "setuptools"}
WITHOUT_TOOLKIT = (*HEADER_WHEELS, "nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm")
CUBLAS = ("nvidia-cublas",)
# Old enough for every Linux that still gets a driver: wheels for this C library or an older one are taken.
GLIBC_MINOR = 28
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """The other machine."""

    python: str = f"{sys.version_info.major}.{sys.version_info.minor}"
    machine: str = "x86_64"

    @property
    def options(self) -> list[str]:
        """Of pip, to choose wheels for it."""
        platforms = [f"manylinux_2_{minor}_{self.machine}" for minor in range(GLIBC_MINOR, 4, -1)]
        platforms += [f"manylinux{name}_{self.machine}" for name in ("2014", "2010", "1")]
        words = ["--only-binary=:all:", "--implementation", "cp", "--python-version", self.python]
        return words + [word for platform in platforms for word in ("--platform", platform)]


def requirements() -> list[str]:
    """What ert itself needs."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config["options"]["install_requires"].split()


def pip_download(*words: str) -> None:
    """Raises CalledProcessError; pip has said why."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--quiet", "--disable-pip-version-check", *words], check=True)


def needs_of(wheel: Path, python: str) -> tuple[str, list[str]]:
    """Its name, and the names of what it needs there."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
        fields = HeaderParser().parsestr(archive.read(name).decode())
    wanted = [Requirement(text) for text in fields.get_all("Requires-Dist", [])]
    there = {"python_version": python, "extra": ""}
    return canonicalize_name(fields["Name"]), [canonicalize_name(r.name) for r in wanted if not r.marker or r.marker.evaluate(there)]


def reached(roots: Iterable[str], needs: Mapping[str, Sequence[str]], has: Collection[str]) -> set[str]:
    """The packages to carry: from the roots along their needs, not through what is there already."""
    found: set[str] = set()
    ahead = list(roots)
    while ahead:
        name = ahead.pop()
        if name not in found and name not in has:
            found.add(name)
            ahead += needs.get(name, ())
    return found


def collect(folder: Path, target: Target, has: Collection[str], nvidia: Sequence[str]) -> None:
    """Fill the folder. Raises CalledProcessError."""
    roots = [*requirements(), *ALWAYS]
    with tempfile.TemporaryDirectory(prefix="ert-wheels-") as name:
        fetched = Path(name)
        pip_download("--dest", name, *target.options, *roots)
        pip_download("--dest", name, "--no-deps", f"--no-binary={PYCUDA.partition('=')[0]}", PYCUDA)
        if nvidia:
            pip_download("--dest", name, "--no-deps", *target.options, *nvidia)
        wheels = {path: needs_of(path, target.python) for path in fetched.glob("*.whl")}
        root_names = [canonicalize_name(Requirement(root).name) for root in (*roots, *nvidia)]
        kept = reached(root_names, dict(wheels.values()), has)
        folder.mkdir(parents=True, exist_ok=True)
        for path in [*fetched.glob("*.tar.gz"), *(path for path, (package, _) in wheels.items() if package in kept)]:
            shutil.copy(path, folder)


def main() -> int:
    """Fetch, and list what is there with its sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--python", default=Target().python, help="version of Python there  [default: as here]")
    parser.add_argument("--machine", default="x86_64", choices=("x86_64", "aarch64"))
    parser.add_argument("--has", default="", help="names of packages that are there already")
    parser.add_argument("--no-toolkit", action="store_true", help="there is no CUDA toolkit: headers, compiler and disassembler, too")
    parser.add_argument("--cublas", action="store_true", help="cuBLAS, too: half a gigabyte")
    chosen = parser.parse_args()
    has = {canonicalize_name(name) for name in re.split(r"[\s,]+", chosen.has) if name} - OWN_VERSION
    nvidia = [*(WITHOUT_TOOLKIT if chosen.no_toolkit else ()), *(CUBLAS if chosen.cublas else ())]
    try:
        collect(chosen.folder, Target(chosen.python, chosen.machine), has, nvidia)
    except subprocess.CalledProcessError as error:
        print(f"Error: {' '.join(map(str, error.cmd[:4]))} ended with status {error.returncode}. It needs a network.", file=sys.stderr)
        return 1
    files = sorted(chosen.folder.iterdir(), key=lambda path: -path.stat().st_size)
    for path in files:
        print(f"{path.stat().st_size / MEBIBYTE:8.1f} MiB  {path.name}")
    print(f"{sum(path.stat().st_size for path in files) / MEBIBYTE:8.1f} MiB  in {len(files)} files: carry {chosen.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
