"""Exports are read back: by our own readers, and by the tools' own libraries where there are any."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from make_ceilings import DATA, H200_LEVELS, H200_PEAKS, any_ceilings, make_ceilings
from markdown_it import MarkdownIt
from prometheus_client.parser import text_string_to_metric_families

from ert.ceilings import load
from ert.errors import AnalysisError
from ert.exporters import EXPORTERS
from ert.points.document import Document
from ert.points.formats import parse_points

CPU = load(DATA / "cpu.json")
GPU = make_ceilings({k: v * 1e12 for k, v in H200_LEVELS.items()}, {k: v * 1e12 for k, v in H200_PEAKS.items()}, name="NVIDIA H200")
HOSTILE = replace(CPU, device={**CPU.device, "name": 'a "b" \\ |c| <script>_x_ {y} $z$ 50% & #1\nnew, line ~^'})
FOREIGN = DATA.parent / "foreign"


def written(name, ceilings=CPU):
    return EXPORTERS[name].write(ceilings).text


def read_back(name, ceilings=CPU):
    """The witnesses our own reader finds, by what they measure."""
    reading = parse_points(Document(f"x.{name}", written(name, ceilings)))
    return {(w.kind, w.level or w.precision, w.path if w.kind == "compute" else None, w.op): w for w in reading.witnesses}


def test_ert_json_comes_back_through_our_reader():
    found = parse_points(Document("roofline.json", written("ert-json"))).witnesses
    assert {w.level: w.value for w in found if w.kind == "bandwidth"} == {"L1": 1442e9, "L2": 517e9, "L3": 258e9, "DRAM": 76.2e9}
    assert [w.value for w in found if w.kind == "compute"] == pytest.approx([267.1e9, 535.2e9, 1068.3e9])


def test_ert_json_has_the_types_that_the_visualizer_declares():
    """Roofline.java: JSONRoofline {empirical, spec {gbytes, gflops {List<List<Object>> data}, Map metadata}}, String system."""
    document = json.loads(written("ert-json"))
    assert document["system"] == "AMD EPYC 9575F 64-Core Processor"
    for kind in ("empirical", "spec"):
        for metric in ("gbytes", "gflops"):
            assert all(isinstance(name, str) and value > 0 for name, value in document[kind][metric]["data"])
    assert isinstance(document["empirical"]["metadata"], dict)
    # The public scripts around ERT split the first name into a precision and a word.
    assert document["empirical"]["gflops"]["data"][0] == ["FP64 GFLOPs", 267.1]
    assert document["spec"]["gbytes"]["data"] == [["L1", 1612.8], ["L2", 537.6]]


def test_ert_json_does_not_tell_the_host():
    assert "node017" in json.dumps(CPU.environment)
    assert "node017" not in written("ert-json")


def test_rocprof_comes_back_with_intervals():
    found = read_back("rocprof", GPU)
    dram = found["bandwidth", "DRAM", None, "read"]
    assert (dram.value, dram.low, dram.high) == pytest.approx((4.38e12, 4.38e12 * 0.99, 4.38e12 * 1.01))
    assert found["bandwidth", "shared", None, "read"].value == pytest.approx(33e12)
    assert found["compute", "fp16", "tensor", "mma"].value == pytest.approx(804e12)
    assert found["compute", "fp16", "vector", "fma"].value == pytest.approx(133e12)
    assert found["compute", "fp4", "tensor", "mma"].value is None


def test_rocprof_header_is_that_of_the_tool():
    header = (FOREIGN / "rocprof_roofline_new.csv").read_text().splitlines()[0]
    assert written("rocprof", GPU).splitlines()[0] == header


def test_rocprof_names_what_it_has_no_column_for():
    assert any(line == "bf16 vector, tf32 tensor: no column" for line in EXPORTERS["rocprof"].write(GPU).left_out)


def test_carm_comes_back_one_row_per_mix_and_precision():
    found = read_back("carm")
    assert found["bandwidth", "L1", None, "triad"].value == pytest.approx(1442e9)
    assert found["bandwidth", "DRAM", None, "read"].value == pytest.approx(76.2e9)
    assert found["compute", "fp64", "vector", "add"].value == pytest.approx(133.8e9)
    assert found["compute", "fp32", "vector", "fma"].value == pytest.approx(535.2e9)


def test_carm_is_read_by_position_as_its_own_program_does():
    """ResultsGUI.py: header[3], [5], [7] and row[3..8] are whole numbers, row[9], 11, 13, 15, 17 and 19 floats."""
    header, names, *rows = csv.reader(io.StringIO(written("carm")))
    assert [int(header[i]) for i in (3, 5, 7)] == [48, 1024, 32768]
    assert ",".join(names) == (FOREIGN / "carm.csv").read_text().splitlines()[1]
    triad = next(row for row in rows if row[2] == "sp" and row[4:6] == ["2", "1"])
    assert [int(triad[i]) for i in (3, 4, 5, 7)] == [2, 2, 1, 2**30]
    assert [float(triad[i]) for i in (9, 11, 13, 15, 17, 19)] == pytest.approx([1442, 421, 227, 68.8, 267.9, 535.2])


def test_a_level_that_is_not_there_is_zero_in_carm_and_unmeasured_when_read_back():
    assert read_back("carm", GPU)["bandwidth", "L3", None, "read"].value is None


def test_kerncraft_comes_back_through_our_reader():
    found = read_back("kerncraft")
    assert found["bandwidth", "L1", None, "triad"].value == pytest.approx(1442e9)
    assert found["bandwidth", "DRAM", None, "copy"].value == pytest.approx(71.3e9)
    assert found["bandwidth", "L2", None, "update"].value == pytest.approx(471e9)


@pytest.mark.filterwarnings("ignore")
def test_kerncraft_itself_reads_the_machine_file(tmp_path):
    machinemodel = pytest.importorskip("kerncraft.machinemodel", reason="kerncraft is in the extra [dev]")
    path = tmp_path / "machine.yml"
    path.write_text(written("kerncraft"))
    machine = machinemodel.MachineModel(str(path))
    # Streams that are read and written, the written ones also read; of L1, which needs no correction for write-allocate.
    for streams, expected in (((3, 1), 1442e9), ((2, 1), 1058e9), ((1, 1), 1055e9), ((1, 0), 1066e9)):
        assert float(machine.get_bandwidth(0, *streams, 1, cores=2)[0]) == pytest.approx(expected)
    assert machine["memory hierarchy"][3]["level"] == "MEM"
    assert float(machine["clock"]) == 4.2e9
    # 267.1 GFLOP/s / 4.2 GHz / 2 cores
    assert machine["FLOPs per cycle"]["DP"]["FMA"] == pytest.approx(31.8, abs=0.005)


def test_kerncraft_refuses_a_gpu():
    with pytest.raises(AnalysisError, match="CPU cores"):
        EXPORTERS["kerncraft"].write(GPU)


def test_csv_holds_every_number_of_the_file():
    document = json.loads((DATA / "cpu.json").read_text())
    rows = list(csv.DictReader(io.StringIO(written("csv"))))
    bandwidth = {(r["level"], r["op"]): r for r in rows if r["kind"] == "bandwidth"}
    assert len(rows) == len(document["ceilings"]["bandwidth"]) + len(document["ceilings"]["compute"])
    for entry in document["ceilings"]["bandwidth"]:
        row = bandwidth[entry["level"], entry["op"]]
        assert [float(row[k]) for k in ("value", "ci95_low", "ci95_high")] == [entry["value"], *entry["ci95"]]
        assert row["limit"] == ("" if entry["limit"] is None else str(entry["limit"]))
        assert row["is_roof"] == str(entry["roof"]).lower()
    assert next(r for r in rows if r["precision"] == "int8")["unit"] == "op/s"


def test_prometheus_is_read_by_its_own_parser():
    families = {f.name: f for f in text_string_to_metric_families(written("prometheus", HOSTILE))}
    samples = {(s.labels["level"], s.labels["op"]): s for s in families["ert_bandwidth_bytes_per_second"].samples}
    assert samples["L1", "triad"].value == 1442e9
    assert samples["L1", "triad"].labels["roof"] == "true"
    assert samples["L1", "triad"].labels["name"] == HOSTILE.device["name"]
    rates = {(s.labels["precision"], s.labels["op"]): s.value for s in families["ert_rate_flops_per_second"].samples}
    assert rates["fp64", "fma"] == 267.1e9
    integers = {s.labels["precision"]: s.value for s in families["ert_rate_operations_per_second"].samples}
    assert integers == {"int16": 1068.9e9, "int8": 2136.5e9}
    low = {(s.labels["level"], s.labels["op"]): s.value for s in families["ert_bandwidth_bytes_per_second_ci95_low"].samples}
    assert low["DRAM", "read"] == 75.59e9
    # 267.1 / 76.2
    ridges = {(s.labels["level"], s.labels["precision"]): s.value for s in families["ert_ridge_flop_per_byte"].samples}
    assert ridges["DRAM", "fp64"] == pytest.approx(3.50525, rel=1e-5)
    # 2026-12-01T02:00:00Z by `date -u +%s`
    assert families["ert_measured_timestamp_seconds"].samples[0].value == 1796090400
    assert families["ert_launch_overhead_seconds"].samples[0].value == CPU.launch_overhead_s


def cells_of(html):
    return [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", html)]


def test_markdown_is_a_table_with_every_cell_in_its_column():
    html = MarkdownIt("commonmark").enable("table").render(written("markdown"))
    first = re.search(r"<table>.*?</table>", html, re.S)[0]
    rows = [cells_of(row) for row in re.findall(r"<tr>(.*?)</tr>", first, re.S)]
    assert rows[0] == ["level", "op", "value", "95 % interval", "of limit", "working set", "kernel", "flags"]
    assert rows[1] == ["L1", "triad *", "1.442 TB/s", "1.439 .. 1.445", "89.4 %", "16 KiB .. 88 KiB", "triad", ""]
    assert len(rows) == 21
    assert html.count("<table>") == 3


def test_markdown_shows_a_hostile_name_as_text():
    html = MarkdownIt("commonmark").enable("table").render(written("markdown", HOSTILE))
    heading = re.search(r"<h2>(.*?)</h2>", html, re.S)[1]
    assert heading == "a &quot;b&quot; \\ |c| &lt;script&gt;_x_ {y} $z$ 50% &amp; #1 new, line ~^ (cpu)"


def unescaped(text, special):
    return re.findall(rf"(?<!\\){special}", text)


def test_latex_keeps_columns_braces_and_specials_in_order():
    text = written("latex", HOSTILE)
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert all(not unescaped(line, c) for line in body for c in ("%", "#", "_", "~", r"\$"))
    assert len(unescaped(text, r"\{")) == len(unescaped(text, r"\}"))
    for alignment, rows in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.S):
        lines = [line for line in rows.splitlines() if line.endswith(r"\\")]
        assert lines
        assert {len(unescaped(line, "&")) for line in lines} == {len(alignment) - 1}
    assert r"\textbf{L1} & \textbf{triad *} & \textbf{1.442 TB/s} & \textbf{1.439--1.445} & \textbf{89.4 \%}" in text


def test_latex_prints_the_command_as_it_is_typed():
    # Two hyphens in a row would be printed as one dash.
    assert "Made by: ert sweep -{}-device cpu." in written("latex", replace(CPU, argv=("ert", "sweep", "--device", "cpu")))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_ceilings())
def test_any_ceilings_are_exported_or_refused_with_a_reason(ceilings):
    for name, exporter in EXPORTERS.items():
        try:
            text = exporter.write(ceilings).text
        except AnalysisError as error:
            assert name in ("ncu-section", "kerncraft") and str(error)
            continue
        assert text.endswith("\n")
        assert not re.search(r"\b(nan|inf|None)\b", text)
