"""Nsight Compute CSV: what each printed value becomes, and what happens to those that are not there.

Expected numbers are sums done by hand from the printed ones.
"""

from __future__ import annotations

import pytest
from ncu_files import DADD, DFMA, DMUL, DRAM, FADD, FFMA, FMUL, IDENTITY, L1, L2, TIME, long, quoted, wide

from ert.errors import AnalysisError
from ert.points.document import decode
from ert.points.formats import parse_points
from ert.points.model import KernelPoint, Reading, ReadOptions
from ert.points.ncu_units import unit_factor

BASE = {
    TIME: "ns",
    DRAM: "byte",
    L2: "byte",
    L1: "byte",
    DADD: "inst",
    DMUL: "inst",
    DFMA: "inst",
    FADD: "inst",
    FMUL: "inst",
    FFMA: "inst",
}
STENCIL = (
    "void ns::stencil<double, 3>(const double *, int)",
    ["1,250,000", "2,000,000,000", "4,000,000,000", "8,000,000,000", "1,000,000,000", "500,000,000", "250,000,000", "0", "0", "0"],
)
POLY = ("<unnamed>::poly(float *, int)", ["500,000", "50,000,000", "60,000,000", "90,000,000", "0", "0", "0", "0", "0", "4,500,000,000"])


def read(text: str | bytes, options: ReadOptions | None = None, name: str = "app.csv") -> Reading:
    data = text.encode() if isinstance(text, str) else text
    return parse_points(decode(name, data), options=options or ReadOptions())


def only(text: str, options: ReadOptions | None = None) -> KernelPoint:
    reading = read(text, options)
    assert len(reading.points) == 1, reading
    return reading.points[0]


def small(units: dict[str, str], values: list[str], cc: str = "8.0") -> KernelPoint:
    return only(wide(units, [("k", values)], cc))


def test_raw_page_with_units_row_noise_and_text_columns():
    units = {"device__attribute_confidential_computing_mode": "", "launch__func_cache_config": "", **BASE}
    launches = [(name, ["No-CC", "CachePreferNone", *values]) for name, values in (STENCIL, POLY)]
    found = read("==PROF== Connected to process 1\nhello from the app\n" + wide(units, launches) + "==PROF== Disconnected\n")
    assert found.format == "ncu"
    stencil, poly = found.points
    assert stencil.name == STENCIL[0]
    assert stencil.time_s == pytest.approx(1.25e-3, rel=1e-12)
    assert stencil.flops == {"fp64": 2e9}
    assert stencil.bytes == {"DRAM": 2e9, "L2": 4e9, "L1": 8e9}
    assert poly.flops == {"fp32": 9e9}
    assert not found.skipped and not stencil.missing


def test_details_page_with_units_scaled_per_row():
    found = read(
        long(
            [
                (0, "a", DRAM, "Gbyte", "2.00"),
                (0, "a", TIME, "ms", "1.25"),
                (0, "a", FFMA, "inst", "1,000,000,000"),
                (1, "b", DRAM, "Mbyte", "50.00"),
                (1, "b", TIME, "us", "500.00"),
                (1, "b", FFMA, "inst", "0"),
            ]
        )
    )
    a, b = found.points
    assert (a.bytes["DRAM"], a.time_s) == (2e9, pytest.approx(1.25e-3))
    assert (b.bytes["DRAM"], b.time_s) == (5e7, pytest.approx(5e-4))
    assert b.flops == {}


def test_one_separator_is_decided_by_the_whole_file():
    rows = [
        (i, "k", m, u, v)
        for i, t, d in ((0, "117.344", "27.595.520"), (1, "120.416", "30.818.944"))
        for m, u, v in ((TIME, "ns", t), (DRAM, "byte", d))
    ]
    found = read(long(rows), ReadOptions(per_launch=True))
    assert [p.time_s for p in found.points] == pytest.approx([117344e-9, 120416e-9])
    assert [p.bytes["DRAM"] for p in found.points] == [27595520, 30818944]


def test_a_percentage_that_is_not_even_used_proves_the_decimal_comma():
    rows = [(0, "k", TIME, "ns", "117.344"), (0, "k", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "65,77")]
    assert only(long(rows)).time_s == pytest.approx(117344e-9)
    units = {TIME: "ns", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%"}
    assert small(units, ["117.344", "65,77"]).time_s == pytest.approx(117344e-9)


def test_a_count_of_instructions_proves_the_thousands_separator():
    assert small({TIME: "ns", FFMA: "inst"}, ["117.344", "1.024"]).flops == {"fp32": 2048.0}


def test_what_nothing_proves_is_asked_for_with_its_place():
    text = long([(0, "k", TIME, "ns", "117.344")])
    with pytest.raises(AnalysisError, match=r"app\.csv, line 2, column 15: '117\.344' .*--decimal"):
        read(text)
    assert only(text, ReadOptions(decimal="comma")).time_s == pytest.approx(117344e-9)
    assert only(text, ReadOptions(decimal="point")).time_s == pytest.approx(117.344e-9)


def test_numbers_of_two_locales_in_one_file_are_refused_not_guessed():
    text = wide({TIME: "ns", DRAM: "byte"}, [("a", ["1,250,000", "1,000,000"]), ("b", ["1.250.000", "1,000,000"])])
    with pytest.raises(AnalysisError, match=r"line 4, column 12.*1\.250\.000"):
        read(text)


@pytest.mark.parametrize("word", ["n/a", "(!) n/a", "", "nan", "inf"])
def test_a_missing_counter_is_missing_and_never_zero(word):
    def changed(metric: str) -> KernelPoint:
        return small(BASE, [word if m == metric else v for m, v in zip(BASE, POLY[1], strict=True)])

    assert changed(DRAM).bytes == {"DRAM": None, "L2": 6e7, "L1": 9e7}
    assert changed(DRAM).missing == (DRAM,)
    assert changed(FFMA).flops == {"fp32": None}
    assert changed(FFMA).total_flops is None
    assert changed(FFMA).missing == (FFMA,)


def test_a_launch_without_duration_is_skipped_with_the_reason():
    found = read(wide(BASE, [STENCIL, ("lost", ["n/a", *POLY[1][1:]])]))
    assert [p.name for p in found.points] == [STENCIL[0]]
    assert (found.skipped[0].name, found.skipped[0].origin.line) == ("lost", 4)
    assert TIME in found.skipped[0].reason


def test_launches_are_summed_and_ratios_taken_afterwards():
    cycles, rate = "sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second"
    units = {DRAM: "byte", cycles: "cycle", rate: "hz", FFMA: "inst"}
    rows = [
        ["1,000,000,000", "1,000,000", "1,000,000,000"],
        ["4,000,000,000", "4,000,000", "2,000,000,000"],
        ["100,000,000", "150,000", "1,500,000,000"],
    ]
    text = wide(units, [("sweep(float *)", [*row, "1,000,000,000"]) for row in rows])
    point = only(text)
    # 1 ms + 2 ms + 0.1 ms; the sum of cycles over the sum of frequencies would be 1.144 ms.
    assert point.time_s == pytest.approx(3.1e-3, rel=1e-12)
    assert (point.launches, point.flops, point.bytes) == (3, {"fp32": 6e9}, {"DRAM": 5.1e9})
    one_by_one = read(text, ReadOptions(per_launch=True))
    assert [p.launches for p in one_by_one.points] == [1, 1, 1]


def test_one_launch_without_a_counter_leaves_the_sum_unknown():
    point = only(wide(BASE, [POLY, (POLY[0], [POLY[1][0], "n/a", *POLY[1][2:]])]))
    assert point.bytes["DRAM"] is None
    assert point.bytes["L2"] == 1.2e8
    assert point.missing == (f"{DRAM} (in 1 of 2 launches)",)


def test_duration_is_preferred_to_cycles():
    units = {TIME: "us", "sm__cycles_elapsed.avg": "cycle", "sm__cycles_elapsed.avg.per_second": "Ghz", DRAM: "byte"}
    assert small(units, ["10.00", "1,000,000", "1.00", "8"]).time_s == pytest.approx(1e-5)
    assert small(units, ["n/a", "1,000,000", "1.00", "8"]).time_s == pytest.approx(1e-3)


def test_the_sections_metrics_give_flops_and_traffic_from_rates():
    units = {
        TIME: "ms",
        "smsp__cycles_elapsed.avg.per_second": "Ghz",
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed": "inst/cycle",
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed": "inst/cycle",
        "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2": "inst",
        "dram__bytes.sum.per_second": "Tbyte/s",
        "derived__lts__lts2xbar_bytes.sum.per_second": "Tbyte/s",
        "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second": "Tbyte/s",
    }
    point = small(units, ["2.00", "1.50", "100.0", "200.0", "700.0", "1.00", "2.00", "4.00"])
    # (100 + 200 + 700) FLOP per cycle x 1.5e9 cycles/s x 2 ms
    assert point.flops == {"fp32": pytest.approx(3e9)}
    assert point.bytes == {"DRAM": pytest.approx(2e9), "L2": pytest.approx(4e9), "L1": pytest.approx(8e9)}
    assert point.family == "stock sections"


def test_the_two_families_of_traffic_metrics_are_never_mixed_silently():
    stock = "derived__l1tex__lsu_writeback_bytes_mem_lg.sum"
    found = read(wide({TIME: "ns", DRAM: "byte", L2: "byte", stock: "byte"}, [("k", ["1,000,000", "8", "16", "32"])]))
    assert found.points[0].bytes == {"DRAM": 8, "L2": 16}
    assert [f.code for f in found.findings] == ["traffic_families"]
    assert "L1 is left out" in found.findings[0].message
    both = small({TIME: "ns", L2: "byte", L1: "byte", stock: "byte"}, ["1,000,000", "16", "32", "99"])
    assert both.bytes == {"L2": 16, "L1": 32}


def test_sectors_of_the_cuda_10_tool_are_32_bytes_by_metric_not_by_unit():
    units = {TIME: "ns"} | {f"lts__t_sectors_op_{op}.sum": "sector" for op in ("read", "write", "atom", "red")}
    units |= {f"dram__sectors_{op}.sum": "sector" for op in ("read", "write")}
    assert small(units, ["1,000,000", "10", "20", "1", "1", "5", "6"]).bytes == {"DRAM": 11 * 32, "L2": 32 * 32}
    assert unit_factor("sector") == 1


def test_reads_without_writes_are_no_traffic():
    assert small({TIME: "ns", "dram__bytes_read.sum": "byte", L2: "byte"}, ["1,000,000", "8", "9"]).bytes == {"L2": 9}


HMMA, OPS = "sm__inst_executed_pipe_tensor.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum"


def test_tensor_flops_by_architecture():
    text = quoted([*IDENTITY, TIME, HMMA, OPS]) + quoted([""] * 11 + ["us", "inst", ""])
    for i, (name, cc, *values) in enumerate(
        [
            ("volta", "7.0", "600", "100,000,000", "n/a"),
            ("ampere", "8.0", "1,600", "100,000,000", "409,600,000,000"),
            ("hopper", "9.0", "900", "1,000,000", "n/a"),
        ]
    ):
        text += quoted([i, 1, "app", "h", name, 1, 7, "", "", 0, cc, *values])
    volta, ampere, hopper = read(text).points
    assert volta.flops == {"fp16_tensor": 512e8}
    assert volta.flags == ("flops_estimated",)
    assert ampere.flops == {"fp16_tensor": 4.096e11}
    assert hopper.flops == {"tensor": None}
    assert "sm__ops_path_tensor_" in hopper.missing[0]


def test_a_gpu_without_tensor_instructions_in_a_kernel_has_no_tensor_flops():
    assert small({TIME: "ns", HMMA: "inst", OPS: ""}, ["1,000,000", "0", "n/a"], "9.0").flops == {}


def test_sparsity_variants_are_parts_of_the_plain_metric():
    base = "sm__ops_path_tensor_src_bf16_dst_fp32"
    units = {TIME: "ns", f"{base}.sum": "", f"{base}_sparsity_on.sum": "", f"{base}_sparsity_off.sum": ""}
    both = small(units, ["1,000,000", "300", "100", "200"], "9.0")
    assert both.flops == {"bf16_tensor": 300}
    assert "sparse" in both.flags
    parts = {k: v for k, v in units.items() if k != f"{base}.sum"}
    assert small(parts, ["1,000,000", "100", "200"], "9.0").flops == {"bf16_tensor": 300}


def test_a_tensor_metric_this_gpu_never_has_is_not_a_missing_counter():
    fp8 = "sm__ops_path_tensor_src_fp8.sum"
    point = small({TIME: "ns", OPS: "", fp8: ""}, ["1,000,000", "5", "n/a"])
    assert (point.flops, point.missing) == ({"fp16_tensor": 5}, ())


def test_rule_rows_and_one_name_in_two_sections():
    header = quoted([*IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description"])
    start = [0, 1, "app", "h", "void k(float *)", 1, 7, "", "", 0, "8.0"]
    sol, mem = "GPU Speed Of Light Throughput", "Memory Workload Analysis"
    rows = [
        [sol, "Memory Throughput", "%", "80.00", "", "", ""],
        [sol, "Duration", "us", "500.00", "", "", ""],
        [sol, "", "", "", "SOLBottleneck", "WRN", 'uses 80 % of memory, "look" at L2, then L1.'],
        [mem, "Memory Throughput", "Tbyte/s", "1.60", "", "", ""],
    ]
    point = only(header + "".join(quoted([*start, *row]) for row in rows))
    assert point.time_s == pytest.approx(5e-4)
    assert point.bytes == {"DRAM": pytest.approx(8e8)}
    assert point.flops is None
    assert point.missing


def test_the_2020_tool_with_kernel_time_and_a_blank_line():
    names = [*IDENTITY[:5], "Kernel Time", "Context", "Stream", "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
    header = quoted(names) + "\n"
    start = '"0","11","cfd","h","step_factor","2020-Apr-07 17:01:05","1","7","Command line profiler metrics",'
    point = only(header + start + f'"{DRAM}","Mbyte","200.00"\n' + start + f'"{TIME}","usecond","125.00"\n')
    assert (point.name, point.bytes, point.time_s) == ("step_factor", {"DRAM": 2e8}, pytest.approx(1.25e-4))


def test_nvtx_columns_do_not_shift_anything():
    nvtx = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    names = [*IDENTITY[:4], nvtx, "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", *IDENTITY[4:], TIME]
    text = (
        quoted(names)
        + quoted([""] * 13 + ["ns"])
        + quoted([0, 1, "app", "h", '"<default domain>:step:none"', "", "k", 1, 7, "", "", 0, "8.0", "2,000,000"])
    )
    assert only(text).time_s == pytest.approx(2e-3)


def test_a_per_kernel_summary_counts_its_invocations():
    header = quoted(
        [
            "Process ID",
            "Process Name",
            "Host Name",
            "Kernel Name",
            "Block Size",
            "Grid Size",
            "Device",
            "CC",
            "Invocations",
            "Section Name",
            "Metric Name",
            "Metric Unit",
            "Minimum",
            "Maximum",
            "Average",
        ]
    )
    start = [1, "app", "h", "k", "(1, 1, 1)", "(1, 1, 1)", 0, "8.0", 14, "s"]
    point = only(header + quoted([*start, TIME, "us", "1.00", "3.00", "2.00"]) + quoted([*start, DRAM, "Kbyte", "1.00", "3.00", "2.50"]))
    assert (point.launches, point.time_s, point.bytes["DRAM"]) == (14, pytest.approx(28e-6), 35000)


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "a\nb",
        'say "hi"',
        "k, with, commas",
        "void t<" + "std::pair<int, float>, " * 180 + "int>()",
        "==PROF== x",
        "\u2028\x0b",
        "名前",
    ],
)
def test_hostile_names_survive(name):
    found = read(wide(BASE, [(name, POLY[1]), STENCIL]))
    assert [p.name for p in found.points] == [name, STENCIL[0]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_console_encodings_and_line_ends(encoding, newline):
    text = wide(BASE, [("größe", POLY[1])]).replace("\n", newline)
    assert read(text.encode(encoding)).points[0].name == "größe"


def test_a_spreadsheet_may_take_quotes_away_and_write_semicolons():
    text = wide({TIME: "ns", DRAM: "byte"}, [("k", ["1.250.000", "2.000.000"])], delimiter=";").replace('"', "")
    point = only("==PROF== x\n" + text)
    assert (point.name, point.time_s, point.bytes) == ("k", pytest.approx(1.25e-3), {"DRAM": 2e6})


def test_two_runs_in_one_file_keep_their_own_columns_and_ids():
    found = read(
        wide({TIME: "ns", DRAM: "byte"}, [("a", ["1,000,000", "8"])]) + wide({DRAM: "Kbyte", TIME: "us"}, [("b", ["2.00", "5.00"])])
    )
    assert [(p.name, p.bytes["DRAM"]) for p in found.points] == [("a", 8), ("b", 2000)]
    assert found.points[1].time_s == pytest.approx(5e-6)


def test_a_cut_off_row_is_told_and_takes_no_other_row_with_it():
    lines = wide(BASE, [STENCIL, ("torn", POLY[1]), POLY]).splitlines(keepends=True)
    lines[3] = lines[3][: len(lines[3]) // 2 + 3] + "\n"
    found = read("".join(lines))
    assert [p.name for p in found.points] == [STENCIL[0], POLY[0]]
    assert found.skipped[0].origin.line == 4
    found = read("".join(lines[:3]) + lines[3].rstrip("\n"))
    assert len(found.skipped) == 1


def test_the_programs_own_output_between_rows_is_no_kernel_and_a_torn_row_is_one():
    header, units, first, second = wide(BASE, [STENCIL, POLY]).splitlines(keepends=True)
    torn = second[40:]
    found = read(header + units + "step 1, 2, 3\n" + first + '"hello", said the app\n' + torn + second)
    assert [p.name for p in found.points] == [STENCIL[0], POLY[0]]
    assert [s.origin.line for s in found.skipped] == [6]


def test_a_row_cut_inside_quotes_does_not_swallow_the_next():
    lines = wide(BASE, [STENCIL, ("torn", POLY[1]), POLY]).splitlines(keepends=True)
    lines[3] = '"1","4242","solver","127.0.0.1","tor\n'
    found = read("".join(lines))
    assert [p.name for p in found.points] == [STENCIL[0], POLY[0]]
    assert "cut off" in found.skipped[0].reason


def test_text_in_a_number_names_line_and_column():
    with pytest.raises(AnalysisError, match=r"app\.csv, line 3, column 13: dram__bytes\.sum: 'lots' is not a number"):
        read(wide({TIME: "ns", DRAM: "byte"}, [("k", ["1,000,000", "lots"])]))


def test_an_unknown_unit_names_line_and_column():
    with pytest.raises(AnalysisError, match=r"line 3, column 13: .*'furlong'"):
        read(wide({TIME: "ns", DRAM: "furlong"}, [("k", ["1,000,000", "8"])]))


def test_no_csv_tells_what_the_profiler_said():
    permission = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission to read the GPU performance counters of device 0.\n"
    with pytest.raises(AnalysisError, match=r"ERR_NVGPUCTRPERM.*NVreg_RestrictProfilingToAdminUsers=0.*CAP_SYS_ADMIN"):
        read(permission)
    with pytest.raises(AnalysisError, match="no ncu CSV found"):
        read("")
    with pytest.raises(AnalysisError, match=r"no ncu CSV found.*No kernels were profiled"):
        read("==PROF== x\n==WARNING== No kernels were profiled.\n")
    with pytest.raises(AnalysisError, match="0 kernels"):
        read(wide(BASE, []))


def test_zero_duration_is_not_infinitely_fast():
    found = read(wide({TIME: "ns", DRAM: "byte"}, [("k", ["0", "8"])]))
    assert not found.points
    assert "duration is 0" in found.skipped[0].reason


UNITS = {
    1.0: ["byte", "byte/second", "byte/s", "second", "s", "hz", "cycle/second", "inst", "sector", "cycle", "%", ""],
    1e3: ["Kbyte", "Kbyte/second", "Khz"],
    1e6: ["Mbyte", "Mbyte/second", "Mhz", "cycle/usecond"],
    1e9: ["Gbyte", "Gbyte/second", "Gbyte/s", "Ghz", "cycle/nsecond"],
    1e12: ["Tbyte", "Tbyte/second", "Tbyte/s"],
    1e-3: ["msecond", "ms"],
    1e-6: ["usecond", "us"],
    1e-9: ["nsecond", "ns"],
}


@pytest.mark.parametrize(("unit", "factor"), [(unit, factor) for factor, units in UNITS.items() for unit in units])
def test_old_and_new_spellings_of_units(unit, factor):
    assert unit_factor(unit) == pytest.approx(factor, rel=1e-15)
