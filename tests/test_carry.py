"""What is carried to a machine without a network, and the environment that is made of it there."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import carry
from carry import Target, collect, needs_of, reached
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
NAMES = st.sampled_from("abcdef")


def made_wheel(folder: Path, name: str, *requires: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {text}" for text in requires), "", ""]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}-1.0.dist-info/METADATA", "\n".join(lines))
        archive.writestr(f"{name}/vendor/other-2.0.dist-info/METADATA", "Name: other\n")
    return path


def test_needs_are_those_of_the_other_python_without_extras(tmp_path):
    wheel = made_wheel(
        tmp_path, "Some_Thing", "numpy>=1", 'old; python_version < "3.12"', 'new; python_version >= "3.12"', 'x; extra == "y"'
    )
    assert needs_of(wheel, "3.12") == ("some-thing", ["numpy", "new"])
    assert needs_of(wheel, "3.11") == ("some-thing", ["numpy", "old"])


def test_what_only_a_package_needs_that_is_there_already_stays_behind():
    needs = {"ert": ["matplotlib", "rich"], "matplotlib": ["pillow", "numpy"], "rich": ["numpy"]}
    assert reached(["ert"], needs, {"matplotlib"}) == {"ert", "rich", "numpy"}


@given(st.sets(NAMES), st.dictionaries(NAMES, st.lists(NAMES)), st.sets(NAMES))
def test_what_is_carried_is_complete_and_nothing_that_is_there(roots, needs, has):
    found = reached(roots, needs, has)
    assert not found & has
    assert roots - has <= found
    assert {need for name in found for need in needs.get(name, ())} - has <= found


def test_wheels_are_asked_for_that_run_on_an_older_c_library():
    options = Target("3.12", "aarch64").options
    platforms = [word for word in options if word.startswith("manylinux")]
    assert "manylinux_2_28_aarch64" in platforms
    assert "manylinux2014_aarch64" in platforms
    assert not any(word.endswith("x86_64") or "_2_29_" in word for word in platforms)
    assert options[options.index("--python-version") + 1] == "3.12"


def test_the_folder_gets_what_is_reached_and_the_archive_of_pycuda(tmp_path, monkeypatch):
    def pip_download(*words: str) -> None:
        folder = Path(words[words.index("--dest") + 1])
        if "--no-binary=pycuda" in words:
            (folder / "pycuda-2026.1.tar.gz").touch()
        elif "nvidia-cuda-nvrtc" in words:
            made_wheel(folder, "nvidia_cuda_nvrtc")
        else:
            for name, requires in (("matplotlib", ("pillow",)), ("pillow", ()), ("jsonschema", ("attrs",)), ("attrs", ())):
                made_wheel(folder, name, *requires)

    monkeypatch.setattr(carry, "pip_download", pip_download)
    collect(tmp_path / "wheels", Target(), {"matplotlib"}, ["nvidia-cuda-nvrtc"])
    names = {path.name.partition("-")[0] for path in (tmp_path / "wheels").iterdir()}
    assert names == {"pycuda", "nvidia_cuda_nvrtc", "jsonschema", "attrs"}


# Of a machine that reaches no index, whatever its configuration says.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_INDEX_URL": "http://127.0.0.1:9/", "HTTPS_PROXY": "http://127.0.0.1:9/", "PIP_FIND_LINKS": ""}


def test_make_sets_up_a_checkout_without_a_network_from_what_python_has_and_what_is_carried(tmp_path):
    checkout, wheels = tmp_path / "checkout", tmp_path / "wheels"
    for name in ("ert", "kernels_cpu", "kernels_cu", "configs", "bench"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "Makefile", "gpu.mk"):
        shutil.copy(ROOT / name, checkout)
    wheels.mkdir()
    made_wheel(wheels, "something")
    make = ["make", ".venv/installed", f"PYTHON={sys.executable}", f"WHEELS={wheels}"]
    done = subprocess.run(make, cwd=checkout, env={**os.environ, **OFFLINE}, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    assert f"from {wheels}, without a network" in done.stderr
    code = "import ert, numpy, pathlib; print(pathlib.Path(ert.__file__).parent.parent)"
    found = subprocess.run([checkout / ".venv/bin/python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()) == checkout
    shown = subprocess.run([checkout / ".venv/bin/ert", "kernels", "fma"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr


def test_without_carried_wheels_make_takes_the_index(tmp_path):
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", f"VENV={tmp_path / 'venv'}", f"WHEELS={tmp_path}", f"{tmp_path / 'venv'}/installed"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--editable ." in done.stdout
    assert "--no-index" not in done.stdout
