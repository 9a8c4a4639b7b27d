"""ert.outputs: what JUnit readers, node_exporter and log collectors make of a checked night."""

from __future__ import annotations

import json
import multiprocessing
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from history_store import NAMES, a_run, fill, night_of, usual
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import ErtError
from ert.history import Check, check, open_history
from ert.history_events import DeviceAnswer, Event
from ert.history_rules import shipped_rules
from ert.outputs.events import append_events, event_lines
from ert.outputs.junit import junit_xml
from ert.outputs.prometheus import prometheus_text
from ert.store import add_run

NIGHT = night_of(22)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """One card lost DRAM bandwidth and was throttled, one has no run, one is fine."""
    store = tmp_path_factory.mktemp("store")
    fill(store, 20, uuid="GPU-A")
    fill(store, 23, uuid="GPU-B", device={"id": "cuda:1"}, seed=2)
    fill(store, 20, uuid="GPU-C", device={"id": "cuda:2"}, seed=3)
    for night in range(20, 23):
        values = usual() | {"DRAM read": 1.9e12, "fp16 tensor mma": 2.4e14, "L2 read": None}
        add_run(store, a_run(night, values, uuid="GPU-A", throttled=("fp16 tensor mma",)))
    return check(open_history(store, shipped_rules()))


def with_text(text: str) -> Check:
    """A check with this text wherever text may stand."""
    event = Event(NIGHT, text, text, text, "regression", -0.1, NIGHT, text)
    return Check(NIGHT, (DeviceAnswer(text, text, text, text, NIGHT, None, "look here", text),), (), (event,), ())


def test_junit_counts_losses_as_failures_and_what_cannot_be_judged_as_skipped(checked: Check) -> None:
    suites = {suite.get("name"): suite for suite in ET.fromstring(junit_xml(checked))}
    assert list(suites) == ["node1 GPU-A", "node1 GPU-B", "node1 GPU-C"]
    lost = suites["node1 GPU-A"]
    assert {key: lost.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "0",
        "skipped": "2",
    }
    outcome = {case.get("name"): [child.tag for child in case if child.tag != "system-out"] for case in lost}
    assert outcome == {
        "device": [],
        "DRAM read": ["failure"],
        "L2 read": ["skipped"],
        "fp16 tensor mma": ["skipped"],
        "fp64 vector fma": [],
    }
    failure = lost.find(".//failure")
    assert failure is not None
    assert failure.get("type") == "regression"
    assert re.match(rf"DRAM read: regression -\d\.\d % since {night_of(20)}", failure.get("message", ""))
    assert {key: suites["node1 GPU-C"].get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "1",
        "failures": "0",
        "skipped": "1",
    }
    assert suites["node1 GPU-B"].get("failures") == suites["node1 GPU-B"].get("skipped") == "0"


def test_junit_names_time_and_place_and_shows_values(checked: Check) -> None:
    suite = next(iter(ET.fromstring(junit_xml(checked))))
    assert suite.get("timestamp") == f"{NIGHT}T02:00:00"
    assert suite.get("hostname") == "node1"
    texts = {case.get("name"): case.findtext("system-out") for case in suite}
    assert re.match(r"1\.9 TB/s, baseline (2|1\.99\d|2\.00\d) TB/s", texts["DRAM read"] or "")


@given(st.text())
def test_junit_is_xml_whatever_the_names_hold(text: str) -> None:
    ET.fromstring(junit_xml(with_text(text)))


# The exposition format, text format 0.0.4: name, labels, a number.
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Parsed as a Prometheus server does; a line that does not fit is an error, as is a sample given twice."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    typed: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            assert line.split()[2] not in typed
            typed.add(line.split()[2])
        if line.startswith("#"):
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] in typed
        unescaped = {key: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value) for key, value in LABEL.findall(match[2])}
        key = (match[1], frozenset(unescaped.items()))
        assert key not in found
        found[key] = float(match[3])
    return found


def value(found: dict[tuple[str, frozenset[tuple[str, str]]], float], metric: str, **labels: str) -> float | None:
    return found.get((metric, frozenset({"host": "node1", **labels}.items())))


def test_prometheus_has_values_changes_events_and_answers(checked: Check) -> None:
    text = prometheus_text(checked)
    assert text.endswith("\n")
    found = samples(text)
    assert value(found, "ert_bandwidth_bytes_per_second", device="GPU-A", ceiling="DRAM read") == 1.9e12
    assert value(found, "ert_rate_flops_per_second", device="GPU-A", ceiling="fp64 vector fma") == pytest.approx(9.5e12, rel=0.02)
    assert value(found, "ert_change_ratio", device="GPU-A", ceiling="DRAM read") == pytest.approx(-0.05, abs=0.005)
    assert value(found, "ert_event", device="GPU-A", ceiling="DRAM read", kind="regression") == 1
    assert value(found, "ert_event", device="GPU-C", ceiling="", kind="no_data") == 1
    assert [value(found, "ert_device_alarm", device=f"GPU-{x}") for x in "ABC"] == [1, 0, 0]
    assert value(found, "ert_device_answer", device="GPU-A", answer="look here") == 1
    assert value(found, "ert_device_answer", device="GPU-A", answer="fine") == 0
    # 2025-01-23 02:00 UTC
    assert value(found, "ert_last_run_timestamp_seconds", device="GPU-A") == 1737597600


def test_prometheus_has_no_line_for_what_was_not_measured(checked: Check) -> None:
    found = samples(prometheus_text(checked))
    assert value(found, "ert_bandwidth_bytes_per_second", device="GPU-A", ceiling="L2 read") is None
    assert value(found, "ert_last_run_timestamp_seconds", device="GPU-C") is None
    assert {dict(labels).get("ceiling") for (name, labels) in found if name == "ert_rate_flops_per_second"} <= set(NAMES)


@given(st.text())
def test_prometheus_labels_come_back_whatever_they_hold(text: str) -> None:
    # A text file has no surrogates, and Prometheus no carriage returns or other line ends of Unicode inside a line.
    clean = re.sub("[\ud800-\udfff\r\v\f\x1c-\x1e\x85\u2028\u2029]", "", text)
    found = samples(prometheus_text(with_text(clean)))
    assert ("ert_device_alarm", frozenset({"host": clean, "device": clean}.items())) in found


def test_the_same_event_twice_is_one_sample(checked: Check) -> None:
    doubled = replace(checked, events=checked.events + checked.events)
    assert samples(prometheus_text(doubled)) == samples(prometheus_text(checked))


def test_events_are_one_object_a_line_with_the_alarm_said(checked: Check) -> None:
    rows = [json.loads(line, parse_constant=pytest.fail) for line in event_lines(checked.events).splitlines()]
    assert [(row["device"], row["kind"], row["alarm"]) for row in rows] == [
        ("GPU-A", "regression", True),
        ("GPU-A", "no_data", False),
        ("GPU-A", "throttled", False),
        ("GPU-C", "no_data", False),
    ]
    assert {row["schema"] for row in rows} == {"ert.event"}
    assert event_lines(()) == ""


def _append(path: Path, name: str) -> None:
    for _ in range(50):
        append_events(path, [Event(NIGHT, name, name, None, "no_data", None, None, "x" * 500)] * 3)


def test_lines_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "new" / "events.jsonl"
    writers = [multiprocessing.get_context("spawn").Process(target=_append, args=(path, f"n{i}")) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 450
    assert {row["host"] for row in rows} == {"n0", "n1", "n2"}


def test_a_place_that_cannot_be_written_is_an_error_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(ErtError, match=re.escape(f"{tmp_path}: cannot be written")):
        append_events(tmp_path, ())
