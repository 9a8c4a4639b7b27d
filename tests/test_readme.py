"""README and docs say what the program does: commands print what stands there, files load, options and links exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from documents import PAGES, ROOT, words
from programs import ert
from readme_blocks import Block, blocks, renewed, run

from ert.cli import COMMANDS
from ert.config import load_config
from ert.schema import schema_names

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
BLOCKS = [(name, block) for name, text in TEXTS.items() for block in blocks(text)]
CONSOLE = [(name, block) for name, block in BLOCKS if block.command]
SOURCES = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "ert").rglob("*.py")))


def label(value: object) -> str | None:
    return value.command if isinstance(value, Block) else str(value)


def named(about: str) -> Block:
    """A block of the page on files of one's own."""
    (block,) = (block for name, block in BLOCKS if (name, block.about) == ("extending.md", about))
    return block


@cache
def help_of(command: str) -> str:
    several = [command, *(f"{command} {sub}" for sub in ("list", "show", "check", "baseline", "fleet") if command == "history")]
    return "".join(ert(*each.split(), "--help").stdout for each in several)


@pytest.mark.parametrize(("page", "block"), [each for each in CONSOLE if not each[1].is_example], ids=label)
def test_a_command_prints_what_the_page_shows(page: str, block: Block):
    assert run(block.command or "", block.status) == block.printed, f"{page}: run `make readme` if this is as it should be"


@pytest.mark.parametrize(("page", "block"), [each for each in CONSOLE if each[1].is_example], ids=label)
def test_an_example_uses_a_command_and_options_that_exist(page: str, block: Block):
    parts = words(block.command or "")
    assert parts is not None, page
    assert parts[0] in COMMANDS
    assert [word for word in parts if word.startswith("--") and word not in help_of(parts[0])] == []


@pytest.mark.parametrize(("page", "block"), [each for each in CONSOLE if each[1].is_example], ids=label)
def test_the_columns_of_a_kept_table_are_those_the_program_prints(page: str, block: Block):
    lines = block.printed.splitlines()
    headers = [lines[at - 1] for at, line in enumerate(lines) if line.strip().startswith("───")]
    columns = {column for header in headers for column in re.split(r"\s{2,}", header.strip())}
    assert [column for column in sorted(columns) if column not in SOURCES] == [], page


def test_every_command_has_its_section_and_no_section_a_command_that_is_gone():
    assert re.findall(r"^#### `ert ([a-z]+)`", TEXT, re.MULTILINE) == sorted(COMMANDS, key=lambda name: TEXT.index(f"#### `ert {name}`"))


def test_the_doctor_still_looks_at_what_the_readme_shows():
    (block,) = (b for _, b in CONSOLE if b.command == "ert doctor")
    shown = {line[10:25].strip() for line in block.printed.splitlines() if line[:10].split() in (["ok"], ["note"], ["problem"])} - {"cuda"}
    facts = json.loads(ert("doctor", "--json", "-").stdout)["facts"]
    optional = {"clock", "quiet cores", "core to core"}  # only where nothing is being swept
    assert len(shown) > 8
    assert shown - optional <= {fact["name"] for fact in facts}


@pytest.mark.parametrize("page", TEXTS)
def test_every_option_in_the_text_exists(page: str):
    everything = "".join(help_of(name) for name in COMMANDS)
    options = set(re.findall(r"`(?:ert [a-z]+ )?(--[a-z-]+)", TEXTS[page])) - FOREIGN_OPTIONS
    assert [option for option in sorted(options) if option not in everything] == []


# Those of container engines and profilers.
FOREIGN_OPTIONS = {"--gpus", "--page"}


@pytest.mark.parametrize("page", TEXTS)
def test_every_link_leads_somewhere(page: str):
    for target in re.findall(r"\]\(([^)]+)\)", TEXTS[page]):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        file = (ROOT / "docs" / path if page != "README.md" else ROOT / path) if path else ROOT / page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_of_the_docs_is_linked_from_the_readme():
    assert [name for name in TEXTS if name != "README.md" and f"(docs/{name}" not in TEXT] == []


def test_shipped_files_stand_there_as_they_are_shipped():
    shown = [(page, block) for page, block in BLOCKS if block.about and (ROOT / block.about).is_file()]
    assert {"configs/sweeps/default.toml", "examples/app.csv"} <= {block.about for _, block in shown}
    for page, block in shown:
        assert block.text == (ROOT / block.about).read_text(encoding="utf-8"), f"{page}: {block.about}"


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
    (block,) = (b for name, b in BLOCKS if b.kind == "python" and name == "README.md")
    code = f"""{block.text}
assert c.attainable(0.25, level='DRAM', precision='fp32') == 0.25 * c.bandwidth('DRAM')
assert len(frame) and ax.lines
"""
    subprocess.run([sys.executable, "-c", f"import matplotlib; matplotlib.use('agg')\n{code}"], check=True, cwd=ROOT)


def test_every_make_target_named_exists():
    makefile = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "gpu.mk"))
    shell = "".join(block.text for _, block in BLOCKS if block.kind == "sh")
    targets = set(re.findall(r"`make ([a-z-]+)", "".join(TEXTS.values())) + re.findall(r"^make ([a-z-]+)", shell, re.MULTILINE))
    assert {"sweep", "test", "lint", "bench", "setup-cuda", "gpu-check"} <= targets
    assert [target for target in sorted(targets) if f"\n{target}:" not in makefile] == []


@pytest.mark.parametrize("page", TEXTS)
def test_every_file_and_folder_named_exists(page: str):
    paths = set(re.findall(r"`((?:ert|kernels_cpu|kernels_cu|configs|tests|bench|examples|\.ci)/[\w./-]*)`", TEXTS[page]))
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_name_in_the_table_of_additions_is_in_the_file_that_is_named():
    table = TEXT[TEXT.index("| to add | touch |") : TEXT.index("Kernels, sweeps and formats of your own")]
    places = re.findall(r"`([A-Z_]+)` of `([\w/]+\.py)`", table)
    assert {name for name, _ in places} == {"REFERENCES", "OPS", "BACKENDS", "FORMATS", "EXPORTERS", "MODELS", "COMMANDS"}
    for name, path in places:
        assert re.search(rf"^{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), (name, path)


def test_every_schema_and_variable_of_the_contract_exists():
    contract = TEXT[TEXT.index("## The contract") :]
    listed = set(re.findall(r"`ert\.([a-z]+)`", contract[: contract.index("| exit code |")]))
    assert listed == set(schema_names())
    variables = re.findall(r"`([A-Z_]{2,})`", contract[contract.index("| environment variable |") : contract.index("What was decided")])
    assert len(variables) > 6
    assert [name for name in variables if f'"{name}"' not in SOURCES] == []


def test_every_symptom_is_one_the_program_shows():
    table = TEXT[TEXT.index("| you see |") : TEXT.index("## The contract")]
    cells = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    codes = {word for cell in cells for word in re.findall(r"`\[?([a-z]+(?:_[a-z]+)*)\]?`", cell)}
    assert {"disturbed", "dram_not_reached", "no_corner"} <= codes
    patterns = [re.sub(r"\{\w+\}", "[a-z]+", made) for made in re.findall(r'Finding\(f"([a-z_{}]+)"', SOURCES)]
    assert [code for code in sorted(codes) if f'"{code}"' not in SOURCES and not any(re.fullmatch(p, code) for p in patterns)] == []
    texts = [text for cell in cells for text in re.findall(r"`([^`]+)`", cell) if " " in text]
    parts = [part.strip() for text in texts for part in re.split(r"\.\.\.|make:", text) if part.strip()]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = " ".join(re.sub(r'"\s*\n\s*f?"', "", SOURCES + makefile).split())
    assert len(parts) > 8
    assert [part for part in parts if part not in known] == []


def test_writing_a_page_anew_changes_only_outputs():
    text = "# x\n\n```console\n$ echo  hello \nold\n```\n\n```console example\n$ ert devices\nkept\n```\n\n```python\nkept\n```\n"
    assert renewed(text) == text.replace("old", "hello")


def test_a_block_says_how_its_command_ends():
    assert renewed("```console exit=3\n$ echo no; exit 3\nold\n```\n") == "```console exit=3\n$ echo no; exit 3\nno\n```\n"
    with pytest.raises(subprocess.CalledProcessError):
        renewed("```console\n$ exit 3\n```\n")
