"""What is installed is complete: the wheel holds kernels, sweeps, tables and schemas, and works from another folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("ert", "kernels_cpu", "kernels_cu", "configs")
TINY = """
[budget]
total_s = 0.2
[sampling]
per_visit = 6
min_samples = 6
[curve]
points_per_octave = 1
largest_bytes = 1048576
largest_per_cache = 1
[levels]
only = ["L1"]
[kernels.mixed]
ERT_FLOPS = [1]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build leaves files behind, and must not find those of an earlier one."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SHIPPED:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([*pip, "--wheel-dir", str(out), str(source)], check=True)
    (built,) = out.glob("ert_roofline-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files in a folder of their own, to be put before the checkout on the path."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def program(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from ert.cli import main; sys.argv[0] = 'ert'; main()"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    environment.pop("ERT_KERNELS_CPU", None)
    return subprocess.run([sys.executable, "-c", code, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def shipped(folder: str, pattern: str) -> set[str]:
    return {str(file.relative_to(ROOT / folder)) for file in (ROOT / folder).rglob(pattern)}


@pytest.mark.parametrize(
    ("folder", "package", "pattern"),
    [
        ("ert", "ert", "*.py"),
        ("ert/schema", "ert/schema", "*.json"),
        ("kernels_cpu", "ert/kernels_cpu", "*.[ch]"),
        ("kernels_cu", "ert/kernels_cu", "*.cu*"),
        ("configs", "ert/configs", "*.toml"),
    ],
)
def test_the_wheel_holds_every_file_of(wheel: Path, folder: str, package: str, pattern: str):
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {f"{package}/{name}" for name in shipped(folder, pattern)}
    assert len(wanted) > 3
    assert sorted(wanted - names) == []


def test_every_file_beside_a_module_that_is_no_module_is_in_the_wheel(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {file for file in (ROOT / "ert").rglob("*") if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts}
    assert sorted(str(f.relative_to(ROOT)) for f in data if str(f.relative_to(ROOT)) not in names) == []


def test_the_wheel_holds_no_tests_and_no_results(wheel: Path):
    assert {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist() if ".dist-info" not in name} == {"ert"}


def test_kernels_and_configs_are_found_in_the_installed_package_from_another_folder(installed: Path, tmp_path: Path):
    done = program(installed, tmp_path, "kernels", "fma", "--kind", "cpu")
    assert done.returncode == 0, done.stderr
    source = next(line.split(maxsplit=1)[1].strip() for line in done.stdout.splitlines() if line.startswith("source"))
    assert Path(source) == installed / "ert/kernels_cpu/fma.c"


def test_an_installed_ert_sweeps_shows_and_plots_from_another_folder(installed: Path, tmp_path: Path):
    (tmp_path / "tiny.toml").write_text(TINY)
    done = program(installed, tmp_path, "sweep", "--device", "cpu", "--threads", "1", "--config", "tiny.toml", "--out", "out", "--no-plot")
    assert done.returncode == 0, done.stderr
    (ceilings,) = (tmp_path / "out/cpu").glob("*.json")
    # Which ceilings so short a sweep finds is up to the machine; that it measured and can be read again is up to the package.
    assert "Made by: ert sweep" in program(installed, tmp_path, "show", str(ceilings)).stdout
    kept = ROOT / "tests/data/ceilings/cpu.json"
    assert program(installed, tmp_path, "plot", str(kept), "-o", "roofline.svg").returncode == 0
    assert (tmp_path / "roofline.svg").read_text().lstrip().startswith("<?xml")


def test_help_imports_no_package_that_takes_long():
    code = (
        "import sys, ert.cli; ert.cli.execute(ert.cli.cli, ['--help']); "
        "sys.exit(' '.join({'numpy', 'scipy', 'matplotlib', 'pandas'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "doctor" in done.stdout
