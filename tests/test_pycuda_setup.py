"""What setting up PyCUDA asks of pip: nothing is fetched when something is carried, and a build knows where headers and driver are."""

import sys
from pathlib import Path

import pytest

from ert import pycuda_setup
from ert.errors import ErtError, KernelError
from ert.pycuda_setup import Source, carried, install, main

TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
BUILT = f"pycuda-2026.1-{TAG}-{TAG}-linux_x86_64.whl"


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with a driver and compilers but no PyCUDA; returns the pip commands it gets."""
    commands: list[tuple[str, ...]] = []

    def pip(*words: str) -> None:
        commands.append(words)
        if words[0] == "wheel":
            (Path(words[words.index("--wheel-dir") + 1]) / BUILT).touch()
        if "--target" in words:
            (Path(words[words.index("--target") + 1]) / "nvidia" / "cu13" / "include").mkdir(parents=True)

    monkeypatch.setattr(pycuda_setup, "pip", pip)
    monkeypatch.setattr(pycuda_setup.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(pycuda_setup, "find_link_library", lambda: tmp_path / "libcuda.so.1")
    monkeypatch.setattr(pycuda_setup, "find_headers", lambda: Path("/toolkit/include"))
    monkeypatch.setattr(pycuda_setup, "find_compiler", lambda: "nvcc")
    monkeypatch.setattr(pycuda_setup, "find_nvdisasm", lambda: "nvdisasm")
    monkeypatch.setattr(pycuda_setup, "cuda_major", lambda: 13)
    monkeypatch.setattr(pycuda_setup, "_why_unusable", lambda: None)
    return commands


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    return folder


def carry(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


def lacks(monkeypatch, finder: str) -> None:
    def missing():
        raise KernelError("there is none")

    monkeypatch.setattr(pycuda_setup, finder, missing)


def test_an_empty_or_absent_folder_carries_nothing(wheels, tmp_path):
    assert carried(None) == carried(tmp_path / "nowhere") == carried(wheels) == Source()
    carry(wheels, "mako-1.4-py3-none-any.whl")
    assert carried(wheels).options == ("--no-index", "--find-links", str(wheels))


def test_files_of_a_package_are_told_from_those_of_its_namesakes(wheels):
    carry(wheels, "pycuda-2026.1.tar.gz", "pycuda-extra-1.tar.gz", "nvidia_cublas-13.1-py3-none-any.whl", "nvidia_cublas_cu12-12.8.whl")
    assert [path.name for path in Source(wheels).files("pycuda")] == ["pycuda-2026.1.tar.gz"]
    assert [path.name for path in Source(wheels).files("nvidia-cublas")] == ["nvidia_cublas-13.1-py3-none-any.whl"]


def test_pycuda_that_is_there_is_left_alone(machine, monkeypatch):
    monkeypatch.setattr(pycuda_setup.importlib.util, "find_spec", lambda _name: "there")
    assert install(None) == ["PyCUDA is installed already."]
    assert machine == []


def test_with_a_network_it_is_built_from_the_index(machine):
    assert install(None) == ["Built PyCUDA and installed it."]
    build, put, _ = machine
    assert build[0] == "wheel"
    assert not any("--no-index" in words for words in machine)
    assert not any("--no-build-isolation" in words for words in machine)
    assert Path(put[-1]).name == BUILT


def test_a_carried_archive_is_built_with_the_same_settings_and_without_an_index(machine, wheels):
    carry(wheels, "pycuda-2026.1.tar.gz")
    install(wheels)
    assert all("--no-index" in words or "--no-deps" in words for words in machine)
    (build,) = [words for words in machine if words[0] == "wheel"]
    assert "--no-build-isolation" in build
    assert "--config-settings=--global-option=--conf:CUDA_INC_DIR=['/toolkit/include']" in build
    assert any("CUDADRV_LIB_DIR=['" in word and word.endswith("/link']") for word in build)


def test_a_carried_wheel_for_this_python_is_installed_as_it_is(machine, wheels):
    carry(wheels, BUILT, "pycuda-2026.1.tar.gz")
    assert install(wheels) == [f"Installed {BUILT}."]
    assert [words[0] for words in machine] == ["install"]


def test_a_carried_wheel_for_another_python_is_passed_over(machine, wheels):
    carry(wheels, "pycuda-2026.1-cp39-cp39-linux_x86_64.whl", "pycuda-2026.1.tar.gz")
    assert install(wheels) == ["Built PyCUDA and installed it."]


def test_a_carried_wheel_that_does_not_load_here_is_built_anew(machine, wheels, monkeypatch, capsys):
    carry(wheels, BUILT, "pycuda-2026.1.tar.gz")
    monkeypatch.setattr(pycuda_setup, "_why_unusable", lambda: "ImportError: version GLIBC_2.99 not found")
    assert install(wheels) == ["Built PyCUDA and installed it."]
    assert "does not work here (ImportError: version GLIBC_2.99 not found)" in capsys.readouterr().err


@pytest.mark.parametrize(("major", "suffix"), [(13, ""), (12, "-cu12"), (None, "")])
def test_without_a_toolkit_headers_and_compiler_come_from_wheels_that_the_driver_can_run(machine, monkeypatch, major, suffix):
    monkeypatch.setattr(pycuda_setup, "find_headers", lambda: None)
    monkeypatch.setattr(pycuda_setup, "cuda_major", lambda: major)
    lacks(monkeypatch, "find_compiler")
    assert install(None)[1] == f"Installed nvidia-cuda-nvrtc{suffix}: a CUDA compiler."
    (headers,) = [words for words in machine if "--target" in words]
    assert headers[-2:] == (f"nvidia-cuda-runtime{suffix}", f"nvidia-cuda-profiler-api{suffix}")
    (build,) = [words for words in machine if words[0] == "wheel"]
    assert any(word.endswith("/nvidia/cu13/include']") for word in build)


def test_a_part_that_cannot_be_had_is_said_and_costs_nothing_else(machine, monkeypatch):
    lacks(monkeypatch, "find_nvdisasm")
    pip = pycuda_setup.pip

    def without_it(*words: str) -> None:
        if "nvidia-cuda-nvdisasm" in words:
            raise ErtError("no such package")
        pip(*words)

    monkeypatch.setattr(pycuda_setup, "pip", without_it)
    done = install(None)
    assert done == ["Built PyCUDA and installed it.", "There is no disassembler here: nvidia-cuda-nvdisasm could not be installed."]


def test_cublas_is_installed_only_where_somebody_carried_it(machine, wheels):
    carry(wheels, BUILT, "nvidia_cublas-13.1-py3-none-any.whl")
    assert install(wheels)[-1] == "Installed nvidia-cublas: cuBLAS."


def test_a_wheel_can_be_built_for_another_machine(machine, wheels, capsys):
    assert main(["--keep-wheel", "--wheels", str(wheels)]) == 0
    assert (wheels / BUILT).is_file()
    assert capsys.readouterr().out == f"Built {wheels / BUILT}.\n"


def test_a_wheel_to_keep_needs_a_folder():
    with pytest.raises(SystemExit) as ended:
        main(["--keep-wheel"])
    assert ended.value.code == 2


def test_a_machine_without_a_driver_is_told_so(machine, monkeypatch, capsys):
    def none_here():
        raise ErtError("There is no NVIDIA driver here.")

    monkeypatch.setattr(pycuda_setup, "find_link_library", none_here)
    assert main([]) == 1
    assert capsys.readouterr().err == "Error: There is no NVIDIA driver here.\n"
