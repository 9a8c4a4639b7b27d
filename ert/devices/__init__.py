"""The kinds of device: one line each."""

from __future__ import annotations
