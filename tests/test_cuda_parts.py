"""Where parts of CUDA are found, in folders that the tests make."""

import sys
from pathlib import Path

import pytest

from ert import cuda_parts
from ert.cuda_parts import (
    find_driver_library,
    find_headers,
    find_link_library,
    find_toolkit,
    folders_of_wheels,
    header_folders,
    library_folders,
)
from ert.errors import ErtError

HEADERS = ("cuda.h", "cudaProfiler.h")


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """A machine with nothing of CUDA."""
    for name in ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(cuda_parts, "_DRIVER_FOLDERS", ())
    monkeypatch.setattr(cuda_parts, "_DEFAULT_TOOLKIT", tmp_path / "usr-local-cuda")
    monkeypatch.setattr(cuda_parts, "DRIVER", "libcuda-of-these-tests.so.1")
    monkeypatch.setattr(sys, "path", [])


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def toolkit_in(folder: Path) -> Path:
    touch(*(folder / "include" / name for name in HEADERS), folder / "lib64" / "stubs" / "libcuda.so")
    return folder


def test_a_bare_machine_has_nothing():
    assert (find_toolkit(), find_headers(), find_driver_library(), library_folders()) == (None, None, None, [])
    with pytest.raises(ErtError, match="no NVIDIA driver here"):
        find_link_library()


def test_the_toolkit_that_is_named_comes_before_others(tmp_path, monkeypatch):
    toolkit_in(tmp_path / "usr-local-cuda")
    assert find_toolkit() == tmp_path / "usr-local-cuda"
    monkeypatch.setenv("CUDA_HOME", str(toolkit_in(tmp_path / "named")))
    assert find_toolkit() == tmp_path / "named"


def test_a_toolkit_is_found_by_its_nvcc_also_behind_a_link(tmp_path, monkeypatch):
    nvcc = toolkit_in(tmp_path / "cuda-13") / "bin" / "nvcc"
    touch(nvcc)
    nvcc.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").symlink_to(nvcc)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_toolkit() == tmp_path / "cuda-13"


def test_a_folder_without_all_headers_is_no_toolkit(tmp_path, monkeypatch):
    touch(tmp_path / "half" / "include" / "cuda.h")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "half"))
    assert find_toolkit() is None


def test_headers_that_another_package_brought_do(tmp_path, monkeypatch):
    include = tmp_path / "site" / "nvidia" / "cu13" / "include"
    touch(*(include / name for name in HEADERS))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    assert find_headers() == include
    assert find_headers() == header_folders(tmp_path / "site")[0]


def test_the_driver_is_found_in_the_path_of_libraries(tmp_path, monkeypatch):
    touch(tmp_path / "b" / cuda_parts.DRIVER)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path / 'a'}::{tmp_path / 'b'}")
    assert find_driver_library() == tmp_path / "b" / cuda_parts.DRIVER


def test_without_a_driver_the_stub_of_a_toolkit_can_be_linked_with(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(toolkit_in(tmp_path)))
    assert find_link_library() == tmp_path / "lib64" / "stubs" / "libcuda.so"


def test_folders_the_loader_does_not_know_are_named(tmp_path, monkeypatch):
    touch(tmp_path / "nvidia" / cuda_parts.DRIVER)
    monkeypatch.setattr(cuda_parts, "_DRIVER_FOLDERS", (str(tmp_path / "nvidia"),))
    monkeypatch.setenv("CUDA_HOME", str(toolkit_in(tmp_path / "cuda")))
    assert library_folders() == [tmp_path / "nvidia", tmp_path / "cuda" / "lib64"]


def test_wheels_of_this_environment_come_before_those_of_the_python_below_it(tmp_path, monkeypatch):
    above, below = tmp_path / "venv" / "site-packages", tmp_path / "base" / "site-packages"
    touch(*(site / "nvidia" / "cu13" / "bin" / "nvdisasm" for site in (above, below)), below / "nvidia" / "cublas" / "bin" / "x")
    monkeypatch.setattr(sys, "path", [str(above), str(below)])
    first, *others = folders_of_wheels("bin")
    assert first == above / "nvidia" / "cu13" / "bin"
    assert set(others) == {below / "nvidia" / "cu13" / "bin", below / "nvidia" / "cublas" / "bin"}
    assert list(folders_of_wheels("lib")) == []
