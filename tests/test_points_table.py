"""ert's own points files, CSV and JSON: columns as in the contract, errors with their place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import AnalysisError, ErtError
from ert.points.document import decode
from ert.points.formats import parse_points
from ert.points.model import Reading, ReadOptions

HEADER = "name,time_s,precision,flops,dram_bytes,l2_bytes,l1_bytes\n"


def read(text: str, options: ReadOptions | None = None) -> Reading:
    return parse_points(decode("points.csv", text.encode()), options=options or ReadOptions())


def test_columns_of_the_contract():
    point = read(
        "kernel,precision,path,flops,dram_bytes,l3_bytes,shared_bytes,time_s,launches,label\na,fp16,tensor,1e12,2e9,3e9,4e9,0.5,7,v2\n"
    ).points[0]
    assert (point.name, point.time_s, point.launches, point.label) == ("a", 0.5, 7, "v2")
    assert point.flops == {"fp16_tensor": 1e12}
    assert point.bytes == {"DRAM": 2e9, "L3": 3e9, "shared": 4e9}


def test_several_precisions_have_columns_of_their_own():
    point = read("name,time_s,flops_fp32,flops_fp16_tensor,dram_bytes\na,1,2e9,3e9,4\nb,1,0,0,4\n").points
    assert point[0].flops == {"fp32": 2e9, "fp16_tensor": 3e9}
    assert point[0].total_flops == 5e9
    assert point[1].flops == {}


def test_no_flops_is_known_and_an_empty_cell_is_not():
    none, empty = read(HEADER + "copy,1,none,0,8,8,8\nopen,1,fp32,,8,,8\n").points
    assert none.total_flops == 0 and not none.missing
    assert empty.total_flops is None
    assert empty.bytes == {"DRAM": 8, "L2": None, "L1": 8}
    assert len(empty.missing) == 2


def test_rows_of_one_name_stay_apart_and_in_order():
    assert [p.label for p in read("name,time_s,dram_bytes,label\nk,2,8,before\nk,1,8,after\n").points] == ["before", "after"]


@pytest.mark.parametrize("time", ["0", "", "n/a", "nan"])
def test_a_kernel_without_time_is_skipped_and_listed(time):
    found = read(HEADER + f"k,{time},fp32,1,1,1,1\n")
    assert (found.points, found.skipped[0].name, found.skipped[0].origin.line) == ((), "k", 2)


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ("k,abc,fp32,1,1,1,1", r"line 3, column 2 \(time_s\): 'abc'"),
        ("k,1,fp32,-5,1,1,1", r"line 3, column 4 \(flops\): -5 is negative"),
        ("k,1,fp17,5,1,1,1", r"line 3, column 3 \(precision\): 'fp17' is unknown. Did you mean 'fp1"),
        ("k,1,none,5,1,1,1", r"line 3, column 3 \(precision\): 'none' is for kernels without FLOPs"),
        (",1,fp32,5,1,1,1", r"line 3, column 1 \(name\)"),
        ("k,1,fp32,5,1,1", r"line 3: 6 columns where the header has 7"),
        ("k,1,fp32,5,1,1,1,9", r"line 3: 8 columns where the header has 7"),
        ('"k,1,fp32,5,1,1,1', r"line 3: a quote is opened"),
        ("k,2ms,fp32,5,1,1,1", r"line 3, column 2 \(time_s\): '2ms'.*SI"),
    ],
)
def test_bad_rows_name_line_and_column(row, place):
    with pytest.raises(AnalysisError, match=r"points\.csv, " + place):
        read(HEADER + "fine,1,fp32,1,1,1,1\n" + row + "\n")


def test_launches_must_be_whole():
    with pytest.raises(AnalysisError, match=r"column 4 \(launches\): 1\.5"):
        read("name,time_s,dram_bytes,launches\nk,1,8,1.5\n")


def test_comments_blank_lines_crlf_and_hostile_names():
    text = '# made by hand\r\n\r\nname,time_s,dram_bytes\r\n"<script>, ""x""\nsecond line",1,8\r\n# more\r\n'
    assert [p.name for p in read(text).points] == ['<script>, "x"\nsecond line']


def test_semicolons_bring_the_decimal_comma():
    assert read("name;time_s;dram_bytes\nk;0,25;1,5e9\n").points[0].bytes == {"DRAM": 1.5e9}
    with pytest.raises(AnalysisError, match=r"line 2, column 3 \(dram_bytes\): '1,024' can be a thousand"):
        read("name;time_s;dram_bytes\nk;25;1,024\n")


def test_a_comma_file_takes_a_point_for_the_decimal_sign():
    assert read("name,time_s,dram_bytes\nk,117.344,8\n").points[0].time_s == 117.344


def test_unused_columns_are_told_with_the_nearest_name():
    found = read("name,time_s,dram_bytes,l2_byte,comment\nk,1,8,9,x\n")
    assert [(f.code, f.remedy) for f in found.findings] == [("unknown_column", "Did you mean 'l2_bytes'?"), ("unknown_column", None)]


def test_work_of_no_stated_precision():
    text = "name,time_s,flops,dram_bytes\nk,1,9,8\n"
    assert read(text).points[0].flops == {"unknown": 9}
    assert read(text, ReadOptions(precision="fp64")).points[0].flops == {"fp64": 9}


def test_what_is_no_points_file_is_refused_with_the_known_formats():
    with pytest.raises(AnalysisError, match=r"points\.csv: none of the known formats"):
        read("a,b,c\n1,2,3\n")
    with pytest.raises(AnalysisError, match="0 kernels"):
        read(HEADER)
    with pytest.raises(AnalysisError, match="none of the known formats"):
        read('{"schema": "ert.ceilings", "points": [{"id": "p", "kernel": "read"}]}')


def test_json_as_rows_as_nested_objects_and_as_our_own_comparison():
    rows = [{"name": "a", "time_s": 0.5, "precision": "fp32", "flops": 1e9, "dram_bytes": 8, "l2_bytes": None}]
    nested = {
        "schema": "ert.comparison",
        "kernels": [{"name": "a", "time_s": 0.5, "flops": {"fp32": 1e9}, "bytes": {"DRAM": 8, "L2": None}, "ai": {}}],
    }
    for document in (rows, {"points": rows}, nested):
        point = read(json.dumps(document)).points[0]
        assert (point.name, point.time_s, point.flops, point.bytes) == ("a", 0.5, {"fp32": 1e9}, {"DRAM": 8, "L2": None})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[{"name": "a", "time_s": "x", "dram_bytes": 1}]', r"kernels\[0\]\.time_s: 'x'"),
        ('[{"name": "a", "time_s": true, "dram_bytes": 1}]', r"kernels\[0\]\.time_s: true"),
        ('[{"name": "a", "time_s": NaN, "dram_bytes": 1}]', r"line 1, column 26: NaN"),
        ('[{"name": "a", "time_s": 1, "flops": {"fp32": -1}}]', r"kernels\[0\]\.flops_fp32: -1"),
        ('[{"time_s": 1, "dram_bytes": 1}]', r"kernels\[0\]\.name"),
    ],
)
def test_bad_json_names_the_kernel_and_the_key(text, place):
    with pytest.raises(ErtError, match=place):
        read(text)


NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\0"), min_size=1, max_size=40).filter(
    lambda n: n.strip() == n != ""
)
AMOUNTS = st.one_of(st.just(0.0), st.floats(1e-3, 1e20))


@given(st.lists(st.tuples(NAMES, st.floats(1e-9, 1e6), AMOUNTS, AMOUNTS), min_size=1, max_size=8))
def test_every_row_written_is_read_back(rows):
    lines = [",".join(['"' + n.replace('"', '""') + '"', repr(t), "fp64", repr(f), repr(d)]) for n, t, f, d in rows]
    found = read("name,time_s,precision,flops,dram_bytes\n" + "\n".join(lines) + "\n")
    assert [(p.name, p.time_s, p.total_flops, p.bytes["DRAM"]) for p in found.points] == [(n, t, f, d) for n, t, f, d in rows]
