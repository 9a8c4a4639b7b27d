"""The rounded corners of a sweep: mixed points to fitted corners."""

from __future__ import annotations


def fit_corners(mixed, levels, peaks):
    return {}, []
