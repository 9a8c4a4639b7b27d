"""The README says what the program does: its commands print what stands there, its files load, its kernel verifies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from programs import ert
from readme_blocks import README, ROOT, Block, blocks, renewed, run

from ert.cli import COMMANDS
from ert.config import load_config

TEXT = README.read_text(encoding="utf-8")
BLOCKS = blocks(TEXT)
CONSOLE = [block for block in BLOCKS if block.command]
SOURCES = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "ert").rglob("*.py")))


def named(about: str) -> Block:
    (block,) = (block for block in BLOCKS if block.about == about)
    return block


@pytest.mark.parametrize("block", [b for b in CONSOLE if b.about != "example"], ids=lambda b: b.command)
def test_a_command_prints_what_the_readme_shows(block: Block):
    assert run(block.command or "") == block.printed, "run `make readme` if this is as it should be"


@pytest.mark.parametrize("block", [b for b in CONSOLE if b.about == "example"], ids=lambda b: b.command)
def test_an_example_uses_a_command_and_options_that_exist(block: Block):
    words = (block.command or "").split()
    assert words[0] == "ert"
    assert words[1] in COMMANDS
    options = ert(words[1], "--help").stdout
    assert [word for word in words if word.startswith("--") and word not in options] == []


def test_the_doctor_still_looks_at_what_the_readme_shows():
    (block,) = (b for b in CONSOLE if b.command == "ert doctor")
    shown = {line[10:25].strip() for line in block.printed.splitlines() if line[:10].split() in (["ok"], ["note"], ["problem"])} - {"cuda"}
    facts = json.loads(ert("doctor", "--json", "-").stdout)["facts"]
    optional = {"clock", "quiet cores", "core to core"}  # only where nothing is being swept
    assert len(shown) > 20
    assert shown - optional <= {fact["name"] for fact in facts}


def test_every_option_in_the_text_exists():
    everything = "".join(ert(name, "--help").stdout for name in ("sweep", "show", "plot", "kernels", "doctor", "devices"))
    options = set(re.findall(r"`(?:ert [a-z]+ )?(--[a-z-]+)", TEXT))
    assert {"--resume", "--config", "--arch"} <= options
    assert [option for option in sorted(options) if option not in everything] == []


def test_the_default_sweep_stands_there_as_it_is_shipped():
    assert named("configs/sweeps/default.toml").text == (ROOT / "configs/sweeps/default.toml").read_text(encoding="utf-8")


def test_the_sweep_of_ones_own_can_be_loaded(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(named("mine.toml").text)
    config = load_config(str(tmp_path / "mine.toml"))
    assert (config.budget_s, config.levels, config.precisions) == (60.0, ("L1", "L2"), ("fp32",))


def test_the_kernel_of_ones_own_does_what_it_declares(tmp_path: Path):
    (tmp_path / "update4.c").write_text(named("mine/update4.c").text)
    done = ert("kernels", "--verify", "--kind", "cpu", ERT_KERNELS_CPU=str(tmp_path))
    assert done.returncode == 0
    assert "1 variants verified" in done.stdout


def test_the_python_example_runs_and_follows_the_slope():
    (block,) = (b for b in BLOCKS if b.kind == "python")
    code = block.text + "\nassert c.attainable(0.25, level='DRAM', precision='fp32') == 0.25 * c.bandwidth('DRAM')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_every_make_target_named_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)", "".join(re.findall(r"`[^`\n]+`|^make .*$", TEXT, re.MULTILINE))))
    assert {"sweep", "test", "lint", "bench"} <= targets
    assert [target for target in sorted(targets) if f"\n{target}:" not in makefile] == []


def test_every_file_and_folder_named_exists():
    paths = set(re.findall(r"`((?:ert|kernels_cpu|kernels_cu|configs|tests|bench|\.ci)/[\w./-]*)`", TEXT))
    assert len(paths) > 5
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_symptom_is_one_the_program_shows():
    table = TEXT[TEXT.index("| you see |") : TEXT.index("## The contract")]
    cells = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    codes = {word for cell in cells for word in re.findall(r"`\[?([a-z]+(?:_[a-z]+)*)\]?`", cell)}
    assert {"disturbed", "dram_not_reached"} <= codes
    assert [code for code in sorted(codes) if f'"{code}"' not in SOURCES] == []
    texts = [text for cell in cells for text in re.findall(r"`([^`]* [^`]*)`", cell)]
    parts = [part.strip() for text in texts for part in re.split(r"\.\.\.|make:", text) if part.strip()]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = " ".join(re.sub(r'"\s*\n\s*f?"', "", SOURCES + makefile).split())
    assert len(parts) > 8
    assert [part for part in parts if part not in known] == []


def test_writing_the_readme_anew_changes_only_outputs():
    text = "# x\n\n```console\n$ echo  hello \nold\n```\n\n```console example\n$ ert devices\nkept\n```\n\n```python\nkept\n```\n"
    assert renewed(text) == text.replace("old", "hello")
