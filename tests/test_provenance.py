"""The line that stands with every table and picture."""

from __future__ import annotations

from dataclasses import replace

from make_ceilings import DATA, make_ceilings

from ert.ceilings import Ceilings, load
from ert.ceilings.model import Tool
from ert.provenance import provenance

CPU = load(DATA / "cpu.json")
SYNTHETIC = make_ceilings({"L2": 5e12, "DRAM": 2e12}, {("fp32", "vector"): 2e13})


def with_clocks(*clocks_hz: float | None) -> Ceilings:
    rows = tuple(replace(c, clock_hz=hz) for c, hz in zip(SYNTHETIC.bandwidth_ceilings, clocks_hz, strict=True))
    return replace(SYNTHETIC, bandwidth_ceilings=rows)


def test_device_date_tool_threads_and_command_of_the_kept_file():
    found = provenance(CPU)
    assert found.device == "AMD EPYC 9575F 64-Core Processor (cpu)"
    assert (found.clock, found.threads) == ("4.2 GHz", "2 threads")
    assert found.date == "2026-12-01 02:00 UTC"
    assert found.tool == "ert 0.1.0 (4dc828e1)"
    assert found.command == "ert sweep --device cpu --config default"


def test_measured_clock_is_one_number_within_a_percent_and_a_range_beyond():
    assert provenance(with_clocks(4.20e9, 4.22e9)).clock == "4.22 GHz"
    assert provenance(with_clocks(3.1e9, 4.2e9)).clock == "3.1 GHz to 4.2 GHz"


def test_clock_of_the_device_facts_is_called_reported_and_none_is_said():
    assert provenance(SYNTHETIC).clock == "1.98 GHz as reported"
    assert provenance(replace(SYNTHETIC, device={"id": "cpu", "name": "x", "clock_hz": None})).clock == "clock not measured"


def test_modified_checkout_is_named():
    assert provenance(replace(CPU, tool=Tool("ert", "0.2.0", "abc", True))).tool == "ert 0.2.0 (abc, modified)"


def test_command_can_be_pasted_and_does_not_depend_on_where_ert_lies():
    argv = ("/opt/my tools/bin/ert", "sweep", "--config", "my sweep.toml")
    assert provenance(replace(CPU, argv=argv)).command == "ert sweep --config 'my sweep.toml'"
