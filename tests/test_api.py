"""The notebook interface: the page docs/api.md runs as it stands, and what it leaves to the eye."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from make_ceilings import DATA, make_ceilings
from matplotlib import pyplot as plt

import ert
from ert.errors import AnalysisError

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
CPU = ert.load(DATA / "cpu.json")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(DATA / "cpu.json", tmp_path / "ceilings.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mpl, "rcParams", mpl.rcParams)
    plt.switch_backend("agg")
    yield tmp_path
    plt.close("all")


def test_the_page_of_the_documentation_runs_as_it_stands(folder):
    text = PAGE.read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    test = doctest.DocTestParser().get_doctest(code, {}, "api.md", str(PAGE), 0)
    assert len(test.examples) > 30
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)
    assert (folder / "roofline.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "report.html").stat().st_size < 6e6


def test_a_frame_holds_the_numbers_of_the_file():
    frame = CPU.to_frame()
    assert len(frame) == len(CPU.all_ceilings)
    row = frame[(frame.level == "DRAM") & (frame.op == "write")].iloc[0]
    assert (row.value, row.ci95_low, row.ci95_high) == (49.1e9, 48.707e9, 49.493e9)
    assert np.isnan(row.limit)


def test_the_points_frame_derives_rate_bandwidth_and_intensity():
    row = CPU.to_frame("points").set_index("id").loc["mixed-fp64-DRAM-256"]
    # 5 samples of one repeat, 34359738368 FLOPs and 2 GiB each; the middle one of them is 0.1286202 s.
    assert row.time_s == 0.1286202
    assert row.rate_flop_per_s == pytest.approx(34359738368 / 0.1286202)
    assert row.ai_flop_per_byte == 16


def test_plot_draws_on_the_axes_it_is_given_and_leaves_settings_alone(folder):
    before = dict(mpl.rcParams)
    axes = plt.subplots()[1]
    assert CPU.plot(ax=axes) is axes
    assert dict(mpl.rcParams) == before
    assert axes.get_xscale() == axes.get_yscale() == "log"
    texts = [t.get_text() for t in axes.texts]
    assert any("DRAM" in text and "76.2 GB/s" in text for text in texts)
    assert any("fp64" in text and "267 GFLOP/s" in text for text in texts)


def test_slopes_end_at_the_highest_roof_and_meet_the_flat_roofs_at_the_ridge(folder):
    axes = make_ceilings({"DRAM": 1e12}, {("fp64", "vector"): 10e12}).plot()
    slope, flat = axes.lines[:2]
    assert slope.get_xydata()[-1].tolist() == [10.0, 10e12]
    assert flat.get_xydata()[0].tolist() == [10.0, 10e12]


def test_names_of_flat_roofs_do_not_overlap(folder):
    axes = CPU.plot()
    axes.figure.canvas.draw()
    boxes = sorted((t.get_window_extent().y0, t.get_window_extent().y1) for t in axes.texts if t.get_gid())
    assert all(upper[0] > lower[1] - 1.5 for lower, upper in pairwise(boxes))


def test_a_corner_that_was_not_fitted_is_said(folder):
    with pytest.raises(AnalysisError, match="no fitted corner"):
        make_ceilings({"DRAM": 1e12}, {("fp64", "vector"): 10e12}).plot(rounded=True)


def test_a_notebook_shows_the_tables_and_no_name_breaks_out():
    html = replace(CPU, device={**CPU.device, "name": "<script>x</script>"})._repr_html_()
    assert "&lt;script&gt;x&lt;/script&gt; (cpu)" in html and "<script" not in html
    assert "1.439 .. 1.445" in html and "Ridge points" in html


def test_loading_a_file_loads_neither_pandas_nor_matplotlib():
    code = f"import sys, ert; ert.load({str(DATA / 'cpu.json')!r}); sys.exit(bool({{'pandas', 'matplotlib', 'numpy'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ)).returncode == 0
