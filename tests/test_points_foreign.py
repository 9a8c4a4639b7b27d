"""Formats of other tools: the samples in data/foreign, whose numbers are stated here again by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ert.cli import cli, execute
from ert.errors import AnalysisError, ErtError, SchemaError
from ert.points.ceilings import ceilings_of, load_ceilings
from ert.points.document import decode
from ert.points.formats import parse_points, read_points
from ert.points.model import Reading, ReadOptions, Witness

DATA = Path(__file__).parent / "data" / "foreign"


def read(name: str, options: ReadOptions | None = None) -> Reading:
    return read_points(str(DATA / name), options=options or ReadOptions())


def parsed(text: str, options: ReadOptions | None = None) -> Reading:
    return parse_points(decode("file", text.encode()), options=options or ReadOptions())


def bandwidths(reading: Reading) -> dict[str | None, float | None]:
    return {w.level: w.value for w in reading.witnesses if w.kind == "bandwidth" and not w.not_comparable}


def rates(reading: Reading) -> dict[tuple[str | None, str, str | None], float | None]:
    return {(w.precision, w.path, w.op): w.value for w in reading.witnesses if w.kind == "compute" and not w.not_comparable}


def named(reading: Reading, what: str) -> Witness:
    return next(w for w in reading.witnesses if w.what == what)


def test_ert110_has_levels_in_decimal_units_and_no_precision():
    found = read("ert110.json")
    assert bandwidths(found) == {"L1": 2412.55e9, "L2": 1203.1e9, "L3": 611.9e9, "DRAM": 83.4e9}
    peak = named(found, "ERT 1.1.0 GFLOPs")
    assert (peak.value, peak.precision, peak.not_comparable) == (612.4e9, "unknown", "its precision is not recorded")
    assert peak.spec == 691.2e9
    assert named(found, "ERT 1.1.0 DRAM").spec == 102.4e9
    assert "192.0.2.7" not in repr(found) and "node7" not in repr(found)


def test_ert110_precision_can_be_said():
    assert rates(read("ert110.json", ReadOptions(precision="fp64"))) == {("fp64", "vector", "fma"): 612.4e9}


def test_ert110_with_two_levels_an_empty_spec_or_none():
    inner = {"gbytes": {"data": [["L1", 559.1], ["DRAM", 160.7]], "metadata": {}}, "gflops": {"data": [["GFLOPs", 1225.5]]}, "metadata": {}}
    for spec in ({"spec": {"gflops": {"data": []}, "gbytes": {"data": []}}}, {"spec": {}}, {}):
        assert bandwidths(parsed(json.dumps({"empirical": inner, **spec}))) == {"L1": 559.1e9, "DRAM": 160.7e9}


@pytest.mark.parametrize("pair", [["L1"], ["L1", "x"], ["L1", 0], ["L1", -1.0], ["L1", True], "L1", None])
def test_ert110_errors_name_the_key(pair):
    text = json.dumps({"empirical": {"gbytes": {"data": [pair]}, "gflops": {"data": []}}})
    with pytest.raises(SchemaError, match=r"empirical\.gbytes\.data\[0\]"):
        parsed(text)


def test_a_fifth_level_of_ert110_stays_beside_ours():
    found = parsed(json.dumps({"empirical": {"gbytes": {"data": [["L4", 86.3], ["DRAM", 62.7]]}, "gflops": {"data": []}}}))
    assert named(found, "ERT 1.1.0 L4").not_comparable
    assert bandwidths(found) == {"DRAM": 62.7e9}


def test_rocprof_roofline_finds_columns_by_name_despite_misspellings():
    found = read("rocprof_roofline_old.csv", ReadOptions(device="1"))
    assert bandwidths(found) == {"DRAM": 1391e9, "L2": 5031e9, "L1": 9241e9, "shared": 18250e9}
    assert rates(found)["fp32", "vector", "fma"] == 20990e9
    assert rates(found)["fp64", "vector", "fma"] == 20310e9
    assert rates(found)["int8", "tensor", "mma"] == 166900e9
    int8 = next(w for w in found.witnesses if w.precision == "int8")
    assert (int8.low, int8.high) == pytest.approx((166900e9 * 0.999, 166900e9 * 1.001))
    dram = next(w for w in found.witnesses if w.level == "DRAM")
    assert dram.high == pytest.approx(1391e9 * 1.001, rel=1e-5)


def test_rocprof_zero_is_not_measured():
    found = read("rocprof_roofline_new.csv")
    assert {w.level or w.precision for w in found.witnesses if w.value is None} == {"MALL", "fp4", "fp6", "fp8", "fp64"}
    assert rates(found)["fp64", "vector", "fma"] == 10500e9
    assert "MALL" not in {c.level for c in ceilings_of(found).bandwidth_ceilings}


def test_rocprof_names_a_short_row_and_the_devices_there_are():
    old = (DATA / "rocprof_roofline_old.csv").read_text()
    with pytest.raises(AnalysisError, match="line 2: the row of device 0 has 3 columns, the header 34"):
        parsed(old.splitlines()[0] + "\n0,1389,1388\n")
    with pytest.raises(AnalysisError, match=r"no device '7'.* 0, 1"):
        parsed(old, ReadOptions(device="7"))
    with pytest.raises(AnalysisError, match="no device"):
        parsed(old.splitlines()[0] + "\n")


VALU = ",".join(f"SQ_INSTS_VALU_{op}_F32" for op in ("ADD", "MUL", "FMA", "TRANS"))
PMC = f"Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp,{VALU},SQ_INSTS_VALU_MFMA_MOPS_BF16,"


def test_rocprof_kernels_by_its_own_formulas():
    header = PMC + "TCC_EA_RDREQ_sum,TCC_EA_RDREQ_32B_sum,TCC_EA_WRREQ_sum,TCC_EA_WRREQ_64B_sum,TCP_TOTAL_CACHE_ACCESSES_sum\n"
    row = '0,0,"void k<a, b>(int) [clone .kd]",1000,3000,10,20,30,40,5,100,10,50,40,7\n'
    point = parsed(header + row).points[0]
    assert point.time_s == pytest.approx(2e-6)
    # 64 lanes x (10 + 20 + 2 x 30 + 40); 512 per MOPS
    assert point.flops == {"fp32": 64 * 130, "bf16_tensor": 512 * 5}
    # 10 reads of 32 B, 90 of 64 B, 40 writes of 64 B, 10 of 32 B
    assert point.bytes == {"DRAM": 320 + 90 * 64 + 40 * 64 + 320, "L1": 7 * 64}
    twice = parsed(header + row + row)
    assert (twice.points[0].launches, twice.points[0].time_s) == (2, pytest.approx(4e-6))


def test_rocprof_counts_128_byte_reads_since_mi300():
    header = PMC + "TCC_BUBBLE_sum,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum\n"
    point = parsed(header + "0,0,k,0,1000,0,0,0,0,0,300,1000,200,0,0\n").points[0]
    assert point.bytes == {"DRAM": 300 * 128 + 200 * 32 + 500 * 64}


def test_rocprof_missing_and_broken_values():
    header = PMC + "TCP_TOTAL_CACHE_ACCESSES_sum\n"
    point = parsed(header + "0,0,k,0,1000,,0,0,0,0,8\n").points[0]
    assert point.flops == {"fp32": None}
    assert point.missing == ("SQ_INSTS_VALU_ADD_F32",)
    assert "not after" in parsed(header + "0,0,k,1000,1000,0,0,0,0,0,8\n").skipped[0].reason
    with pytest.raises(AnalysisError, match=r"line 2, column 6 \(SQ_INSTS_VALU_ADD_F32\): 'x'"):
        parsed(header + "0,0,k,0,1000,x,0,0,0,0,8\n")


def test_likwid_sums_the_threads_and_takes_the_longest_time():
    point = read("likwid.csv").points[0]
    assert point.name == "stencil"
    assert point.time_s == 0.5
    assert point.flops == {"fp64": 8e9 * 0.5}
    assert point.bytes == {"DRAM": 8e9}
    assert (point.total_flops or 0) / (point.bytes["DRAM"] or 1) == 0.5
    assert not point.missing


def test_likwid_without_statistics_volume_or_table_lines():
    text = "Metric,Core 0,Core 1\nRuntime (RDTSC) [s],0.5,0.4,,\nDP [MFLOP/s],1000,2000,,\nMemory bandwidth [MBytes/s],4000,0,,\n"
    point = parsed(text).points[0]
    assert (point.time_s, point.flops, point.bytes) == (0.5, {"fp64": 1.5e9}, {"DRAM": 2e9})


def test_likwid_nil_is_missing_and_absurd_bandwidth_is_rejected():
    text = (DATA / "likwid.csv").read_text()
    found = parsed(
        text.replace("DP [MFLOP/s] STAT,8000.0", "DP [MFLOP/s] STAT,nil").replace("DP [MFLOP/s],4000.0,4000.0", "DP [MFLOP/s],nil,4000.0")
    )
    assert found.points[0].missing == ("DP [MFLOP/s]",)
    absurd = parsed(
        text.replace("[MBytes/s],16000.0", "[MBytes/s],3.349518e+15").replace("[MBytes/s] STAT,16000.0", "[MBytes/s] STAT,3.349518e+15")
    )
    assert not absurd.points
    assert "implausible" in absurd.skipped[0].reason and "3.349518e+21" in absurd.skipped[0].reason


def test_likwid_regions_and_groups_stay_apart_and_names_may_hold_commas():
    table = "TABLE,Region {name},Group {n} Metric,{group},3\nMetric,HWThread 0,\nRuntime (RDTSC) [s],{t},\n{row},\n"
    text = table.format(name="a, b", n=1, group="MEM_DP", t=2.0, row="DP [MFLOP/s],100")
    text += table.format(name="a, b", n=2, group="L3", t=4.0, row="L3 data volume [GBytes],8")
    text += table.format(name="c", n=1, group="MEM_SP", t=1.0, row="SP [MFLOP/s],5")
    first, second = parsed(text).points
    # 8 GB in the 4 s of its own group is 2 GB/s, over the 2 s of the FLOP group.
    assert (first.name, first.flops, first.bytes) == ("a, b", {"fp64": 2e8}, {"L3": 4e9})
    assert (second.name, second.flops) == ("c", {"fp32": 5e6})


def test_likwid_text_in_a_number_names_line_and_column():
    with pytest.raises(AnalysisError, match=r"line 3, column 3: 'x'"):
        parsed("TABLE,Group 1 Metric,MEM,2\nMetric,HWThread 0,HWThread 1\nRuntime (RDTSC) [s],0.5,x\n")


def test_advisor_roofs_keep_the_whole_machine_apart_from_one_thread():
    found = read("advisor_roofs.csv")
    assert bandwidths(found) == {"L1": 4e12, "DRAM": 1.75e11}
    assert rates(found) == {("fp64", "vector", "fma"): 1.35e12, ("fp64", "vector", "add"): 6.75e11}
    assert named(found, "Advisor DRAM Bandwidth (single node)").not_comparable == "single node, not the whole machine"
    assert named(found, "Advisor Scalar Add Peak").precision == "unknown"
    text = "L1 bandwidth (single-threaded)    410000000000    memory\nDRAM Bandwidth    175000000000    memory\n"
    assert bandwidths(parsed(text)) == {"DRAM": 1.75e11}


def test_advisor_survey_loops():
    header = "ID,Function Call Sites and Loops,Self Time,Self GFLOP,Self GFLOPS,Self DRAM GB,Self L2 GB,Data Types\n"
    found = parsed(
        header + '1,"[loop in f at a.c:3]",0.5s,8,16,2,4,"Float64; UInt64"\n2,[loop in g],0.25,4,,1,,"Float64; Float32"\n3,main,,0,,,,\n'
    )
    f, g = found.points
    assert (f.name, f.time_s, f.flops, f.bytes) == ("[loop in f at a.c:3]", 0.5, {"fp64": 8e9}, {"L2": 4e9, "DRAM": 2e9})
    assert (g.time_s, g.flops, g.bytes) == (0.25, {"unknown": 4e9}, {"DRAM": 1e9})
    assert found.skipped[0].name == "main"


def test_nvbandwidth_over_pcie_never_stands_for_memory():
    found = read("nvbandwidth.json")
    assert bandwidths(found) == {"DRAM": 1550e9}
    others = [w for w in found.witnesses if w.kind == "interconnect"]
    assert all(w.not_comparable for w in others)
    assert [w.value for w in others] == [None, None, 55.1e9, None]
    assert "pattern check" in (others[1].not_comparable or "")


def test_mixbench_takes_the_best_and_reads_inf_as_unsupported():
    found = read("mixbench.txt")
    assert rates(found) == {
        ("fp32", "vector", "fma"): pytest.approx(262.58e9),
        ("fp64", "vector", "fma"): None,
        ("int32", "vector", "fma"): pytest.approx(214.03e9),
    }
    assert named(found, "mixbench int32 GB/s").value == pytest.approx(53.52e9)
    assert {w.working_set_bytes for w in found.witnesses if w.kind == "bandwidth"} == {32 * 2**20}


def test_carm_levels_and_rates():
    found = read("carm.csv")
    assert bandwidths(found) == pytest.approx({"L1": 4100.5e9, "L2": 1500.2e9, "L3": 700.1e9, "DRAM": 180.3e9})
    assert rates(found) == {("fp64", "vector", "add"): 650e9, ("fp64", "vector", "fma"): 1290e9}


@pytest.mark.parametrize(("column", "factor"), [("max_mbytes_per_sec", 1e6), ("max_mibytes_per_sec", 2**20), ("max_MB_per_sec", 1e6)])
def test_babelstream_megabytes_by_the_name_of_the_column(column, factor):
    text = f"function,num_times,n_elements,sizeof,{column},min_runtime,max_runtime,avg_runtime\nTriad,100,33554432,8,3000000,0.1,0.2,0.1\n"
    triad = parsed(text).witnesses[0]
    assert (triad.value, triad.op, triad.working_set_bytes) == (pytest.approx(3e6 * factor), "triad", 3 * 8 * 33554432)


def test_babelstream_table():
    found = read("babelstream.txt")
    assert [(w.what, w.op, w.value) for w in found.witnesses] == [
        ("BabelStream Copy", "copy", pytest.approx(38287.769e6)),
        ("BabelStream Triad", "triad", pytest.approx(39335.446e6)),
        ("BabelStream Dot", "read", pytest.approx(30779.666e6)),
    ]
    assert found.witnesses[0].working_set_bytes == pytest.approx(2 * 268.4e6)


def test_kerncraft_best_over_cores_and_quantities_over_two_lines():
    assert bandwidths(read("kerncraft.yml")) == {"L1": 160e9, "DRAM": 20e9}
    assert {w.op for w in read("kerncraft.yml").witnesses} == {"copy"}


def test_kerncraft_errors_name_the_place():
    text = (DATA / "kerncraft.yml").read_text()
    with pytest.raises(SchemaError, match=r"measurements\.MEM\.1\.results\.copy: '12\.50 furlongs'"):
        parsed(text.replace("12.50 GB/s", "12.50 furlongs"))
    with pytest.raises(SchemaError, match=r"line \d+, column \d+: not valid YAML"):
        parsed(text.replace("{total: 8", "{total: [8"))
    with pytest.raises(SchemaError, match="'benchmarks' is not a mapping"):
        parsed(text.replace("benchmarks:", "benchmark:"))


def test_nersc_points_are_one_second_of_work_and_labels_may_hold_commas():
    found = read("nersc.txt")
    assert [p.name for p in found.points] == ["tiny, nw=1", "mid", "big"]
    tiny = found.points[0]
    assert (tiny.time_s, tiny.flops) == (1.0, {"unknown": 1.5e9})
    assert {level: 1.5e9 / (d or 1) for level, d in tiny.bytes.items()} == pytest.approx({"DRAM": 0.001, "L2": 0.0005, "L1": 0.00025})
    assert bandwidths(found) == {"L1": 2e13, "L2": 5e12, "DRAM": 2e12}


def test_nersc_errors_name_line_and_column():
    text = (DATA / "nersc.txt").read_text()
    with pytest.raises(AnalysisError, match="line 7, column 3: 'x'"):
        parsed(text.replace("AI_HBM 0.001 1.0", "AI_HBM 0.001 x"))
    with pytest.raises(AnalysisError, match="line 7: AI_HBM has 2 values and FLOPS 3"):
        parsed(text.replace("AI_HBM 0.001 1.0 500", "AI_HBM 0.001 1.0"))


def test_other_tools_ceilings_can_take_the_place_of_ours():
    ceilings = load_ceilings(str(DATA / "carm.csv"))
    assert ceilings.bandwidth("DRAM") == pytest.approx(180.3e9)
    assert ceilings.compute_peak("fp64") == 1290e9
    several = load_ceilings(str(DATA / "rocprof_roofline_old.csv"))
    assert several.bandwidth("DRAM") == 1389e9
    assert [w.code for w in several.warnings] == ["first_device"]
    assert load_ceilings(str(DATA / "rocprof_roofline_old.csv"), ReadOptions(device="1")).bandwidth("DRAM") == 1391e9
    unknown = load_ceilings(str(DATA / "ert110.json"))
    assert list(unknown.compute_roofs) == [("unknown", "vector")]
    assert load_ceilings(str(DATA / "advisor_roofs.csv")).bandwidth("DRAM") == 1.75e11


def test_a_file_of_kernels_is_no_ceilings_file():
    with pytest.raises(ErtError, match="no bandwidth of a memory level"):
        load_ceilings(str(DATA / "likwid.csv"))


def test_export_says_which_device_it_took_and_takes_another(capsys):
    file = str(DATA / "rocprof_roofline_old.csv")
    assert execute(cli, ["export", file, "--to", "csv"]) == 0
    first = capsys.readouterr()
    assert "device 0 taken; the file has also 1. Choose with --device" in first.err
    assert execute(cli, ["export", file, "--to", "csv", "--device", "1"]) == 0
    second = capsys.readouterr()
    assert second.err == ""
    assert ",DRAM,,,read,true,1389000000000.0," in first.out
    assert ",DRAM,,,read,true,1391000000000.0," in second.out


def test_export_takes_the_precision_that_ert_110_does_not_record(capsys):
    file = str(DATA / "ert110.json")
    assert execute(cli, ["export", file, "--to", "csv"]) == 0
    assert "Say it with --precision" in capsys.readouterr().err
    assert execute(cli, ["export", file, "--to", "csv", "--precision", "fp64"]) == 0
    known = capsys.readouterr()
    assert known.err == ""
    assert "compute,,fp64,vector,fma,true,612400000000.0,flop/s," in known.out


@pytest.mark.parametrize(
    ("name", "was", "becomes", "what"),
    [
        ("rocprof_roofline_old.csv", "1389,", "1e300,", "rocprof-compute DRAM"),
        ("ert110.json", "83.4", "1e305", "ERT 1.1.0 DRAM"),
        ("ert110.json", "612.4", "1" + "0" * 300, "ERT 1.1.0 GFLOPs"),
    ],
)
def test_a_rate_no_machine_has_keeps_its_row_without_the_number(name: str, was: str, becomes: str, what: str):
    text = (DATA / name).read_text()
    assert was in text
    found = next(w for w in parsed(text.replace(was, becomes, 1)).witnesses if w.what == what)
    assert (found.value, found.low, found.high, found.spec) == (None, None, None, None)
    assert "implausible" in (found.not_comparable or "")
