"""ert: an empirical roofline toolkit. Measures the ceilings a machine really reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["load"]

if TYPE_CHECKING:
    from ert.ceilings import load


def __getattr__(name: str) -> object:
    """``ert.load`` on first use, so that ``import ert`` and ``ert --help`` stay fast."""
    if name == "load":
        from ert.ceilings import load  # noqa: PLC0415  (the point of this function)

        return load
    raise AttributeError(f"module 'ert' has no attribute '{name}'")
