"""A text file for the textfile collector of the Prometheus node_exporter.

Source: Prometheus exposition formats, text format 0.0.4; names follow its naming practice (base units, unit as suffix).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

from ert.history import ANSWERS, Check
from ert.history_events import KINDS

_RATES = {"B/s": "ert_bandwidth_bytes_per_second", "FLOP/s": "ert_rate_flops_per_second", "OP/s": "ert_rate_operations_per_second"}
_HELP = {
    "ert_bandwidth_bytes_per_second": "Measured ceiling of a memory level.",
    "ert_rate_flops_per_second": "Measured ceiling of a precision.",
    "ert_rate_operations_per_second": "Measured ceiling of an integer precision.",
    "ert_change_ratio": "Ceiling over its rolling baseline, minus 1.",
    "ert_event": "1 for every event of the last night, by kind.",
    "ert_device_answer": "1 for the answer of the device, 0 for the others.",
    "ert_device_alarm": "1 if a loss is raised for the device.",
    "ert_last_run_timestamp_seconds": "When the device was last measured.",
}

Labels = dict[str, str]


def prometheus_text(check: Check) -> str:
    """The file. A ceiling without a value has no line: its absence is what ``absent()`` asks for, 0 would be a lie."""
    samples: dict[str, list[tuple[Labels, float]]] = {name: [] for name in _HELP}
    for name, labels, value in _samples(check):
        samples[name].append((labels, value))
    return "".join(_family(name, lines) for name, lines in samples.items() if lines)


def _samples(check: Check) -> Iterator[tuple[str, Labels, float]]:
    for reading in check.readings:
        labels = {"host": reading.host, "device": reading.device, "ceiling": reading.ceiling}
        yield _RATES[reading.unit], labels, reading.value
        if reading.baseline:
            yield "ert_change_ratio", labels, reading.value / reading.baseline - 1
    for event in check.events:
        if event.date == check.night and event.kind in KINDS:
            yield "ert_event", {"host": event.host, "device": event.device, "ceiling": event.ceiling or "", "kind": event.kind}, 1.0
    for answer in check.answers:
        labels = {"host": answer.host, "device": answer.device}
        for each in ANSWERS:
            yield "ert_device_answer", {**labels, "answer": each}, float(each == answer.answer)
        yield "ert_device_alarm", labels, float(answer.answer == "look here")
        if answer.measured:
            yield "ert_last_run_timestamp_seconds", labels, datetime.datetime.fromisoformat(answer.measured).timestamp()


def _family(name: str, samples: Iterable[tuple[Labels, float]]) -> str:
    # A metric may show a set of labels once only; a kind may be raised twice for a device.
    lines = dict.fromkeys(f"{name}{{{_labels(labels)}}} {value!r}" for labels, value in samples)
    return f"# HELP {name} {_HELP[name]}\n# TYPE {name} gauge\n" + "".join(f"{line}\n" for line in lines)


def _labels(labels: Labels) -> str:
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
