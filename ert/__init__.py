"""ert: an empirical roofline toolkit. Measures the ceilings a machine really reaches."""

from __future__ import annotations

__version__ = "0.1.0"
