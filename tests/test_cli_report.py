"""ert report, and ert plot -o FILE.html, as programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from make_ceilings import DATA
from report_data import h200, older, points_csv

from ert.ceilings import save

CPU = str(DATA / "cpu.json")


def ert(*arguments, **environment):
    command = [str(Path(sys.executable).with_name("ert")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=120)


@pytest.fixture
def files(tmp_path):
    save(h200(), tmp_path / "h200.json")
    save(older("NVIDIA H100", 0.7, "2024-05-01T00:00:00Z"), tmp_path / "h100.json")
    (tmp_path / "app.csv").write_text(points_csv(30))
    return tmp_path


def headings(page: Path):
    return re.findall(r"<h2[^>]*>(.*?)</h2>", page.read_text())


def figures(page: Path):
    return list(json.loads(re.search(r'id="report-data">(.*?)</script>', page.read_text())[1])["figures"])


def test_a_report_of_a_device_alone(tmp_path):
    done = ert("report", CPU, "-o", tmp_path / "new" / "r.html")
    assert (done.returncode, done.stdout) == (0, "")
    assert "opens in any browser" in done.stderr
    page = tmp_path / "new" / "r.html"
    assert headings(page)[:2] == ["Roofline", "Ceilings"]
    assert {"Against the spec sheet", "Warnings", "Provenance"} <= set(headings(page))
    assert figures(page) == ["roofline", "curves", "sweep"]


def test_a_report_with_kernels_and_another_device(files):
    done = ert("report", files / "h200.json", files / "app.csv", "--compare", files / "h100.json", "-o", files / "r.html")
    assert done.returncode == 0
    assert {"Kernels", "Comparison"} <= set(headings(files / "r.html"))
    assert figures(files / "r.html") == ["roofline", "generations", "curves", "sweep"]
    assert (files / "r.html").stat().st_size < 6e6


def test_a_sheet_of_ones_own_is_taken(files):
    (files / "mine.toml").write_text('device = "NVIDIA H200"\ndram = "9 TB/s"\n')
    ert("report", files / "h200.json", "--spec", files / "mine.toml", "-o", files / "r.html")
    assert "<strong>below</strong>" in (files / "r.html").read_text()


def test_it_works_without_a_home_a_network_and_a_display(tmp_path):
    done = ert("report", CPU, "-o", tmp_path / "r.html", HOME="/nonexistent", DISPLAY="", http_proxy="http://127.0.0.1:9")
    assert (done.returncode, (tmp_path / "r.html").exists()) == (0, True)


def test_a_file_that_is_none_is_explained_and_nothing_is_written(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    done = ert("report", tmp_path / "x.json", "-o", tmp_path / "r.html")
    assert done.returncode == 1
    assert "not a ceilings file" in done.stderr
    assert not (tmp_path / "r.html").exists()


def test_no_output_is_wrong_usage():
    assert ert("report", CPU).returncode == 2


def test_plot_writes_the_interactive_roofline_alone(files):
    done = ert("plot", files / "h200.json", files / "app.csv", "-o", files / "roof.html")
    assert done.returncode == 0
    assert headings(files / "roof.html") == ["Roofline", "Kernels"]
    assert figures(files / "roof.html") == ["roofline"]


@pytest.mark.parametrize("command", ["report", "export", "completion", "show", "plot"])
def test_help_ends_with_an_example(command):
    done = ert(command, "--help")
    assert done.returncode == 0
    assert done.stdout.rstrip().splitlines()[-1].strip().startswith(f"ert {command}")
