"""``ert analyze`` as a program: a worked example, unit suffixes, ideal operations, wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from example_gpu import EXAMPLE_GPU
from make_ceilings import make_ceilings
from programs import ert

from ert.ceilings import save
from ert.cli import cli, execute
from ert.models import MODELS, SIZE_NAMES, option

WORKED = make_ceilings({"DRAM": 1e12}, {("fp32", "vector"): 100e12})


@pytest.fixture
def ceilings(tmp_path: Path) -> str:
    save(EXAMPLE_GPU, tmp_path / "gpu.json")
    return str(tmp_path / "gpu.json")


@pytest.fixture
def worked(tmp_path: Path) -> str:
    save(WORKED, tmp_path / "worked.json")
    return str(tmp_path / "worked.json")


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert execute(cli, ["analyze", *arguments, "--json", "-"]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["rows"]
    return found


@pytest.mark.parametrize("spelled", [("1e10", "1e9", "2e-3"), ("10G", "1GB", "2ms"), ("10GFLOP", "1000 MB", "2000us")])
def test_the_worked_example_in_any_spelling(worked, capsys, spelled):
    (row,) = rows(capsys, worked, "--flops", spelled[0], "--bytes", spelled[1], "--time", spelled[2])
    assert row["attainable_flop_per_s"] == pytest.approx(10e12)
    assert row["rate_flop_per_s"] == pytest.approx(5e12)
    assert row["fraction_of_roof"] == pytest.approx(0.5)
    assert row["time_floor_s"] == pytest.approx(1e-3)
    assert row["ai"] == {"DRAM": pytest.approx(10)}
    assert row["bound"] == {"kind": "bandwidth", "level": "DRAM"}


@pytest.mark.parametrize(("flops", "roof"), [("1G", 1e12), ("10G", 10e12), ("100G", 100e12), ("200G", 100e12), ("1000G", 100e12)])
def test_the_roof_without_a_time(worked, capsys, flops, roof):
    (row,) = rows(capsys, worked, "--flops", flops, "--bytes", "1GB")
    assert row["attainable_flop_per_s"] == pytest.approx(roof)
    assert (row["time_s"], row["rate_flop_per_s"], row["fraction_of_roof"]) == (None, None, None)
    assert row["flags"] == (["near_ridge"] if flops == "100G" else [])


def test_bytes_at_several_levels(ceilings, capsys):
    (row,) = rows(capsys, ceilings, "--flops", "10G", "--bytes", "1GB", "--bytes", "L2=4GB", "--time", "2ms")
    assert row["bound"] == {"kind": "bandwidth", "level": "L2"}
    (row,) = rows(capsys, ceilings, "--flops", "10G", "--bytes", "1GB", "--level", "L1")
    assert row["ai"] == {"L1": 10}


def test_a_copy_has_no_flops(ceilings, capsys):
    (row,) = rows(capsys, ceilings, "--flops", "0", "--bytes", "2GB", "--time", "1.25ms")
    assert row["fraction_of_roof"] == pytest.approx(0.8)
    assert row["rate_flop_per_s"] is None


def test_gemm_on_both_paths_and_the_decode_example(ceilings, capsys):
    vector, tensor = rows(capsys, ceilings, "--op", "gemm", "--m", "128", "--n", "4096", "--k", "4096", "--dtype", "fp16")
    assert vector["flops"] == {"fp16": 2 * 128 * 4096**2}
    assert vector["bound"] == {"kind": "compute", "precision": "fp16"}
    # AI 120.5 is left of the tensor ridge, 300 / 2 = 150
    assert tensor["bound"] == {"kind": "bandwidth", "level": "DRAM"}
    single = rows(capsys, ceilings, "--op", "gemm", "--m", "1", "--n", "4096", "--k", "4096", "--dtype", "fp16")
    assert single[1]["ai"]["DRAM"] == pytest.approx(1.0, rel=1e-3)  # type: ignore[index]


def test_algorithms_are_compared_by_time(ceilings, capsys):
    found = rows(capsys, ceilings, "--op", "conv2d", "--channels", "64", "--height", "56", "--width", "56", "--filters", "64")
    floors = {str(row["name"]): row["time_floor_s"] for row in found}
    assert list(floors) == ["conv2d, direct vector", "conv2d, im2col vector", "conv2d, winograd vector"]
    assert floors["conv2d, winograd vector"] < floors["conv2d, direct vector"]  # type: ignore[operator]
    found = rows(capsys, ceilings, "--op", "axpy", "--size", "1000000", "--dtype", "fp64", "--time", "20us")
    assert [row["fraction_of_roof"] for row in found] == [pytest.approx(12e-6 / 20e-6)]


def test_table_names_every_step_and_assumption(ceilings, capsys):
    operation = ["--op", "attention", "--heads", "32", "--length", "2048", "--head-dim", "128", "--dtype", "fp16"]
    assert execute(cli, ["analyze", ceilings, *operation]) == 0
    text = capsys.readouterr().out
    assert "attention, decode tensor" in text and "scores stay on the chip" in text
    assert all(f"{step}. " in text for step in (1, 2, 3))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "--flops and --bytes, or --op"),
        (("--flops", "1G"), 2, "--flops and --bytes, or --op"),
        (("--flops", "fast", "--bytes", "1"), 2, "'fast' is not a quantity in FLOP"),
        (("--flops", "-1", "--bytes", "1"), 2, "-1 must be 0, or from 1 to 1e+30 FLOP"),
        (("--flops", "1e-320", "--bytes", "1"), 2, "1e-320 must be 0, or from 1"),
        (("--flops", "1", "--bytes", "1e308"), 2, "1e308 must be 0, or from 1"),
        (("--flops", "L2=1", "--bytes", "1"), 2, "'L2=1': no level goes with it"),
        (("--flops", "1", "--bytes", "=1"), 2, "'' is no memory level"),
        (("--flops", "1", "--bytes", "l2=1"), 2, "Did you mean 'L2'?"),
        (("--flops", "1", "--bytes", "L2=1", "--bytes", "L2=2"), 2, "--bytes: L2 is given twice"),
        (("--flops", "1", "--bytes", "1", "--bytes", "DRAM=2"), 2, "--bytes: DRAM is given twice"),
        (("--flops", "1", "--bytes", "DRAM=2", "--bytes", "1"), 2, "--bytes: DRAM (--level, for a --bytes without one) is given twice"),
        (("--flops", "1", "--bytes", "DRAM=2", "--level", "L2"), 2, "--level L2 is for a --bytes without a level"),
        (("--flops", "1", "--bytes", "1", "--m", "3", "--causal"), 2, "--m and --causal: for --op (gemm, linear, attention)"),
        (("--flops", "1", "--bytes", "L9=1"), 2, "'L9' is no memory level"),
        (("--flops", "1", "--bytes", "1", "--time", "0"), 2, "0 must be from 1e-15 to 1e+09 s"),
        (("--flops", "1", "--bytes", "1", "--level", "L3"), 1, "'L3' has no roof"),
        (("--flops", "0", "--bytes", "0"), 2, "are no work"),
        (("--op", "gemm", "--flops", "1"), 2, "leave out --flops"),
        (("--op", "gemm", "--m", "1"), 2, "gemm needs --n --k"),
        (("--op", "gemm", "--m", "0", "--n", "1", "--k", "1"), 2, "'--m': 0 is not in the range"),
        (("--op", "axpy", "--size", "1" * 400), 2, "is not in the range 1<=x<="),
        (("--op", "axpy", "--size", "9", "--heads", "2"), 2, "--heads: axpy has no such size (attention)"),
        (("--op", "axpy", "--size", "9", "--level", "L2", "--path", "tensor"), 2, "leave out --level and --path"),
        (("--op", "attention", "--heads", "3", "--kv-heads", "2", "--length", "2", "--head-dim", "2"), 2, "no multiple of --kv-heads 2"),
        (("--op", "axpy", "--size", "9", "--dtype", "fp8"), 1, "'fp8' has no roof"),
    ],
)
def test_wrong_usage_names_the_option(ceilings, capsys, arguments, code, words):
    assert execute(cli, ["analyze", ceilings, *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err


class Watched:
    """Sizes that are all the same and remember which were asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> int:
        self.asked.add(name)
        return 8

    def need(self, _op: str, *names: str) -> list[int]:
        return [getattr(self, name) for name in names]


@pytest.mark.parametrize("op", MODELS)
def test_an_operation_takes_the_sizes_it_uses_and_no_other(ceilings, capsys, op):
    watched = Watched()
    MODELS[op](watched, "fp32")
    every = {name: [option(name)] if name == "causal" else [option(name), "8"] for name in SIZE_NAMES}
    own = [word for name in watched.asked for word in every[name]]
    assert execute(cli, ["analyze", ceilings, "--op", op, *own]) == 0, capsys.readouterr().err
    for name in set(SIZE_NAMES) - watched.asked:
        assert execute(cli, ["analyze", ceilings, "--op", op, *own, *every[name]]) == 2
        assert f"{option(name)}: {op} has no such size" in capsys.readouterr().err


def test_as_a_program_with_an_example_in_its_help(worked):
    done = ert("analyze", worked, "--flops", "10G", "--bytes", "1GB", "--time", "2ms")
    assert (done.returncode, done.stderr) == (0, "")
    assert "50.0 %" in done.stdout
    assert "ert analyze results/" in ert("analyze", "--help").stdout
