"""The ceilings file: what a sweep found, as frozen dataclasses, and its reading and writing.

kinds.py   ceilings of a memory level and of a precision, and the roofs they make
point.py   a measured point, with its samples
model.py   ``Ceilings``: the whole of it, and what it can be asked
check.py   what a file must not contradict itself in
file.py    JSON: load, save, migrations
"""

from __future__ import annotations

from ert.ceilings.file import load, save
from ert.ceilings.model import Ceilings

__all__ = ["Ceilings", "load", "save"]
