"""Metrics in the text exposition format of Prometheus, and the names of those that hold a ceiling, whoever writes them.

Names follow its naming practice: base units, the unit as suffix, one unit a metric. Source:
https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4), https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]
Sample = tuple[Labels, float]


@dataclass(frozen=True, slots=True)
class Metric:
    """A gauge. ``help`` is a sentence without its full stop."""

    name: str
    help: str


# Unit of a ceiling -> its metric. One text for all writers: a collector refuses two of one name.
CEILING_METRICS = {
    "B/s": Metric("ert_bandwidth_bytes_per_second", "Sustained bandwidth of a memory level"),
    "FLOP/s": Metric("ert_rate_flops_per_second", "Sustained rate of a precision"),
    "OP/s": Metric("ert_rate_operations_per_second", "Sustained rate of an integer precision"),
}


def family(metric: Metric, samples: Iterable[Sample]) -> str:
    """A metric with its samples, each set of labels once, as the format demands; empty without samples."""
    lines = dict.fromkeys(f"{metric.name}{{{_written(labels)}}} {float(value)!r}" for labels, value in samples)
    if not lines:
        return ""
    return "\n".join([f"# HELP {metric.name} {metric.help}.", f"# TYPE {metric.name} gauge", *lines]) + "\n"


def _written(labels: Labels) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
