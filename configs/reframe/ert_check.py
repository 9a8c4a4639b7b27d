"""ReFrame: sweep a device with ert; sane if the ceilings file is whole, as fast as a reference ceilings file says.

    reframe -c ert_check.py -r -S ert_sweep.device=0 -S ert_sweep.reference_file=/shared/reference.json

The reference is a ceilings file of a healthy device of the kind (`ert sweep --out`). Without one the check only asserts
that the sweep works, and logs the ceilings as performance variables all the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable

RESULT = "ceilings.json"


def roofs(document: dict) -> dict[str, tuple[float, str]]:
    """Name of a roof -> (value, unit), of a ceilings document (schema ert.ceilings, version 1)."""
    lists = document["ceilings"]
    found = {f"{c['level']}_bandwidth": (c["value"], "B/s") for c in lists["bandwidth"] if c["roof"]}
    found |= {f"{c['precision']}_{c['path']}_rate": (c["value"], "FLOP/s") for c in lists["compute"] if c["roof"]}
    return {re.sub(r"\W", "_", name): value for name, value in found.items()}


@rfm.simple_test
class ert_sweep(rfm.RunOnlyRegressionTest):  # noqa: N801  (the name on ReFrame's command line)
    """One device, one sweep."""

    descr = "Measured roofline against a reference ceilings file"
    valid_systems = ["*"]  # noqa: RUF012  (how ReFrame declares it)
    valid_prog_environs = ["*"]  # noqa: RUF012
    executable = "ert"
    num_tasks = 1
    time_limit = "30m"

    device = variable(str, value="")
    config = variable(str, value="default")
    reference_file = variable(str, value="")
    # What cards of one kind differ by (`ert history fleet`).
    tolerance = variable(float, value=0.03)

    @run_after("init")
    def sweep_the_device(self) -> None:
        chosen = ["--device", self.device] if self.device else []
        self.executable_opts = ["sweep", *chosen, "--config", self.config, "--out", ".", "--no-plot", "--json", RESULT]

    @run_before("performance")
    def compare_with_the_reference(self) -> None:
        """One performance variable per roof; the reference bounds it from below only."""
        measured = roofs(json.loads((Path(self.stagedir) / RESULT).read_text(encoding="utf-8")))
        self.perf_variables = {name: sn.make_performance_function(sn.defer(value), unit) for name, (value, unit) in measured.items()}
        if self.reference_file:
            expected = roofs(json.loads(Path(self.reference_file).read_text(encoding="utf-8")))
            bounds = {name: (value, -self.tolerance, None, unit) for name, (value, unit) in expected.items() if name in measured}
            self.reference = {"*": bounds}

    @sanity_function
    def the_file_is_whole(self) -> object:
        """Ceilings of every kind, and every roof of the reference among them."""
        document = json.loads((Path(self.stagedir) / RESULT).read_text(encoding="utf-8"))
        found = roofs(document)
        expected = roofs(json.loads(Path(self.reference_file).read_text(encoding="utf-8"))) if self.reference_file else {}
        missing = sorted(set(expected) - set(found))
        return sn.all(
            [
                sn.assert_eq(document["schema"], "ert.ceilings"),
                sn.assert_true(any(unit == "B/s" for _, unit in found.values()), "no bandwidth was measured"),
                sn.assert_true(any(unit == "FLOP/s" for _, unit in found.values()), "no rate was measured"),
                sn.assert_false(missing, f"roofs of the reference that were not measured: {', '.join(missing)}"),
            ]
        )
