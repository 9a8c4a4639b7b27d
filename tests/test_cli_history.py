"""``ert history`` as an operator meets it: stdout, stderr, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from history_store import DRAM_LOSS_NIGHTS, a_run, fill, night_of, usual, write_fleet
from programs import check_schema, ert

from ert.store import add_run


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """GPU-A lost DRAM bandwidth for good, GPU-B is healthy."""
    folder = tmp_path_factory.mktemp("store")
    fill(folder, 20, uuid="GPU-A")
    fill(folder, 20 + DRAM_LOSS_NIGHTS, uuid="GPU-B", device={"id": "cuda:1"}, seed=2)
    for night in range(20, 20 + DRAM_LOSS_NIGHTS):
        factor = float(np.exp(0.003 * np.random.default_rng(night).standard_normal()))
        add_run(folder, a_run(night, usual(factor) | {"DRAM read": 1.9e12 * factor}, uuid="GPU-A"))
    return str(folder)


def test_list_shows_every_device(store: str) -> None:
    done = ert("history", "list", "--store", store)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("GPU-")]
    assert rows == [
        ["GPU-A", "node1", "cuda:0", "Example", "GPU", "34", "34", night_of(0), night_of(33)],
        ["GPU-B", "node1", "cuda:1", "Example", "GPU", "34", "34", night_of(0), night_of(33)],
    ]


def test_list_answers_a_query_as_table_and_as_json(store: str) -> None:
    where = "ceiling = 'DRAM read' AND device = 'GPU-A'"
    query = f"SELECT night, round(value / 1e12, 1) AS tb FROM ceilings WHERE {where} ORDER BY night"
    assert f"{night_of(33)}  1.9" in ert("history", "list", "--store", store, "--sql", query).stdout
    rows = json.loads(ert("history", "list", "--store", store, "--sql", query, "--json", "-").stdout)
    assert (rows[0], rows[-1]) == ({"night": night_of(0), "tb": 2.0}, {"night": night_of(33), "tb": 1.9})


def test_check_exits_3_and_names_device_ceiling_size_and_start(store: str) -> None:
    done = ert("history", "check", "--store", store)
    assert (done.returncode, done.stderr) == (3, "")
    assert f"night {night_of(33)}, 2 devices: 1 look here, 1 fine" in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("GPU-A"))
    assert re.search(r"look here: DRAM read: regression -(4\.[5-9]|5\.[0-5]) %", row)
    assert f"since {night_of(20)}" in row


def test_check_of_an_earlier_night_is_fine_and_of_a_stretch_has_all_events(store: str) -> None:
    assert ert("history", "check", "--store", store, "--night", night_of(19)).returncode == 0
    done = ert("history", "check", "--store", store, "--since", night_of(0), "--json", "-")
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    check_schema(document, "history")
    assert done.returncode == 3
    assert [(e["date"], e["kind"]) for e in document["events"]] == [
        (night_of(20), "suspect"),
        (night_of(21), "suspect"),
        *((night_of(night), "regression") for night in range(22, 34)),
    ]


def test_check_writes_everything_an_operator_asks_for(store: str, tmp_path: Path) -> None:
    arguments = ("--junit", "out/j-{device}.xml", "--prometheus", "out/p.prom", "--events", "out/e.jsonl", "--json", "out/c.json")
    done = ert("history", "check", "--store", store, *arguments, cwd=tmp_path)
    assert done.returncode == 3
    assert "look here" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["c.json", "e.jsonl", "j-all.xml", "p.prom"]
    ert("history", "check", "--store", store, *arguments, cwd=tmp_path)
    assert len((tmp_path / "out" / "e.jsonl").read_text().splitlines()) == 2


def test_events_on_stdout_stand_alone(store: str) -> None:
    done = ert("history", "check", "--store", store, "--events", "-")
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["regression"]


def test_show_marks_the_nights(store: str) -> None:
    done = ert("history", "show", "--store", store, "--device", "GPU-A", "--ceiling", "DRAM read", "--last", "14")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("2025")]
    assert [row[-1] for row in rows] == ["?", "?"] + ["!"] * 12
    assert len(rows[0]) == 4


def test_baseline_shows_and_sets_what_devices_are_judged_against(tmp_path: Path) -> None:
    folder = str(tmp_path)
    fill(tmp_path, 20)
    for night in range(20, 34):
        factor = float(np.exp(0.003 * np.random.default_rng(night).standard_normal()))
        add_run(tmp_path, a_run(night, usual(0.95 * factor)))
    shown = ert("history", "baseline", "--store", folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "its first 14 nights" in shown.stdout
    assert ert("history", "check", "--store", folder).returncode == 3
    done = ert("history", "baseline", "--store", folder, "--set", "--since", night_of(22), "--note", "accepted by ops")
    assert done.returncode == 0
    assert f"{night_of(22)} to {night_of(33)}" in done.stdout
    assert "accepted by ops" in done.stdout
    assert "wrote " in done.stderr
    assert ert("history", "check", "--store", folder).returncode == 0


def test_fleet_exits_3_for_a_device_below_its_like(tmp_path: Path) -> None:
    values = 0.005 * np.random.default_rng(1).standard_normal((12, 2, 4))
    write_fleet(tmp_path, values)
    assert ert("history", "fleet", "--store", str(tmp_path)).returncode == 0
    values[5, 1, 1] = np.log(0.8)
    write_fleet(tmp_path / "b", values)
    done = ert("history", "fleet", "--store", str(tmp_path / "b"))
    assert done.returncode == 3
    assert "GPU-0005" in done.stdout
    assert re.search(r"-(19|20)\.\d %", done.stdout)
    document = json.loads(ert("history", "fleet", "--store", str(tmp_path / "b"), "--json", "-").stdout)
    check_schema(document, "fleet")


def test_a_torn_file_is_a_warning_with_its_name_and_no_more(tmp_path: Path) -> None:
    fill(tmp_path, 12)
    path = tmp_path / "node1" / "GPU-1111" / "20250103T020000Z.json"
    path.write_text(path.read_text()[:100])
    done = ert("history", "check", "--store", str(tmp_path))
    assert done.returncode == 0
    assert f"warning: {path}: line" in done.stderr
    assert "unreadable_run" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("list",), 2, "--store"),
        (("check", "--store", "{store}/gone"), 1, "no such folder"),
        (("check", "--store", "{store}", "--night", "tomorrow"), 2, "'--night': tomorrow: not a date"),
        (
            ("check", "--store", "{store}", "--since", "2025-02-01", "--night", "2025-01-01"),
            2,
            "--since 2025-02-01 is after --night 2025-01-01",
        ),
        (("baseline", "--store", "{store}", "--set", "--since", "2025-02-01", "--until", "2025-01-01"), 2, "no night lies between"),
        (("baseline", "--store", "{store}", "--note", "accepted"), 2, "add --set"),
        (("show", "--store", "{store}", "--device", "GPU-A", "--ceiling", "DRAM raed"), 1, "Did you mean 'DRAM read'?"),
        (("check", "--store", "{store}", "--night", "2030-01-01"), 1, "the store has nights from"),
        (("check", "--store", "{store}", "--json", "-", "--events", "-"), 2, "cannot both have stdout"),
        (("check", "--store", "{store}", "--rules", "gone.toml"), 1, "gone.toml: cannot be read"),
        (("show", "--store", "{store}"), 1, "2 devices match. Name one of: GPU-A, GPU-B"),
        (("show", "--store", "{store}", "--device", "GPU-Z"), 1, "The store has: GPU-A on node1"),
        (("baseline", "--store", "{store}", "--set", "--device", "GPU-A", "--since", "2025-01-30"), 1, "a baseline needs 10"),
        (("baseline", "--store", "{store}", "--set"), 1, "would accept the present state of 2 devices"),
        (("check", "--store", "{store}", "--since", "2030-01-01"), 1, "--since 2030-01-01: is after the night"),
        (("list", "--store", "{store}", "--sql", "DROP"), 1, "Tables: runs"),
        (("fleet", "--store", "{store}", "--night", "2030-01-01"), 1, "the store has nights from"),
    ],
)
def test_wrong_calls_say_what_is_wrong(store: str, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = ert("history", *(argument.format(store=store) for argument in arguments))
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["list", "show", "check", "baseline", "fleet"])
def test_help_ends_with_an_example(command: str) -> None:
    done = ert("history", command, "--help")
    example = done.stdout.partition("Example")[2]
    assert f"  ert history {command} " in example


def test_the_store_may_come_from_the_environment(store: str) -> None:
    assert ert("history", "list", ERT_STORE=store).returncode == 0
