"""Sweeps, spec sheets and limits shipped with ert."""
