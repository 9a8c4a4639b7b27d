"""Moments as files keep them: UTC, to the second, sortable as text."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_text(moment: datetime) -> str:
    """``2026-12-01T02:00:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now() -> str:
    """The present moment, as ``utc_text`` writes it."""
    return utc_text(datetime.now(UTC))
