"""What every test shares: one cache of compiled kernels for the whole run, away from the user's own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says something of the machine, not of the code. In CI the examples are the same every time, so that a
# change is judged by itself; on a person's machine new ones are tried in every run.
settings.register_profile("ert", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("ert")

# The width of the terminal that starts the tests, which tables would fold themselves to; xdist sets it, too.
os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Before anything asks: ``hostcc`` looks for its cache once per process, and programs started by tests inherit it."""
    folder = tmp_path_factory.mktemp("kernel-cache")
    os.environ["ERT_CACHE_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of tests write here; locks too, since a sweep of the person at this machine must not meet those of tests."""
    folder = tmp_path_factory.mktemp("temporary")
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    os.environ["ERT_LOCK_DIR"] = str(folder)
    return folder
