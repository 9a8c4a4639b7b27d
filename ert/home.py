"""A home folder that is not there stays so: who may make everything (root in a container) must not make one for a cache."""

from __future__ import annotations

import os
from pathlib import Path


def home_folder() -> Path:
    """Of this user, which need not exist; ``~`` where nothing names one."""
    return Path(os.path.expanduser("~"))  # noqa: PTH111  (Path.expanduser raises where nothing names one)


def is_in_missing_home(folder: Path) -> bool:
    """Whether a folder cannot be made without making a home first."""
    return folder.is_relative_to(home_folder()) and not home_folder().exists()
