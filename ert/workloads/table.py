"""Predictions as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ert.jsontypes import Json
from ert.workloads.predictions import Prediction


def prediction_table(predictions: Sequence[Prediction]) -> Table:
    """One row per prediction."""
    table = Table(title="Predictions", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("experiment", "the model says", "predicted", "measured", "verdict"):
        table.add_column(name, justify="right" if name in ("predicted", "measured") else "left", overflow="fold")
    for p in predictions:
        predicted = "above 1" if p.predicted is None else f"x {p.predicted:.3g}"
        table.add_row(
            *map(Text, (p.series, p.statement, predicted, f"x {p.measured:.3g}", f"{p.verdict}; {p.remark}" if p.remark else p.verdict))
        )
    return table


def predictions_json(predictions: Sequence[Prediction]) -> list[Json]:
    """For the ``predictions`` of the document that `ert run --json` writes."""
    return [
        {
            "experiment": p.series,
            "statement": p.statement,
            "predicted": p.predicted,
            "measured": p.measured,
            "verdict": p.verdict,
            "remark": p.remark,
        }
        for p in predictions
    ]
