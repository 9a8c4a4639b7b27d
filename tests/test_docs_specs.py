"""docs/specs.md says what the program does: its commands print what stands there, its fields and tolerances are the shipped ones."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from make_ceilings import make_ceilings
from programs import ert

from ert.ceilings import save
from ert.specs import shipped_sheets
from ert.tolerances import shipped_tolerances

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "specs.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```console example\n\$ (.*)\n((?:.*\n)*?)```$", TEXT, re.MULTILINE)
T = 1e12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the sheet that the page shows, and with the ceilings of an H200 as measured in public."""
    shown = re.search(r"```toml mine\.toml\n(.*?)```", TEXT, re.DOTALL)
    assert shown
    (tmp_path / "mine.toml").write_text(shown[1], encoding="utf-8")
    ceilings = make_ceilings({"DRAM": 4.38 * T}, {("fp32", "vector"): 66.4 * T, ("fp16", "tensor"): 804 * T}, name="NVIDIA H200")
    facts = {"compute_capability": "9.0", "sm_count": 132, "memory_clock_hz": 3201e6, "memory_bus_bits": 6144, "l2_bytes": 60 * 2**20}
    clocks = {"vector": 1.98e9, "tensor": 1.62e9}
    compute = tuple(replace(ceiling, clock_hz=clocks[ceiling.path]) for ceiling in ceilings.compute_ceilings)
    save(replace(ceilings, device={**ceilings.device, **facts}, compute_ceilings=compute), tmp_path / "h200.json")
    return tmp_path


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_page_shows(command: str, shown: str, folder: Path) -> None:
    program, *arguments = command.split()
    assert program == "ert"
    done = ert(*arguments, cwd=folder, COLUMNS="110")
    assert (done.returncode, done.stderr) == (0, "")
    assert "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines()) == shown


def test_the_table_of_tolerances_is_the_shipped_one() -> None:
    names = {"DRAM": "dram", "caches": "cache", "vector, floating point": "vector", "vector, integer": "integer"}
    rows = re.findall(r"^\| ([^|]+) \|((?: [\d.]+-[\d.]+ \|| \|){4})$", TEXT, re.MULTILINE)
    shown = {}
    for name, cells in rows:
        for (against, kind), cell in zip(
            [("sheet", "cuda"), ("sheet", "cpu"), ("peak", "cuda"), ("peak", "cpu")], cells.split("|")[:4], strict=True
        ):
            if cell.strip():
                shown[against, kind, names.get(name, name)] = tuple(map(float, cell.strip().split("-")))
    assert shown == {key: (t.least, t.most) for key, t in shipped_tolerances().by_key.items()}


def keys(value: object) -> set[str]:
    """Every key of a parsed TOML file; the names of the sources are the writer's own."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    return (set(value) - {"match", "sources"}).union(*map(keys, value.values()))


@pytest.mark.parametrize("file", [sheet.file for sheet in shipped_sheets().values()])
def test_every_field_of_a_shipped_sheet_is_explained(file: str) -> None:
    sheet = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
    used = keys(sheet) - set(sheet["sources"])
    assert {word for word in used if f"`{word}`" not in TEXT and f"`{word} = " not in TEXT} == set()
