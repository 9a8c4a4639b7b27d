"""The ceilings file: what loads, what is refused, what comes back, and the numbers derived from it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from make_ceilings import DATA, H200_LEVELS, H200_PEAKS, any_ceilings, make_ceilings
from programs import check_schema, schema_of

import ert
from ert.ceilings import Ceilings, load, save
from ert.ceilings.file import MIGRATIONS, ceilings_to_json, from_dict, to_dict
from ert.ceilings.kinds import BandwidthCeiling, ComputeCeiling, Corner, Roof
from ert.ceilings.model import SCHEMA_VERSION, Tool
from ert.ceilings.point import Point
from ert.errors import AnalysisError, ErtError, SchemaError
from ert.findings import Finding
from ert.jsontypes import Json

# P and B of the worked example: ridge 100 FLOP/byte.
EXAMPLE = make_ceilings({"L2": 5e12, "DRAM": 1e12}, {("fp32", "vector"): 100e12, ("fp16", "tensor"): 400e12}, corner_exponent=4)
FILES = sorted(DATA.glob("*.json"))


def document(name: str = "schema_version_1.json") -> dict[str, Json]:
    return json.loads((DATA / name).read_text())


def point(**changes: object) -> Point:
    given_facts = {"id": "p", "kernel": "mixed", "measures": "mixed", "op": "mixed", "precision": "fp64", "path": "vector"}
    return Point(**{**given_facts, "flops": 40, "bytes": 16, "repeats": 10, "samples_s": (2.0, 1.0, 4.0), **changes})


def test_file_of_schema_version_1_still_loads():
    c = load(DATA / "schema_version_1.json")
    assert c.schema_version == SCHEMA_VERSION
    assert c.device["name"] == "AMD EPYC 9575F 64-Core Processor"
    assert c.bandwidth("L1") == 1.442e12
    assert c.bandwidth() == 7.62e10
    assert c.compute_peak("fp64") == 2.671e11
    assert c.warnings[0] == Finding(
        "noisy", "DRAM update: noise 1.6 % is above 1 %", 0.016, "try --min-time 0.02, or stop what else runs on the machine"
    )
    assert [p.status for p in c.points] == ["ok", "ok", "unsupported", "ok", "ok"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_file_comes_back_key_for_key(path: Path):
    assert to_dict(load(path)) == json.loads(path.read_text())


def check_document(text: str) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    check_schema(json.loads(text, parse_constant=refuse), "ceilings")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_kept_files_follow_the_schema(path: Path):
    check_document(path.read_text())


@settings(max_examples=25, deadline=None)
@given(any_ceilings(min_compute=0))
def test_any_ceilings_survive_a_round_trip_and_follow_the_schema(c: Ceilings):
    text = ceilings_to_json(c)
    check_document(text)
    assert from_dict(json.loads(text), "memory") == c


def test_schema_is_itself_valid_and_knows_every_field_of_every_dataclass():
    schema = schema_of("ceilings")
    for name, cls in [
        ("bandwidth_ceiling", BandwidthCeiling),
        ("compute_ceiling", ComputeCeiling),
        ("roof", Roof),
        ("corner", Corner),
        ("point", Point),
        ("finding", Finding),
    ]:
        assert set(schema["$defs"][name]["properties"]) == {f.name for f in fields(cls)}
    assert set(schema["properties"]["tool"]["properties"]) == {f.name for f in fields(Tool)}
    held = {f.name for f in fields(Ceilings)} - {"bandwidth_ceilings", "compute_ceilings"}
    assert set(schema["properties"]) == held | {"schema", "ceilings"}


def test_saved_file_loads_the_same_and_is_the_text_of_ceilings_to_json(tmp_path: Path):
    path = tmp_path / "new" / "c.json"
    save(EXAMPLE, path)
    assert load(path) == EXAMPLE
    assert path.read_text() == ceilings_to_json(EXAMPLE)


def test_keys_stand_in_the_order_of_the_contract_whatever_order_the_facts_came_in():
    shuffled = replace(EXAMPLE, device=dict(reversed(EXAMPLE.device.items())))
    assert ceilings_to_json(shuffled) == ceilings_to_json(EXAMPLE)
    assert list(to_dict(EXAMPLE)) == [
        "schema",
        "schema_version",
        "created",
        "tool",
        "argv",
        "device",
        "environment",
        "config",
        "ceilings",
        "roofs",
        "launch_overhead_s",
        "points",
        "warnings",
    ]


def test_whole_numbers_stay_whole_beyond_two_to_the_53():
    huge = 2**53 + 1
    c = replace(EXAMPLE, points=(point(bytes=huge, working_set_bytes=huge),))
    again = from_dict(json.loads(ceilings_to_json(c)), "memory").points[0]
    assert (again.bytes, again.working_set_bytes) == (huge, huge)


def test_numpy_numbers_are_written_as_numbers():
    c = replace(EXAMPLE, launch_overhead_s=np.float32(0.5), points=(point(bytes=np.int64(16), samples_s=tuple(np.array([1.0, 2.0]))),))
    again = from_dict(json.loads(ceilings_to_json(c)), "memory")
    assert (again.launch_overhead_s, again.points[0].bytes, again.points[0].samples_s) == (0.5, 16, (1.0, 2.0))


def test_nan_is_never_written(tmp_path: Path):
    with pytest.raises(ErtError, match="launch_overhead_s"):
        save(replace(EXAMPLE, launch_overhead_s=float("nan")), tmp_path / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_unknown_keys_of_a_newer_minor_writer_are_ignored():
    d = document()
    d["mood"] = "good"
    d["points"][0]["mood"] = d["ceilings"]["bandwidth"][0]["mood"] = {"deep": [1]}
    assert from_dict(d, "f") == load(DATA / "schema_version_1.json")


def test_newer_schema_is_refused_with_both_versions():
    with pytest.raises(
        SchemaError, match=r"f\.json: written in schema version 2; this ert knows versions up to 1\. Read it with a newer ert\."
    ):
        from_dict({**document(), "schema_version": 2}, "f.json")


@pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.0])
def test_version_that_never_existed_is_refused(version: Json):
    with pytest.raises(SchemaError, match="schema_version is"):
        from_dict({**document(), "schema_version": version}, "f.json")


def test_older_versions_pass_through_every_migration_in_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ert.ceilings.file.SCHEMA_VERSION", 3)
    monkeypatch.setitem(MIGRATIONS, 1, lambda d: {**d, "created": d["created"] + " 1>2"})
    monkeypatch.setitem(MIGRATIONS, 2, lambda d: {**d, "created": d["created"] + " 2>3"})
    c = from_dict(document(), "f.json")
    assert (c.created, c.schema_version) == ("2026-12-01T02:00:00Z 1>2 2>3", 3)


@pytest.mark.parametrize("other", [[], None, {"schema": "ert.comparison", "schema_version": 1}, {}])
def test_file_of_another_kind_is_refused(other: Json):
    with pytest.raises(SchemaError, match=r"f\.json: not a ceilings file"):
        from_dict(other, "f.json")


def test_file_that_is_not_there_or_torn_is_explained(tmp_path: Path):
    with pytest.raises(ErtError, match=r"none\.json: cannot be read"):
        load(tmp_path / "none.json")
    torn = tmp_path / "torn.json"
    torn.write_text((DATA / "cpu.json").read_text()[:5000])
    with pytest.raises(SchemaError, match=r"torn\.json: line \d+, column \d+"):
        load(torn)


def edited(change: str, value: Json) -> dict[str, Json]:
    """The kept document with one value, named like ``points.0.repeats``, replaced."""
    d = document()
    at: Json = d
    *steps, last = change.split(".")
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    at[int(last) if isinstance(at, list) else last] = value
    return d


@pytest.mark.parametrize(
    ("change", "value", "message"),
    [
        ("created", 5, "f.json: created: expected a text, found 5"),
        ("ceilings", [], "f.json: ceilings: the document: expected an object"),
        ("ceilings.bandwidth.1.value", "fast", r"f.json: ceilings: bandwidth\[1\].value: expected a number, found 'fast'"),
        ("ceilings.bandwidth.1.value", 0, "f.json: ceilings.bandwidth: L1 triad: value 0 is not above 1e-05"),
        ("ceilings.bandwidth.1.ci95", [2.0, 1.0], r"f.json: ceilings.bandwidth: L1 triad: ci95 \[2.0, 1.0\] is not \[low, high\]"),
        ("ceilings.bandwidth.1.value", 5e-324, "f.json: ceilings.bandwidth: L1 triad: value 5e-324 is not above 1e-05"),
        ("ceilings.compute.1.value", 1e24, "value 1e[+]24 is not above 1e-05 and below 1e[+]24: no machine has such a ceiling"),
        ("ceilings.bandwidth.1.limit", 5e-324, "L1 triad: limit 5e-324 is not above 1e-05"),
        ("ceilings.bandwidth.1.ci95", [5e-324, 1e12], r"L1 triad: ci95 \[5e-324, 1000000000000.0\] is not"),
        ("ceilings.bandwidth.1.ci95", [1e12, 1e308], r"L1 triad: ci95 \[1000000000000.0, 1e[+]308\] is not"),
        ("ceilings.bandwidth.0.roof", True, "f.json: ceilings.bandwidth: L1 has 2 roofs; exactly one"),
        ("ceilings.bandwidth.1.roof", False, "f.json: ceilings.bandwidth: L1 has 0 roofs; exactly one"),
        ("ceilings.compute.1.roof", True, "f.json: ceilings.compute: fp64 vector has 2 roofs; one at most"),
        ("points.1.id", "fma-fp16", "f.json: points: the id 'fma-fp16' stands 2 times"),
        ("points.1.samples_s", [], "f.json: point 'fma-fp64': status ok needs repeats >= 1 and at least one sample"),
        ("points.1.samples_s.2", 0.0, "f.json: point 'fma-fp64': a sample is not above 0 s"),
        ("points.1.clock_hz", [1.0], "f.json: point 'fma-fp64': clock_hz has 1 entries for 5 samples"),
        ("points.1.throttled", [[]], "f.json: point 'fma-fp64': throttled has 1 entries for 5 samples"),
        ("points.1.status", "fine", r"f.json: points\[1\].status: 'fine' is unknown; known: ok, unsupported, skipped, error"),
    ],
)
def test_damaged_file_is_refused_naming_the_place(change: str, value: Json, message: str):
    with pytest.raises(SchemaError, match=message):
        from_dict(edited(change, value), "f.json")


def test_compute_ceiling_without_an_op_is_the_roof_operation_of_its_path():
    d = document()
    del d["ceilings"]["compute"][0]["op"]
    assert from_dict(d, "f").compute_ceilings[0].op == "fma"


def test_contradiction_is_not_written_either(tmp_path: Path):
    twice = replace(EXAMPLE, bandwidth_ceilings=EXAMPLE.bandwidth_ceilings * 2)
    with pytest.raises(SchemaError, match="L2 has 2 roofs"):
        save(twice, tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


def test_attainable_ridge_and_roofs_of_the_worked_example():
    assert [EXAMPLE.attainable(ai) for ai in (1, 10, 100, 200, 1000)] == [1e12, 10e12, 100e12, 100e12, 100e12]
    np.testing.assert_array_equal(EXAMPLE.attainable(np.array([10.0, 200.0])), [10e12, 100e12])
    assert EXAMPLE.ridge() == 100
    assert EXAMPLE.ridge("L2", "fp16", "tensor") == 80
    assert EXAMPLE.bandwidth("L2") == 5e12
    assert EXAMPLE.compute_peak("fp16", "tensor") == 400e12
    assert EXAMPLE.attainable(10, level="L2") == 50e12


def test_rounded_roof_takes_the_fitted_corner():
    assert EXAMPLE.attainable(100, rounded=True) == pytest.approx(100e12 / 2**0.25, rel=1e-12)


def test_rounded_roof_without_a_fitted_corner_is_explained():
    with pytest.raises(AnalysisError, match="DRAM, fp32 vector: no corner was fitted"):
        replace(EXAMPLE, roofs=()).attainable(100, rounded=True)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            lambda c: c.bandwidth("DRAN"),
            r"level 'DRAN' has no roof in this ceilings file\. Did you mean 'DRAM'\? It has: shared, L1, L2, DRAM\.",
        ),
        (lambda c: c.compute_peak("fp17"), r"precision 'fp17' .* Did you mean 'fp16'\? It has: fp64, fp32, fp16"),
        (lambda c: c.ridge(precision="fp8"), r"fp8 path 'vector' has no roof in this ceilings file\. It has: tensor\."),
        (lambda c: c.attainable(1, level="HBM"), r"level 'HBM'"),
    ],
)
def test_unknown_level_precision_or_path_names_the_known_ones(question, message: str):
    c = make_ceilings({k: v * 1e12 for k, v in H200_LEVELS.items()}, {k: v * 1e12 for k, v in H200_PEAKS.items()})
    with pytest.raises(AnalysisError, match=message):
        question(c)


def test_point_derives_time_rate_bandwidth_and_intensity_of_one_repeat():
    p = point()
    assert p.median_time_s == 0.2
    assert p.rate_flop_per_s == 200
    assert p.bandwidth_bytes_per_s == 80
    assert p.ai_flop_per_byte == 2.5


def test_throttled_samples_are_left_out_unless_all_are():
    assert point(throttled=((), ("power",), ())).median_time_s == 0.3
    assert point(throttled=(("power",), ("power",), ("heat",))).median_time_s == 0.2


def test_what_a_point_did_not_measure_is_none():
    copy = point(flops=0)
    assert (copy.rate_flop_per_s, copy.ai_flop_per_byte, copy.bandwidth_bytes_per_s) == (None, None, 80)
    registers = point(bytes=0)
    assert (registers.bandwidth_bytes_per_s, registers.ai_flop_per_byte, registers.rate_flop_per_s) == (None, None, 200)
    absent = point(status="unsupported", samples_s=(), repeats=0)
    assert (absent.median_time_s, absent.rate_flop_per_s, absent.bandwidth_bytes_per_s) == (None, None, None)


def test_share_of_limit_is_derived_and_none_without_a_limit():
    c = load(DATA / "cpu.json")
    assert c.bandwidth_roofs["L2"].share_of_limit == pytest.approx(517 / 537.6)
    assert c.compute_roofs["fp64", "vector"].share_of_limit == pytest.approx(267.1 / 268.8)
    assert c.bandwidth_roofs["DRAM"].share_of_limit is None


def test_ert_load_needs_no_numpy_and_importing_ert_needs_next_to_nothing():
    code = (
        "import sys, ert; heavy = {'numpy', 'matplotlib', 'click', 'rich', 'json'} & set(sys.modules); assert not heavy, heavy;"
        f"c = ert.load({str(DATA / 'cpu.json')!r}); assert not {{'numpy', 'matplotlib'}} & set(sys.modules); print(c.bandwidth('L2'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("517000000000.0\n", "")


def test_ert_load_is_the_documented_way_in():
    assert ert.load is load
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = ert.lode
