"""Events as JSON lines, for what collects logs (journald, Loki, Splunk, Elastic)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from ert.codec import encode
from ert.errors import ErtError
from ert.files import write_remedy
from ert.history_events import Event
from ert.jsontypes import Json


def event_lines(events: Sequence[Event]) -> str:
    """One JSON object a line: the fields of the event, and whether it is an alarm."""
    rows = [
        {"schema": "ert.event", "schema_version": 1, **cast(dict[str, Json], encode(event)), "alarm": event.is_alarm} for event in events
    ]
    return "".join(json.dumps(row, allow_nan=False, ensure_ascii=False) + "\n" for row in rows)


def append_events(path: Path, events: Sequence[Event]) -> None:
    """Append in one write, so that lines of several writers do not mix. Raises ErtError if it cannot be written."""
    content = event_lines(events).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ErtError(f"{path}: cannot be written: {error.strerror or error}. {write_remedy(error)}") from error
