"""Curves from files: what is read, what is left out and counted, and what is refused by file, line and column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.ceilings import load
from ert.devices.base import Sample
from ert.errors import AnalysisError, ErtError, SchemaError
from ert.fit.csv_curves import curves_of_csv, parse_clocks
from ert.fit.measured import points_of_visits
from ert.fit.read import read_curves, read_facts
from ert.fit.table import parse_table
from ert.fit.ticks import timer_tick_s, too_short
from ert.journal import Visit
from ert.kernels import load_kernels

pytestmark = pytest.mark.filterwarnings("error")

DATA = Path(__file__).parent / "data"


def curve_of(text):
    curves, findings = curves_of_csv(text, "c.csv")
    (read,) = curves
    return read.curve, findings


@pytest.mark.parametrize(("column", "unit"), [("time_s", 1.0), ("time_ms", 1e3), ("time_us", 1e6)])
def test_bandwidth_is_bytes_over_time_in_any_unit(column, unit):
    curve, findings = curve_of(f"working_set_bytes,bytes_moved,{column}\n1024,2e9,{0.001 * unit}\n2048,4e9,{0.004 * unit}\n")
    assert curve.bandwidth_bytes_per_s == pytest.approx([2e12, 1e12])
    assert findings == []


def test_bandwidth_column_is_taken_as_it_is_and_other_columns_are_ignored():
    curve, _ = curve_of("trial,working_set_bytes,bandwidth_bytes_per_s,note\n0,1024,3e9,x\n0,2048,2e9,\n")
    assert curve.working_set_bytes.tolist() == [1024.0, 2048.0]
    assert curve.bandwidth_bytes_per_s.tolist() == [3e9, 2e9]
    assert (curve.order, curve.clock_hz) == (None, None)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_comments_blank_lines_quotes_and_the_byte_order_mark_do_not_matter(tmp_path, delimiter):
    lines = [
        "# a comment, with commas",
        "",
        delimiter.join([" Working_Set_Bytes ", '"bandwidth_bytes_per_s"']),
        delimiter.join(["1024", '"3e9"']),
        "",
        "# another",
        delimiter.join(["2048", "2e9"]),
    ]
    (tmp_path / "c.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    (read,) = read_curves(tmp_path / "c.csv").curves
    assert read.curve.bandwidth_bytes_per_s.tolist() == [3e9, 2e9]


def test_order_and_clock_are_read_where_they_are_there():
    curve, _ = curve_of("working_set_bytes,bandwidth_bytes_per_s,order,sm_clock_MHz\n1024,3e9,1,1500\n2048,2e9,0,\n")
    assert curve.order.tolist() == [1.0, 0.0]
    assert curve.clock_hz[0] == 1.5e9
    assert np.isnan(curve.clock_hz[1])


def test_each_operation_is_a_curve_of_its_own():
    curves, _ = curves_of_csv("op,working_set_bytes,bandwidth_bytes_per_s\nread,1,3\nwrite,1,2\nread,2,3\nwrite,2,2\n", "c.csv")
    assert [(c.op, c.curve.bandwidth_bytes_per_s.tolist()) for c in curves] == [("read", [3.0, 3.0]), ("write", [2.0, 2.0])]


def test_rows_that_were_not_measured_are_left_out_and_counted_by_reason():
    text = (
        "working_set_bytes,bytes_moved,time_us\n1024,1e6,5\n2048,1e6,0\n4096,1e6,-1\n8192,1e6,nan\n16384,1e6,\n32768,1e6,inf\n65536,n/a,9\n"
    )
    curve, findings = curve_of(text + "131072,1e6,7\n")
    assert curve.working_set_bytes.tolist() == [1024.0, 131072.0]
    by_code = {(f.code, f.value): f.message for f in findings}
    assert "line 3, column time_us" in by_code["rows_not_positive", 2.0]
    assert "line 5, column time_us" in by_code["rows_not_measured", 3.0]
    assert "line 8, column bytes_moved" in by_code["rows_not_measured", 1.0]


RATE = "working_set_bytes,bandwidth_bytes_per_s\n"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", SchemaError, "c.csv: line 1: empty"),
        ("\n\n# only a comment\n", SchemaError, "c.csv: line 1: empty"),
        (RATE, AnalysisError, "c.csv: no usable row among 0"),
        (RATE + "1024,3e9\n", AnalysisError, "c.csv: line 2, column working_set_bytes: 1 row of one size"),
        (RATE + "1024,3e9\n1024,3e9\n", AnalysisError, "2 rows of one size"),
        (RATE + "1024,3e9\n2048,fast\n", SchemaError, "c.csv: line 3, column bandwidth_bytes_per_s: 'fast' is not a number"),
        (RATE + "1024,3e9\n2048,1_000\n", SchemaError, "line 3, column bandwidth_bytes_per_s: '1_000' is not a number"),
        (RATE + '1024,3e9\n2048,"1,000"\n', SchemaError, "line 3, column bandwidth_bytes_per_s: '1,000' is not a number"),
        (RATE + "1024,3e9\n0,3e9\n", SchemaError, "c.csv: line 3, column working_set_bytes: 0 is no size"),
        (RATE + "1024,3e9\n-8,3e9\n", SchemaError, "line 3, column working_set_bytes: -8 is no size"),
        (RATE + "1024,3e9\n,3e9\n", SchemaError, "line 3, column working_set_bytes: nan is no size"),
        ("size,bandwidth_bytes_per_s\n1,2\n", SchemaError, "c.csv: line 1: the column 'working_set_bytes' is missing"),
        ("working_set_bytes,gbps\n1,2\n", SchemaError, "c.csv: line 1: the column 'bandwidth_bytes_per_s' is missing"),
        ("working_set_bytes,bytes_moved\n1,2\n", SchemaError, "'bytes_moved' needs a time beside it"),
        ("working_set_bytes,time_s\n1,2\n", SchemaError, "the column 'bytes_moved' is missing"),
        ("working_set_bytes,bytes_moved,time_s,time_us\n1,2,3,4\n", SchemaError, "time_s and time_us both"),
        ("working_set_bytes,working_set_bytes,bandwidth_bytes_per_s\n1,2,3\n", SchemaError, "stands there twice"),
        (RATE + "1024,0\n2048,-1\n", AnalysisError, "no usable row among 2. c.csv: line 2, column bandwidth_bytes_per_s"),
        (RATE + "1024,nan\n2048,3e9\n", AnalysisError, "of one size after 1 rows were left out"),
        ("working_set_bytes,bandwidth_bytes_per_s,order\n1,2,0\n2,2,\n", SchemaError, "line 3, column order"),
    ],
)
def test_what_is_no_curve_is_refused_by_file_line_and_column(text, error, message):
    with pytest.raises(error) as caught:
        curves_of_csv(text, "c.csv")
    assert message in str(caught.value)


def test_line_numbers_count_lines_of_the_file_also_after_comments():
    with pytest.raises(SchemaError, match="line 4, column bandwidth_bytes_per_s"):
        curves_of_csv("# one\n\n" + RATE + "1024,x\n", "c.csv")


@given(st.text(alphabet="0123456789.,;eE+-nai\n\"'_# \tworking_set_bytes", max_size=200))
def test_any_text_is_read_or_refused_with_an_error_of_ert(text):
    for header in ("", RATE, "working_set_bytes,bytes_moved,time_us\n"):
        try:
            curves, _ = curves_of_csv(header + text, "c.csv")
        except ErtError as error:
            assert str(error).startswith("c.csv: ")
        else:
            for read in curves:
                assert (read.curve.working_set_bytes > 0).all()
                assert (read.curve.bandwidth_bytes_per_s > 0).all()


@given(st.lists(st.tuples(st.floats(1e-3, 1e15), st.floats(1e-3, 1e15)), min_size=2, max_size=20, unique_by=lambda row: row[0]))
def test_numbers_come_back_as_they_were_written(rows):
    curve, _ = curve_of(RATE + "".join(f"{size!r},{rate!r}\n" for size, rate in rows))
    assert list(zip(curve.working_set_bytes.tolist(), curve.bandwidth_bytes_per_s.tolist(), strict=True)) == rows


def test_a_hundred_thousand_rows_are_read_quickly():
    table = parse_table(RATE + "1024,3e9\n" * 100_000, "c.csv", ("working_set_bytes", "bandwidth_bytes_per_s"))
    assert table.lines.size == 100_000
    assert table.lines[-1] == 100_001


def test_tick_of_a_microsecond_clock_is_found_and_short_sizes_are_left_out():
    rng = np.random.default_rng(1)
    size = np.repeat(2.0 ** np.arange(10, 24), 10)
    time_s = np.round(size / 1e10 / 1e-6 + rng.uniform(0, 1, size.size)) * 1e-6
    assert timer_tick_s(time_s) == pytest.approx(1e-6)
    rows = "".join(f"{s},{s},{t * 1e6}\n" for s, t in zip(size, time_s, strict=True))
    curve, findings = curve_of("working_set_bytes,bytes_moved,time_us\n" + rows)
    assert [f.code for f in findings if f.code == "timer_too_coarse"] == ["timer_too_coarse"]
    assert curve.working_set_bytes.min() == 2.0**18  # 26 us; 2^17 bytes last 13 ticks


def test_printed_digits_and_exact_ratios_are_no_clock():
    assert timer_tick_s(np.array([201.884e-6, 199.475e-6, 200.321e-6, 333.333e-6])) is None
    # One amount of bytes at two exact bandwidths: every time is a multiple of the shortest.
    assert timer_tick_s(np.repeat([0.5e-3, 1e-3, 2e-3], 20)) is None
    assert timer_tick_s(2.0 ** np.arange(10) * 1e-6) is None
    assert timer_tick_s(np.array([0.0, -1.0])) is None


def test_a_size_is_too_short_by_the_median_of_its_rows():
    size = np.repeat([1024.0, 2048.0], 3)
    assert too_short(size, np.array([19.0, 21, 19, 21, 19, 21]) * 1e-6, 1e-6).tolist() == [True] * 3 + [False] * 3


def test_clocks_of_another_file_belong_to_data_rows_from_zero(tmp_path):
    (tmp_path / "c.csv").write_text("# note\n" + RATE + "1024,3e9\n2048,2e9\n")
    (tmp_path / "k.csv").write_text("row,sm_clock_MHz\n1,1110\n0,1500\n")
    (read,) = read_curves(tmp_path / "c.csv", tmp_path / "k.csv").curves
    assert read.curve.clock_hz.tolist() == [1.5e9, 1.11e9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,power\n0,3\n", "k.csv: line 1: needs the columns 'row'"),
        ("row,clock_hz\n-1,3\n", "k.csv: line 2, column row: -1.0 is not a row number"),
        ("row,clock_hz\n0.5,3\n", "k.csv: line 2, column row: 0.5 is not a row number"),
        ("row,clock_hz\n,3\n", "k.csv: line 2, column row: nan is not a row number"),
    ],
)
def test_file_of_clocks_that_cannot_be_used_is_refused(text, message):
    with pytest.raises(SchemaError, match=message):
        parse_clocks(text, "k.csv")


def test_clocks_of_another_run_are_refused(tmp_path):
    (tmp_path / "c.csv").write_text(RATE + "1024,3e9\n2048,2e9\n")
    (tmp_path / "k.csv").write_text("row,clock_hz\n7,1e9\n")
    with pytest.raises(AnalysisError, match="has 2 data rows, and the file of clocks speaks of 8"):
        read_curves(tmp_path / "c.csv", tmp_path / "k.csv")


def ceilings_with_a_curve(tmp_path, *, points):
    document = json.loads((DATA / "ceilings" / "cpu.json").read_text())
    document["device"]["caches"] = [{"level": "L1", "capacity_bytes": 65536}, {"level": "L2", "capacity_bytes": 2097152}]
    document["points"] = points
    path = tmp_path / "ceilings.json"
    path.write_text(json.dumps(document))
    load(path)  # a file the rest of ert reads
    return path


def point(number, size, samples_s, **more):
    return {
        "id": f"p{number}",
        "kernel": "read",
        "measures": "bandwidth",
        "op": "read",
        "precision": "fp32",
        "path": "vector",
        "working_set_bytes": size,
        "bytes": 1000.0,
        "repeats": 10,
        "samples_s": samples_s,
        **more,
    }


def test_points_of_a_ceilings_file_become_a_curve_with_its_samples_as_rows(tmp_path):
    points = [
        point(1, 4096, [1e-6, 2e-6], clock_hz=[4e9, None], throttled=[[], ["power"]]),
        point(2, 8192, [4e-6, 4e-6]),
        point(3, 8192, [2e-6, 2e-6]),  # a faster variant of the same size
        point(4, 8192, [1e-9], level="L1"),  # a point of a level, not of the curve
        point(5, 16384, [], status="error", reason="lost"),
    ]
    found = read_curves(ceilings_with_a_curve(tmp_path, points=points))
    (read,) = found.curves
    assert read.op == "read"
    assert read.curve.working_set_bytes.tolist() == [4096.0, 4096.0, 8192.0, 8192.0]
    assert read.curve.bandwidth_bytes_per_s == pytest.approx([1e10, 5e9, 5e9, 5e9])
    assert read.curve.throttled.tolist() == [False, True, False, False]
    assert [f.name for f in found.facts] == ["L1", "L2", "DRAM"]


def test_ceilings_file_without_a_curve_is_refused(tmp_path):
    with pytest.raises(AnalysisError, match="holds no working-set curve"):
        read_curves(ceilings_with_a_curve(tmp_path, points=[point(1, 4096, [1e-6])]))


def test_journal_of_a_sweep_becomes_a_curve(tmp_path):
    rows = [
        {"schema": "ert.points", "schema_version": 1, "device": {"caches": [{"level": "L1", "capacity_bytes": 65536}]}},
        {
            "id": "read/fp32/curve/4096/u=1",
            "working_set_bytes": 4096,
            "flops": 0,
            "bytes": 1e3,
            "repeats": 10,
            "samples": [{"time_s": 1e-6}],
        },
        {
            "id": "read/fp32/curve/8192/u=1",
            "working_set_bytes": 8192,
            "flops": 0,
            "bytes": 1e3,
            "repeats": 10,
            "samples": [{"time_s": 2e-6}],
        },
        {
            "id": "read/fp32/curve/8192/u=1",
            "working_set_bytes": 8192,
            "flops": 0,
            "bytes": 1e3,
            "repeats": 10,
            "samples": [{"time_s": 2e-6}],
        },
        {"id": "read/fp32/L1/8192/u=1", "working_set_bytes": 8192, "flops": 0, "bytes": 1e3, "repeats": 10, "samples": [{"time_s": 1e-9}]},
    ]
    path = tmp_path / "x.points.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_curves(path)
    (read,) = found.curves
    assert read.curve.bandwidth_bytes_per_s == pytest.approx([1e10, 5e9, 5e9])
    assert [f.name for f in found.facts] == ["L1", "DRAM"]


@pytest.mark.parametrize(
    "point_id",
    [
        "read",
        "read/fp32",
        "read/fp32/curve/8192/u=nan",
        "read/fp32/curve/8192/u=1.5",
        "read/fp32/L1/8192/u=" + "9" * 5000,
        "unheard/fp32/L1/u=1",
    ],
)
def test_visits_named_as_no_point_of_this_version_are_counted_and_left_out(point_id: str):
    visits = [
        Visit("read/fp32/L1/8192/u=1", working_set_bytes=8192, bytes=1e3, repeats=10, samples=(Sample(1e-6),)),
        Visit(point_id, working_set_bytes=8192, bytes=1e3, repeats=10, samples=(Sample(1e-6),)),
    ]
    points, (finding,) = points_of_visits(visits, load_kernels("cpu"))
    assert [p.id for p in points] == ["read/fp32/L1/8192/u=1"]
    assert finding.message.startswith("1 visits are of kernels this version does not have")


def test_facts_are_read_from_a_device_object_or_a_file_that_holds_one(tmp_path):
    path = ceilings_with_a_curve(tmp_path, points=[])
    assert [f.capacity_bytes for f in read_facts(path)] == [65536, 2097152, None]
    (tmp_path / "empty.json").write_text('{"name": "x"}')
    with pytest.raises(SchemaError, match="says nothing about caches"):
        read_facts(tmp_path / "empty.json")
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(SchemaError, match="not a JSON object"):
        read_facts(tmp_path / "list.json")
