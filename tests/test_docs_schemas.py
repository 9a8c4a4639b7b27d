"""Every kind of file ert writes has a JSON Schema, which `ert export` prints, and files of that kind fit it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from documents import ROOT, fill_store
from jsonschema import Draft202012Validator
from make_ceilings import DATA
from programs import check_schema, ert

from ert.devices.base import Sample
from ert.journal import Journal, Visit
from ert.schema import schema_names

CPU = str(DATA / "cpu.json")
SOURCES = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "ert").rglob("*.py")))


def written(*arguments: str, code: int = 0) -> object:
    done = ert(*arguments)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_every_schema_that_the_code_writes_has_its_file():
    constants = set(re.findall(r'(?:SCHEMA|"schema":)[^\n"]*"ert\.([a-z]+)"', SOURCES))
    assert {"ceilings", "points", "event", "ridges"} <= constants
    assert constants == set(schema_names())


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_one_and_names_its_file(name: str):
    schema = written("export", name, "--to", "json-schema")
    Draft202012Validator.check_schema(schema)
    assert f'"const": "ert.{name}"' in json.dumps(schema)


def test_a_schema_that_is_not_there_is_answered_with_those_that_are():
    done = ert("export", "fitt", "--to", "json-schema")
    assert done.returncode == 2
    assert "Did you mean 'fit'?" in done.stderr


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("analysis", ("analyze", CPU, "--flops", "10G", "--bytes", "1GB", "--time", "2ms")),
        ("analysis", ("analyze", CPU, "--op", "gemm", "--m", "128", "--n", "256", "--k", "64")),
        ("specs", ("specs",)),
        ("ridges", ("specs", "--ridge", "H200-SXM-141GB", CPU)),
    ],
)
def test_what_a_command_writes_fits_its_schema(name: str, arguments: tuple[str, ...]):
    check_schema(written(*arguments, "--json", "-"), name)


def test_events_and_baselines_of_a_store_fit_theirs(tmp_path: Path):
    store = fill_store(tmp_path)
    done = ert("history", "check", "--store", str(store), "--events", "-")
    assert done.returncode == 3
    (event,) = (json.loads(line) for line in done.stdout.splitlines())
    check_schema(event, "event")
    assert (event["kind"], event["alarm"]) == ("regression", True)
    assert ert("history", "baseline", "--store", str(store), "--device", "GPU-5c21", "--set").returncode == 0
    (baseline,) = store.glob("*/*/baselines/*.json")
    check_schema(json.loads(baseline.read_text()), "baseline")


def test_every_line_of_a_journal_fits_its_schema(tmp_path: Path):
    path = tmp_path / "x.points.jsonl"
    journal = Journal.create(path, {"created": "2026-12-01T02:00:00Z"})
    journal.record(Visit("read/fp64", "ok", None, 4096, 0.0, 4096.0, 8, (Sample(1e-3, throttled=("power",)),)))
    journal.record(Visit("dot/fp16", "unsupported", "no such instruction"))
    journal.close()
    lines = path.read_text().splitlines()
    assert len(lines) == 3
    for line in lines:
        check_schema(json.loads(line), "points")
