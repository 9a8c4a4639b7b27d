"""Exporters of ceilings files: one file per format, one line each here."""

from __future__ import annotations

from ert.exporters import carm, csv_table, ert110, kerncraft, latex, markdown, ncu_section, prometheus, rocprof
from ert.exporters.base import Export, Exporter

__all__ = ["EXPORTERS", "Export", "Exporter"]

EXPORTERS: dict[str, Exporter] = {
    "ert-json": Exporter("roofline.json of ERT 1.1.0, for its visualizer", ert110.write),
    "ncu-section": Exporter("a section file for Nsight Compute, with measured roofs", ncu_section.write),
    "rocprof": Exporter("roofline.csv of rocprof-compute", rocprof.write),
    "kerncraft": Exporter("a Kerncraft machine file with its benchmarks block", kerncraft.write),
    "carm": Exporter("roofline csv of the CARM tool", carm.write),
    "csv": Exporter("one row per ceiling, SI units", csv_table.write),
    "prometheus": Exporter("metrics for a node_exporter textfile collector", prometheus.write),
    "markdown": Exporter("tables for a README, an issue or a wiki", markdown.write),
    "latex": Exporter("tables for a paper (booktabs)", latex.write),
}
