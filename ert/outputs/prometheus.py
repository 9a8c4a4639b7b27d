"""The answers of a night as gauges for the textfile collector of the Prometheus node_exporter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ert.exposition import CEILING_METRICS, Metric, Sample, family
from ert.history import ANSWERS, Check
from ert.history_events import KINDS

_CHANGE = Metric("ert_change_ratio", "Ceiling over its rolling baseline, minus 1")
_EVENT = Metric("ert_event", "1 for every event of the last night, by kind")
_ANSWER = Metric("ert_device_answer", "1 for the answer of the device, 0 for the others")
_ALARM = Metric("ert_device_alarm", "1 if a loss is raised for the device")
_LAST_RUN = Metric("ert_last_run_timestamp_seconds", "When the device was last measured")


def prometheus_text(check: Check) -> str:
    """The file. A ceiling without a value has no line: its absence is what ``absent()`` asks for, 0 would be a lie."""
    samples: dict[Metric, list[Sample]] = {m: [] for m in (*CEILING_METRICS.values(), _CHANGE, _EVENT, _ANSWER, _ALARM, _LAST_RUN)}
    for metric, sample in _samples(check):
        samples[metric].append(sample)
    return "".join(family(metric, found) for metric, found in samples.items())


def _samples(check: Check) -> Iterator[tuple[Metric, Sample]]:
    for reading in check.readings:
        labels = {"host": reading.host, "device": reading.device, "ceiling": reading.ceiling}
        yield CEILING_METRICS[reading.unit], (labels, reading.value)
        if reading.baseline:
            yield _CHANGE, (labels, reading.value / reading.baseline - 1)
    for event in check.events:
        if event.date == check.night and event.kind in KINDS:
            yield _EVENT, ({"host": event.host, "device": event.device, "ceiling": event.ceiling or "", "kind": event.kind}, 1)
    for answer in check.answers:
        labels = {"host": answer.host, "device": answer.device}
        for each in ANSWERS:
            yield _ANSWER, ({**labels, "answer": each}, each == answer.answer)
        yield _ALARM, (labels, answer.answer == "look here")
        if answer.measured:
            yield _LAST_RUN, (labels, datetime.fromisoformat(answer.measured).timestamp())
