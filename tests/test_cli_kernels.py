"""``ert kernels`` as a program: the catalogue, one kernel, verification, and kernels that lie."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path

import pytest
from programs import check_schema, ert

SHIPPED = Path(str(resources.files("ert.kernels_cpu")))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of kernels that can be changed."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("fma.c", "copy.c"):
        shutil.copy(SHIPPED / name, folder)
    return folder


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_the_catalogue_names_every_kernel_file_and_what_a_trip_declares():
    done = ert("kernels")
    assert (done.returncode, done.stderr) == (0, "")
    first_words = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert {file.stem for file in SHIPPED.glob("*.c") if file.stem != "runtime"} <= first_words
    assert "8 * lanes * ERT_FLOPS" in done.stdout  # the mixed kernel's FLOPs per trip


def test_the_json_fits_its_schema_and_holds_every_parameter():
    document = json.loads(ert("kernels", "--json", "-").stdout)
    check_schema(document, "kernels")
    (fma,) = (k for k in document["kernels"] if (k["name"], k["device_kind"]) == ("fma", "cpu"))
    assert fma["parameters"][0]["name"] == "ERT_CHAINS"
    assert fma["trip"]["flops"] == "2 * 8 * ERT_CHAINS * lanes"


def test_one_kernel_shows_its_parameters_its_source_and_where_its_facts_live():
    done = ert("kernels", "fma", "--kind", "cpu")
    assert done.returncode == 0
    assert "independent chains; latency times pipes must fit (default 12; a sweep tries 4, 8, 10, 12)" in done.stdout
    source = next(line.split(maxsplit=1)[1].strip() for line in done.stdout.splitlines() if line.startswith("source"))
    assert Path(source).read_text().startswith("/*ert")
    assert "they live nowhere else" in done.stdout


def test_a_name_of_both_kinds_shows_both():
    text = ert("kernels", "read").stdout
    assert text.startswith("read (cpu): ")
    assert "\nread (cuda): " in text


def test_an_unknown_kernel_is_answered_with_the_nearest():
    done = ert("kernels", "raed")
    assert (done.returncode, done.stdout) == (2, "")
    assert "kernel 'raed' is unknown. Did you mean 'read'?" in done.stderr


def test_verify_prints_one_line_a_variant_and_exits_0():
    done = ert("kernels", "fma", "--verify")
    assert done.returncode == 0
    assert [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("fma ")].count("ok") >= 8
    assert " 0 failed" in done.stdout
    assert "--arch sm_90a verifies the CUDA kernels" in done.stderr


def test_verification_in_json_fits_the_schema_too(tmp_path: Path):
    done = ert("kernels", "copy", "--kind", "cpu", "--verify", "--json", "copy.json", cwd=tmp_path)
    assert done.returncode == 0
    document = json.loads((tmp_path / "copy.json").read_text())
    check_schema(document, "kernels")
    assert [v["status"] for v in document["verification"]["variants"]] == ["ok", "ok"]
    assert all(v["declared"] == v["counted"] for v in document["verification"]["variants"])


def test_a_kernel_with_a_wrong_flop_count_is_named_and_exits_1(own: Path):
    change(own / "fma.c", "2 * 8 * ERT_CHAINS", "4 * 8 * ERT_CHAINS")
    done = ert("kernels", "--verify", "--kind", "cpu", ERT_KERNELS_CPU=str(own))
    assert done.returncode == 1
    assert "fma/fp64 ERT_CHAINS=4: the compiled loop does not do what the facts header declares" in done.stdout
    assert "kernel variants failed: fma/fp64" in done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("copy ")] == ["ok", "ok"]


def test_a_kernel_whose_loop_was_optimised_away_is_named_and_exits_1(own: Path):
    source = (own / "copy.c").read_text()
    start, end = source.index("    ERT_KEEP_ROLLED"), source.index("    ert_finish_stores();")
    (own / "copy.c").write_text(source[:start] + "    ERT_TRIP;\n" + source[end:])
    done = ert("kernels", "copy", "--verify", "--kind", "cpu", ERT_KERNELS_CPU=str(own))
    assert done.returncode == 1
    assert "optimised away" in done.stdout
    assert "copy/fp64" in done.stderr


def test_a_kernel_without_facts_is_one_line(own: Path):
    (own / "mine.c").write_text("int main(void) { return 0; }\n")
    done = ert("kernels", ERT_KERNELS_CPU=str(own))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: mine.c: no facts header.")


def test_without_a_compiler_verify_says_what_to_install():
    done = ert("kernels", "fma", "--verify", "--kind", "cpu", CC="/nowhere/cc")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Install gcc or clang" in done.stderr


def test_a_cuda_kernel_is_verified_for_an_architecture():
    done = ert("kernels", "mul", "--verify", "--arch", "sm_80")
    assert done.returncode == 0
    assert "512 mul" in done.stdout


def test_a_cuda_kernel_without_an_architecture_asks_for_one():
    done = ert("kernels", "mul", "--verify")
    assert done.returncode == 2
    assert "add --arch" in done.stderr


def test_an_architecture_goes_with_cuda_kernels_only():
    done = ert("kernels", "read", "--arch", "sm_80", "--kind", "cpu")
    assert done.returncode == 2
    assert "--arch is for CUDA kernels" in done.stderr


def test_help_ends_with_an_example():
    assert ert("kernels", "--help").stdout.splitlines()[-1].strip().startswith("ert kernels")
