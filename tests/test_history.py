"""ert.history and its parts: from files in a store to events and answers."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from history_store import NAMES, a_run, fill, night_of, usual
from make_ceilings import mixed_point
from programs import check_schema

from ert.ceilings import load
from ert.errors import AnalysisError, ErtError
from ert.history import Check, check, open_history
from ert.history_baseline import Baseline, choose_nights, set_baseline
from ert.history_index import open_index, run_sql
from ert.history_rules import shipped_rules
from ert.store import add_run, list_files

RULES = shipped_rules()


def checked(store: Path, night: int | None = None, since: int | None = None) -> Check:
    def date(number: int | None) -> datetime.date | None:
        return None if number is None else datetime.date.fromisoformat(night_of(number))

    return check(open_history(store, RULES), date(night), date(since))


def said(found: Check) -> list[tuple[str, str | None, str]]:
    return [(event.date, event.ceiling, event.kind) for event in found.events]


def answers(found: Check) -> dict[str, str]:
    return {each.device: each.answer for each in found.answers}


def test_runs_and_ceilings_are_tables(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    index = open_index(tmp_path)
    assert index.query("SELECT count(*), count(DISTINCT night) FROM runs") == [(3, 3)]
    assert index.query("SELECT DISTINCT ceiling, unit FROM ceilings ORDER BY ALL") == [
        ("DRAM read", "B/s"),
        ("L2 read", "B/s"),
        ("fp16 tensor mma", "FLOP/s"),
        ("fp64 vector fma", "FLOP/s"),
    ]
    stored = load(tmp_path / list_files(tmp_path)[0].path).bandwidth("DRAM")
    assert index.query("SELECT value FROM ceilings WHERE ceiling = 'DRAM read' ORDER BY night LIMIT 1") == [(stored,)]
    assert index.findings == ()


def test_files_are_read_once_and_new_ones_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 3)
    open_index(tmp_path)
    read = []
    original = open_index.__globals__["read_row"]
    monkeypatch.setitem(open_index.__globals__, "read_row", lambda store, file: read.append(file.path) or original(store, file))
    assert open_index(tmp_path).query("SELECT count(*) FROM runs") == [(3,)]
    assert read == []
    add_run(tmp_path, a_run(7, usual()))
    assert open_index(tmp_path).query("SELECT count(*) FROM runs") == [(4,)]
    assert read == ["node1/GPU-1111/20250108T020000Z.json"]


def test_a_file_that_was_deleted_is_gone_and_a_damaged_index_is_made_again(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    open_index(tmp_path)
    (tmp_path / list_files(tmp_path)[0].path).unlink()
    assert open_index(tmp_path).query("SELECT count(*) FROM runs") == [(2,)]
    for index in (tmp_path / ".index").iterdir():
        index.write_bytes(b"PAR1 no more")
    assert open_index(tmp_path).query("SELECT count(*) FROM runs") == [(2,)]


def test_a_store_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    (tmp_path / ".index").write_text("a file where the folder should be")
    index = open_index(tmp_path)
    assert index.query("SELECT count(*) FROM runs") == [(2,)]
    assert [finding.code for finding in index.findings] == ["index_not_kept"]


def spoil(store: Path, change: str) -> None:
    """Make the second file torn, newer, foreign, or wrong inside."""
    path = store / list_files(store)[1].path
    text = path.read_text()
    document = json.loads(text)
    match change:
        case "torn":
            path.write_text(text[: len(text) // 2])
        case "empty":
            path.write_text("")
        case "binary":
            path.write_bytes(b"\xff\xfe{}")
        case "newer":
            path.write_text(json.dumps(document | {"schema_version": 99}))
        case "foreign":
            path.write_text('{"schema": "something.else"}')
        case "list":
            path.write_text("[1, 2]")
        case "zero":
            document["ceilings"]["bandwidth"][0]["value"] = 0
            path.write_text(json.dumps(document))
        case "nan":
            path.write_text(text.replace(str(document["ceilings"]["bandwidth"][0]["value"]), "NaN", 1))
        case "undated":
            path.write_text(json.dumps(document | {"created": "yesterday"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("torn", "not valid JSON"),
        ("empty", "not valid JSON"),
        ("binary", "not UTF-8"),
        ("newer", "written in schema version 99"),
        ("foreign", "not a ceilings file"),
        ("list", "not a ceilings file"),
        ("zero", "no machine has such a ceiling"),
        ("nan", "NaN is not JSON"),
        ("undated", "not a run of a device"),
    ],
)
def test_one_bad_file_is_reported_by_name_and_left_out(tmp_path: Path, change: str, words: str) -> None:
    fill(tmp_path, 3)
    spoil(tmp_path, change)
    for index in (open_index(tmp_path), open_index(tmp_path)):
        assert index.query("SELECT count(*), count(DISTINCT path) FROM ceilings WHERE ceiling = 'L2 read'") == [(2, 2)]
        (finding,) = index.findings
        assert finding.code == "unreadable_run"
        assert "20250102T020000Z.json" in finding.message
        assert words in finding.message


def test_a_run_from_the_future_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    add_run(tmp_path, replace(a_run(0, usual(), uuid="GPU-2"), created="2999-01-01T02:00:00Z"))
    found = checked(tmp_path)
    assert found.night == night_of(2)
    assert [finding.code for finding in found.findings] == ["run_from_the_future"]


def test_a_query_of_a_person_cannot_touch_files(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    with pytest.raises(ErtError, match="--sql"):
        run_sql(open_index(tmp_path), f"COPY runs TO '{tmp_path}/out.csv'")
    with pytest.raises(ErtError, match="Tables: runs"):
        run_sql(open_index(tmp_path), "SELECT nothing FROM nowhere")
    assert run_sql(open_index(tmp_path), "SELECT count(*) AS n FROM runs") == (["n"], [(1,)])


def test_the_index_is_plain_parquet(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    open_index(tmp_path)
    (path,) = (tmp_path / ".index").glob("*.parquet")
    assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(2,)]


def test_healthy_nights_are_fine(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    found = checked(tmp_path, since=0)
    assert (found.verdict, said(found), answers(found)) == ("fine", [], {"GPU-1111": "fine"})
    assert {reading.ceiling for reading in found.readings} == set(NAMES)
    for reading in found.readings:
        assert reading.value == pytest.approx(reading.baseline, rel=0.02)


def test_a_young_device_is_learning(tmp_path: Path) -> None:
    fill(tmp_path, 4)
    found = checked(tmp_path)
    assert answers(found) == {"GPU-1111": "not comparable"}
    assert found.answers[0].note == "learning: night 4; judged after 10"
    assert not found.is_alarming


def test_a_loss_is_raised_with_its_size_start_and_expectation(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    for night in range(20, 24):
        add_run(tmp_path, a_run(night, usual() | {"DRAM read": 2e12 * 0.95}))
    found = checked(tmp_path)
    (event,) = found.events
    assert (event.ceiling, event.kind, event.since) == ("DRAM read", "regression", night_of(20))
    assert event.change == pytest.approx(-0.05, abs=0.005)
    assert "expected 2 TB/s" in event.note or "expected 1.99" in event.note or "expected 2.00" in event.note
    assert found.is_alarming
    assert found.answers[0].note == f"DRAM read: regression {100 * event.change:+.1f} % since {night_of(20)}"


def test_three_runs_of_a_night_are_one_night_of_their_median(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    first = a_run(20, usual() | {"DRAM read": 1.6e12})
    add_run(tmp_path, first)
    assert said(checked(tmp_path)) == [(night_of(20), "DRAM read", "suspect")]
    mark = {"created": first.created, "sha256": "a" * 64, "ceilings": ["DRAM read"]}
    for minute in (5, 10):
        again = a_run(20, usual(0.3) | {"DRAM read": 2.001e12}, config={"sha256": "c" * 64, "repeat_of": mark}, time=f"02:{minute:02}:00")
        add_run(tmp_path, again)
    found = checked(tmp_path)
    assert said(found) == []
    # The other ceilings of a repeat do not count.
    assert next(r.value for r in found.readings if r.ceiling == "L2 read") == pytest.approx(5e12)


def test_two_nights_in_one_minute_are_one_night(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    for _ in range(2):
        add_run(tmp_path, a_run(20, usual() | {"DRAM read": 1.6e12}))
    found = checked(tmp_path)
    assert said(found) == [(night_of(20), "DRAM read", "suspect")]


def test_a_silent_device_is_no_data_and_forgotten_in_the_end(tmp_path: Path) -> None:
    fill(tmp_path, 60, uuid="GPU-A")
    fill(tmp_path, 20, uuid="GPU-B", device={"id": "cuda:1"})
    found = checked(tmp_path, night=25)
    (event,) = found.events
    assert (event.device, event.kind, event.change, event.since) == ("GPU-B", "no_data", None, night_of(20))
    assert night_of(19) in event.note
    assert answers(found) == {"GPU-A": "fine", "GPU-B": "not comparable"}
    assert answers(checked(tmp_path)) == {"GPU-A": "fine"}


def test_a_ceiling_that_is_missing_is_no_data_not_zero(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    add_run(tmp_path, a_run(20, usual() | {"L2 read": None}))
    add_run(tmp_path, a_run(21, usual() | {"L2 read": None}))
    found = checked(tmp_path)
    (event,) = found.events
    assert (event.ceiling, event.kind, event.since, event.change) == ("L2 read", "no_data", night_of(20), None)
    assert "20250122T020000Z.json" in event.note
    assert "L2 read" not in {reading.ceiling for reading in found.readings}


def test_throttling_is_named_and_no_alarm(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    add_run(tmp_path, a_run(20, usual() | {"fp16 tensor mma": 2.4e14}, throttled=("fp16 tensor mma",)))
    found = checked(tmp_path)
    assert said(found) == [(night_of(20), "fp16 tensor mma", "throttled")]
    assert (found.verdict, found.is_alarming) == ("not comparable", False)


def test_the_reason_of_a_throttled_night_is_the_devices_own(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    run = a_run(20, usual(0.8), throttled=("DRAM read",))
    samples = {"samples_s": (1.0, 1.0), "throttled": (("SwPowerCap",), ("SwPowerCap", "HwSlowdown"))}
    point = replace(mixed_point("DRAM", 2e12, "fp64", 9e12, 1), **samples)
    named = tuple(replace(c, point_ids=(point.id,)) for c in run.bandwidth_ceilings)
    add_run(tmp_path, replace(run, bandwidth_ceilings=named, points=(point,)))
    notes = {event.ceiling: event.note for event in checked(tmp_path).events if event.kind == "throttled"}
    assert notes.keys() == {"DRAM read"}
    assert notes["DRAM read"].startswith("slowed by HwSlowdown, SwPowerCap; expected ")


def test_a_new_driver_is_an_event_and_what_changed_with_it_is_its(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    for night in range(20, 26):
        add_run(tmp_path, a_run(night, usual() | {"L2 read": 5.25e12}, environment={"driver": "560.2"}))
    found = checked(tmp_path, night=20)
    device, ceiling = found.events
    assert (device.kind, device.ceiling, device.note) == ("environment_change", None, "driver: 550.1 -> 560.2")
    assert (ceiling.kind, ceiling.ceiling) == ("environment_change", "L2 read")
    assert ceiling.change == pytest.approx(0.05, abs=0.005)
    assert "came with driver: 550.1 -> 560.2" in ceiling.note
    assert found.verdict == "not comparable"
    assert checked(tmp_path, night=25).verdict == "fine"


def test_a_loss_that_came_with_a_driver_needs_a_look_and_names_it(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    add_run(tmp_path, a_run(20, usual() | {"L2 read": 4.7e12}, environment={"driver": "560.2"}))
    found = checked(tmp_path)
    assert found.verdict == "look here"
    assert "environment_change" in found.answers[0].note


def test_a_swapped_card_is_an_event_and_has_a_history_of_its_own(tmp_path: Path) -> None:
    fill(tmp_path, 20, uuid="GPU-OLD")
    add_run(tmp_path, a_run(20, usual(0.8), uuid="GPU-NEW"))
    found = checked(tmp_path)
    (event,) = found.events
    assert (event.device, event.kind) == ("GPU-NEW", "environment_change")
    assert "cuda:0 was GPU-OLD before" in event.note
    assert answers(found) == {"GPU-NEW": "not comparable"}


def test_ranks_that_all_call_their_gpu_number_0_are_no_swap(tmp_path: Path) -> None:
    fill(tmp_path, 12, uuid="GPU-A")
    fill(tmp_path, 12, uuid="GPU-B")
    assert said(checked(tmp_path, since=0)) == []


def test_another_sweep_is_not_compared_with_the_old_one(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    add_run(tmp_path, a_run(20, usual(0.7), config={"name": "quick", "sha256": "b" * 64}))
    found = checked(tmp_path)
    (event,) = found.events
    assert (event.kind, event.ceiling) == ("environment_change", None)
    assert "another sweep configuration" in event.note
    assert found.verdict == "not comparable"


def test_a_clock_that_fell_as_well_is_said(tmp_path: Path) -> None:
    def at_clock(night: int, hz: float, factor: float) -> None:
        run = a_run(night, usual(factor))
        add_run(tmp_path, replace(run, compute_ceilings=tuple(replace(c, clock_hz=hz) for c in run.compute_ceilings)))

    generator = np.random.default_rng(0)
    for night in range(20):
        at_clock(night, 1.98e9, float(np.exp(0.004 * generator.standard_normal())))
    at_clock(20, 1.58e9, 0.8)
    notes = {event.ceiling: event.note for event in checked(tmp_path).events}
    assert "clock moved by -20.2% as well" in notes["fp64 vector fma"]


def test_a_night_outside_the_store_and_an_empty_store_are_errors(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="holds no run yet"):
        open_history(tmp_path, RULES)
    fill(tmp_path, 3)
    with pytest.raises(AnalysisError, match=rf"from {night_of(0)} to {night_of(2)}"):
        checked(tmp_path, night=90)


def test_one_device_is_judged_alone_as_among_all(tmp_path: Path) -> None:
    fill(tmp_path, 20, uuid="GPU-A")
    fill(tmp_path, 20, uuid="GPU-B", device={"id": "cuda:1"}, seed=2)
    add_run(tmp_path, a_run(20, usual(0.9), uuid="GPU-B", device={"id": "cuda:1"}))
    alone = check(open_history(tmp_path, RULES, "node1", "GPU-B"))
    assert list(answers(alone)) == ["GPU-B"]
    assert alone.events == tuple(event for event in checked(tmp_path).events if event.device == "GPU-B")


def test_a_file_of_a_real_sweep_of_a_cpu_can_be_stored_and_judged(tmp_path: Path) -> None:
    run = load(Path(__file__).parent / "data" / "ceilings" / "cpu.json")
    add_run(tmp_path, replace(run, created="2025-01-01T02:00:00Z"))
    found = checked(tmp_path)
    assert {r.ceiling for r in found.readings} == {
        *(f"{c.level} {c.op}" for c in run.bandwidth_ceilings),
        *(f"{c.precision} {c.path} {c.op}" for c in run.compute_ceilings),
    }


def lose_5_percent(store: Path) -> None:
    fill(store, 20)
    for night in range(20, 34):
        factor = float(np.exp(0.004 * np.random.default_rng(night).standard_normal()))
        add_run(store, a_run(night, {name: value * factor * 0.95 for name, value in usual().items() if value}))


def test_a_baseline_that_is_set_accepts_a_loss_and_is_still_a_baseline(tmp_path: Path) -> None:
    lose_5_percent(tmp_path)
    history = open_history(tmp_path, RULES)
    assert check(history).is_alarming
    nights = choose_nights(history.grid, ("node1", "GPU-1111"), (datetime.date.fromisoformat(night_of(21)), None), RULES.baseline)
    assert nights == tuple(night_of(night) for night in range(21, 34))
    set_baseline(tmp_path, Baseline("2025-02-03T09:00:00Z", "node1", "GPU-1111", nights, "new power limit"))
    assert said(checked(tmp_path)) == []
    assert checked(tmp_path, night=30).is_alarming
    for night in range(34, 37):
        add_run(tmp_path, a_run(night, usual(0.9)))
    found = checked(tmp_path)
    assert {event.kind for event in found.events} == {"regression"}
    assert found.events[0].change == pytest.approx(0.9 / 0.95 - 1, abs=0.005)


def test_a_baseline_needs_nights(tmp_path: Path) -> None:
    fill(tmp_path, 5)
    grid = open_history(tmp_path, RULES).grid
    with pytest.raises(AnalysisError, match="5 nights with a run there; a baseline needs 10"):
        choose_nights(grid, ("node1", "GPU-1111"), (None, None), RULES.baseline)


def test_a_baseline_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    fill(tmp_path, 12)
    set_baseline(tmp_path, Baseline("2025-02-03T09:00:00Z", "node1", "GPU-1111", (night_of(1), night_of(2))))
    folder = tmp_path / "node1" / "GPU-1111" / "baselines"
    (folder / "20250204T000000Z.json").write_text("{")
    (folder / "20250205T000000Z.json").write_text('{"schema": "ert.baseline", "schema_version": 9}')
    codes = [finding.code for finding in checked(tmp_path).findings]
    assert codes == ["unreadable_baseline", "unreadable_baseline", "baseline_without_nights"]


def test_the_document_fits_its_schema_whatever_happened(tmp_path: Path) -> None:
    lose_5_percent(tmp_path)
    add_run(tmp_path, a_run(34, usual() | {"L2 read": None}, throttled=("DRAM read",), environment={"driver": "1"}))
    (tmp_path / "node1" / "GPU-1111" / "20250110T030000Z.json").write_text("{")
    document = checked(tmp_path, since=0).to_dict()
    check_schema(document, "history")
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["schema"] == "ert.history"


def test_help_needs_no_duckdb() -> None:
    program = "import sys; from ert.cli import cli, execute; execute(cli, ['history', 'check', '--help']); print('duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_files_of_an_older_schema_version_are_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 2)
    monkeypatch.setattr("ert.ceilings.file.SCHEMA_VERSION", 2)
    monkeypatch.setattr(
        "ert.ceilings.file.MIGRATIONS", {1: lambda document: {**document, "device": {**document["device"], "name": "renamed"}}}
    )
    monkeypatch.setattr("ert.history_rows.SCHEMA_VERSION", 2)
    index = open_index(tmp_path)
    assert index.findings == ()
    assert index.query("SELECT DISTINCT name FROM runs") == [("renamed",)]
