"""``ert compare`` as a program: tables, JSON, exit codes, and the files people really have."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest
from example_gpu import EXAMPLE_GPU
from ncu_files import DRAM, FFMA, L1, L2, TIME, wide
from programs import check_schema, ert

from ert.ceilings import save
from ert.cli import cli, execute

FOREIGN = Path(__file__).parent / "data" / "foreign"
UNITS = {TIME: "ns", DRAM: "byte", L2: "byte", L1: "byte", FFMA: "inst"}
GOOD = ("void fine(float *)", ["500,000", "50,000,000", "60,000,000", "90,000,000", "4,500,000,000"])


@pytest.fixture
def ceilings(tmp_path: Path) -> str:
    path = tmp_path / "gpu.json"
    save(EXAMPLE_GPU, path)
    return str(path)


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def compared(*arguments: str) -> dict[str, list[dict[str, object]]]:
    done = ert("compare", *arguments, "--json", "-")
    assert done.returncode in (0, 3), done.stderr
    document: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    check_schema(document, "comparison")
    return document


def test_a_complete_profile_exits_0_with_a_table_and_the_three_steps(tmp_path: Path, ceilings: str):
    done = ert("compare", ceilings, written(tmp_path, "a.csv", wide(UNITS, [GOOD])))
    assert (done.returncode, done.stderr) == (0, "")
    assert "compute: fp32" in done.stdout and "90.0 %" in done.stdout
    assert all(step in done.stdout for step in ("1. Compute is the lower roof", "2. No memory level", "3. "))


def test_an_incomplete_profile_exits_3_and_counts_what_is_missing(tmp_path: Path, ceilings: str):
    rows = [GOOD, ("lost", ["n/a", *GOOD[1][1:]]), ("blind", [GOOD[1][0], "n/a", *GOOD[1][2:]])]
    done = ert("compare", ceilings, written(tmp_path, "a.csv", wide(UNITS, rows)))
    assert done.returncode == 3
    assert "2 of 3 kernels are incomplete" in done.stderr
    assert DRAM in done.stderr and TIME in done.stderr
    assert "lost" in done.stdout


def test_json_holds_every_kernel_and_nothing_else_is_on_stdout(tmp_path: Path, ceilings: str):
    path = written(tmp_path, "a.csv", wide(UNITS, [GOOD, ("lost", ["n/a", *GOOD[1][1:]])]))
    document = compared(ceilings, path)
    (kernel,) = document["kernels"]
    assert kernel["bound"] == {"kind": "compute", "precision": "fp32"}
    assert kernel["fraction_of_roof"] == pytest.approx(0.9)
    assert [s["name"] for s in document["skipped"]] == ["lost"]
    assert ert("compare", ceilings, path, "--json", str(tmp_path / "out" / "c.json")).returncode == 3
    assert json.loads((tmp_path / "out" / "c.json").read_text()) == document


def test_several_files_in_order_are_a_trajectory(tmp_path: Path, ceilings: str):
    header = "name,time_s,precision,flops,dram_bytes,label\n"
    before = written(tmp_path, "before.csv", header + "axpy,2e-3,fp32,1e9,2e9,stride 8\n")
    after = written(tmp_path, "after.csv", header + "axpy,1.1e-3,fp32,1e9,2e9,stride 1\n")
    done = ert("compare", ceilings, before, after)
    assert "stride 8 -> stride 1" in done.stdout and "time fell to 55.0 %" in done.stdout
    assert compared(ceilings, before, after)["trajectories"][0]["kernels"] == [0, 1]
    worthless = written(tmp_path, "padded.csv", header + "axpy,2e-3,fp32,9e9,2e9,padded\n")
    assert "worth nothing" in ert("compare", ceilings, before, worthless).stdout


def test_standard_input_and_per_launch(tmp_path: Path, ceilings: str):
    text = wide(UNITS, [GOOD, GOOD])
    done = ert("compare", ceilings, "-", "--json", "-", stdin=text)
    assert json.loads(done.stdout)["kernels"][0]["launches"] == 2
    document = compared(ceilings, written(tmp_path, "a.csv", text), "--per-launch")
    assert [k["id"] for k in document["kernels"]] == ["0", "1"]
    assert document["trajectories"] == []


def test_other_tools_ceilings_beside_and_instead_of_ours(tmp_path: Path, ceilings: str):
    done = ert("compare", ceilings, str(FOREIGN / "ert110.json"), str(FOREIGN / "nvbandwidth.json"))
    assert done.returncode == 0
    assert "81.4 % of its spec" in done.stdout and "88.6 % of its spec" in done.stdout
    assert "PCIe or NVLink" in done.stdout
    points = written(tmp_path, "p.csv", "name,time_s,precision,flops,dram_bytes\naxpy,1,fp64,1e9,1e12\n")
    document = compared(str(FOREIGN / "rocprof_roofline_old.csv"), points, "--device", "1")
    assert document["kernels"][0]["fraction_of_roof"] == pytest.approx(1e12 / 1391e9)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("perm.txt", "==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - no permission\n", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("empty.csv", "", "no ncu CSV found"),
        ("header.csv", wide(UNITS, []).splitlines()[0] + "\n", "0 kernels"),
        ("eu.csv", wide({TIME: "ns"}, [("k", ["117.344"])]), "--decimal"),
        ("text.csv", "name,time_s,flops\nk,soon,1\n", "line 2, column 2 (time_s)"),
        ("other.txt", "hello\n", "Name one with --format"),
    ],
)
def test_what_cannot_be_read_exits_1_with_one_line_and_no_output(tmp_path: Path, ceilings: str, name: str, text: str, words: str):
    done = ert("compare", ceilings, written(tmp_path, name, text))
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr and name in done.stderr
    assert done.stderr.count("\n") == 1


def test_wrong_usage_exits_2(ceilings: str):
    assert ert("compare", ceilings).returncode == 2
    assert ert("compare", ceilings, "x.csv", "--format", "excel").returncode == 2
    assert ert("compare", ceilings, "no such file.csv").returncode == 1


def test_hostile_names_reach_no_terminal_and_survive_in_json(tmp_path: Path, ceilings: str):
    names = ["<script>", "a\nb\x1b[31m", "[bold]x[/bold]", "名前", "k" * 4096]
    path = written(tmp_path, "a.csv", wide(UNITS, [(name, GOOD[1]) for name in names]))
    for encoding in ("utf-8", "ascii"):
        done = ert("compare", ceilings, path, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout and "[bold]x" in done.stdout
        done = ert("compare", ceilings, path, "--json", "-", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        assert [k["name"] for k in json.loads(done.stdout)["kernels"]] == names


def test_long_lists_are_cut_in_the_table_and_say_so(tmp_path: Path, ceilings: str, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, "a.csv", wide(UNITS, [(f"kernel_{i:03}", GOOD[1]) for i in range(60)]))
    assert execute(cli, ["compare", ceilings, path, "--top", "5"]) == 0
    assert "55 more kernels take 91.7 % of the time" in capsys.readouterr().out
    assert execute(cli, ["compare", ceilings, path, "--top", "0"]) == 0
    assert capsys.readouterr().out.count("compute: fp32") >= 60


def test_help_ends_with_an_example():
    text = ert("compare", "--help").stdout
    assert "ert compare results/" in text


def test_ten_thousand_kernels_in_50_mb_take_under_5_s_of_cpu_and_1_gb(tmp_path: Path, ceilings: str):
    others = {f"smsp__average_warp_latency_issue_stalled_{i:03}.ratio": "%" for i in range(380)}
    rest = [f"{i * 7.123456:,.6f}" for i in range(380)]
    rows = [(f"void kernel_{i}<float, {i % 7}>(const float *, int)", [*GOOD[1], *rest]) for i in range(10_000)]
    path = written(tmp_path, "big.csv", wide({**UNITS, **others}, rows))
    assert Path(path).stat().st_size > 45e6
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = ert("compare", ceilings, path, "--json", tmp_path / "out.json", "--top", "3")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads((tmp_path / "out.json").read_text())["kernels"]) == 10_000
    # CPU time, not wall time: what else the machine does must not decide.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5
    assert after.ru_maxrss < 1_000_000  # KiB
