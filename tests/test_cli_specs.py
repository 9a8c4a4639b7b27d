"""``ert specs`` as a person meets it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from make_ceilings import make_ceilings
from programs import ert

from ert.ceilings import save
from ert.specs import shipped_sheets

DATA = Path(__file__).parent / "data" / "specs"


def specs(*arguments: str, columns: int = 200) -> subprocess.CompletedProcess[str]:
    return ert("specs", *arguments, COLUMNS=str(columns))


def test_the_list_holds_every_sheet_with_a_source() -> None:
    done = specs()
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in shipped_sheets())
    assert "NVIDIA A30 Tensor Core GPU data sheet" in done.stdout


def test_one_sheet_shows_conditions_and_addresses() -> None:
    done = specs("gb200")
    assert done.returncode == 0
    assert "board of 2, sparse, boost" in done.stdout
    assert "2.5 PFLOP/s" in done.stdout
    assert "https://www.nvidia.com/en-us/data-center/gb200-nvl72/" in done.stdout


def test_a_number_that_no_public_text_shows_says_so() -> None:
    assert "unconfirmed: public texts name both 576 and 614 GB/s" in specs("EPYC 9005").stdout
    assert "1, 1 unconfirmed" in specs().stdout
    assert "checked 2026-11-30 against\n      https://" in specs("B200").stdout


def test_a_sheet_of_ones_own_is_shown_the_same_way() -> None:
    done = specs(str(DATA / "own.toml"))
    assert done.returncode == 0
    assert "My accelerator" in done.stdout
    assert "312 TFLOP/s" in done.stdout


def test_json_holds_the_numbers_as_printed_and_per_device() -> None:
    document = json.loads(specs("GB200", "--json", "-").stdout)
    assert document["schema"] == "ert.specs"
    dram = next(n for n in document["sheets"][0]["numbers"] if n["what"] == "DRAM bandwidth")
    assert dram["amount"]["printed"] == "16 TB/s"
    assert dram["dense_value_per_device"] == 8e12
    assert dram["scope"] == "board"
    assert dram["source"]["checked"] == "2026-11-30"


def test_ridges_show_how_the_corner_moves_between_generations(tmp_path: Path) -> None:
    save(make_ceilings({"DRAM": 2e12}, {("fp32", "vector"): 20e12}), tmp_path / "c.json")
    names = ("V100-SXM2-16GB", "A100-SXM4-80GB", "H100-SXM5-80GB", str(tmp_path / "c.json"))
    rows = json.loads(specs("--ridge", *names, "--json", "-").stdout)["rows"]
    ridges = [{(r["precision"], r["path"]): r["flop_per_byte"] for r in row["ridges"]} for row in rows]
    # 125/0.9, 312/2.039, 989.5/3.35: tensor cores outgrow memory with every generation.
    assert [r["fp16", "tensor"] for r in ridges[:3]] == pytest.approx([138.9, 153.0, 295.4], abs=0.1)
    assert ridges[3]["fp32", "vector"] == pytest.approx(10)
    assert [row["origin"] for row in rows] == ["sheet", "sheet", "sheet", "measured"]


def test_the_ridge_table_has_a_line_per_product_that_has_one() -> None:
    done = specs("--ridge")
    assert done.returncode == 0
    assert "MI300X" in done.stdout
    assert "EPYC 9004" not in done.stdout
    named = specs("--ridge", "EPYC 9004", "T4")
    assert "EPYC 9004: no ridge point" in named.stderr
    assert "T4" in named.stdout


def test_products_stand_in_the_order_they_came_out_and_named_ones_as_named() -> None:
    lines = specs("--ridge").stdout.splitlines()
    years = [int(line.split("  sheet ")[0].split()[-1]) for line in lines if "  sheet " in line]
    assert years == sorted(years)
    assert years[0] == 2017
    named = specs("--ridge", "B200", "T4").stdout
    assert named.index("B200") < named.index("T4")


def test_a_narrow_terminal_gets_several_tables_and_no_broken_number() -> None:
    names = ("A100-SXM4-80GB", "H100-SXM5-80GB")
    narrow, wide = specs("--ridge", *names, columns=60).stdout, specs("--ridge", *names).stdout
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.count("A100-SXM4-80GB") > wide.count("A100-SXM4-80GB") == 1
    assert sorted(w for w in narrow.split() if "." in w and w.replace(".", "").isdigit() and w not in ("2.039", "3.35")) == sorted(
        w for w in wide.split() if "." in w and w.replace(".", "").isdigit() and w not in ("2.039", "3.35")
    )


@pytest.mark.parametrize(("name", "code"), [("H100", 2), ("no-such.toml", 1)])
def test_an_unknown_name_is_one_message(name: str, code: int) -> None:
    done = specs(name)
    assert done.returncode == code
    assert name in done.stderr
    assert "Traceback" not in done.stderr


def test_help_ends_with_an_example() -> None:
    assert specs("--help").stdout.splitlines()[-1].strip().startswith("ert specs ")
