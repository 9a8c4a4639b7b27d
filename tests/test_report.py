"""The report as a file: what stands in it, and what cannot break out of it. The browser has its own test."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import plotly.graph_objects as go
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_ceilings import DATA, any_ceilings, make_ceilings
from report_data import HOSTILE, h200, kernels, older

from ert.ceilings import load
from ert.errors import AnalysisError
from ert.precisions import PRECISIONS
from ert.report.content import MOST_KERNELS, Content
from ert.report.looks import CONTRAST, DARK, INK, LIGHT, contrast, precision_colours, series_colours
from ert.report.markup import Html, hover, tag
from ert.report.page import render_report, render_roofline_page

GPU = h200()
FULL = Content(
    ceilings=GPU,
    comparison=kernels(GPU, 20, hostile=True),
    others=(older("NVIDIA H100", 0.7, "2024-05-01T00:00:00Z"), older("NVIDIA A100", 0.4, "2021-05-01T00:00:00Z")),
)
PAGE = render_report(FULL)
# Elements of HTML that have no end tag, and those of SVG that close themselves.
VOID = {"meta", "input", "br"}
SELF_CLOSED = {"line", "path"}


class Outline(HTMLParser):
    """Every element with its attributes and its text, and whether they are nested properly."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes), []))
        if name not in VOID and name not in SELF_CLOSED:
            self.open.append((name, self.found[-1][2]))

    def handle_startendtag(self, name, attributes):
        assert name in VOID | SELF_CLOSED
        self.found.append((name, dict(attributes), []))

    def handle_endtag(self, name):
        assert self.open.pop()[0] == name

    def handle_data(self, data):
        for _, texts in self.open:
            texts.append(data)

    def all(self, name, **wanted):
        return [(a, "".join(t)) for n, a, t in self.found if n == name and all(a.get(k) == v for k, v in wanted.items())]


OUTLINE = Outline(PAGE)
DOCUMENT = json.loads(OUTLINE.all("script", id="report-data")[0][1])


def test_the_file_needs_nothing_else():
    assert not OUTLINE.all("link") and not OUTLINE.all("img") and not OUTLINE.all("iframe")
    assert all("src" not in attributes for attributes, _ in OUTLINE.all("script"))
    assert "url(" not in OUTLINE.all("style")[0][1] and "@import" not in PAGE
    assert len(PAGE.encode()) < 6e6


def test_only_the_two_scripts_of_the_page_may_run():
    policy = OUTLINE.all("meta", **{"http-equiv": "Content-Security-Policy"})[0][0]["content"]
    assert "default-src 'none'" in policy
    own = next(text for attributes, text in OUTLINE.all("script") if not attributes)
    plotly = gzip.decompress(base64.b64decode(OUTLINE.all("script", id="plotly")[0][1])).decode()
    assert "plotly.js (basic - minified) v4.1.1" in plotly.partition("*/")[0]
    for script in (own, plotly):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    assert policy.count("sha256-") == 2
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_plotly_is_the_published_bundle_with_its_licence():
    # Digest of plotly-basic.min.js in the npm package plotly.js-basic-dist-min 4.1.1.
    shipped = resources.files("ert.report")
    digest = hashlib.sha256(shipped.joinpath("plotly-basic.min.js").read_bytes()).hexdigest()
    assert digest == "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
    assert "MIT License" in shipped.joinpath("plotly-basic.LICENSE").read_text()


def test_a_name_is_text_wherever_it_stands():
    names = [text for attributes, text in OUTLINE.all("button", **{"class": "pick"})]
    assert sum(name.startswith("<script>window.broken=1</script>") for name in names) == 3
    assert "<script>window" not in PAGE
    assert "<img" not in PAGE
    assert DOCUMENT["kernels"][0]["name"] == HOSTILE


def test_plotly_gets_names_escaped_because_it_reads_some_tags():
    title, _ = DOCUMENT["kernels"][0]["hover"]
    assert title.startswith("<b>&lt;script&gt;window.broken=1&lt;/script&gt;")


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_comes_back_out_of_an_element(content, value):
    outline = Outline(tag("td", content, data_sort=value))
    (attributes, text) = outline.all("td")[0]
    # A parser takes carriage returns and NUL for other characters, as HTML says it must.
    if not set(content + value) & {"\r", "\0"}:
        assert (text, attributes["data-sort"]) == (content, value)
    assert tag("b", Html("<i>x</i>")) == "<b><i>x</i></b>"
    assert "<" not in hover(content)


def figure_of(name, document=DOCUMENT):
    return document["figures"][name]


def test_plotly_itself_accepts_every_trace_and_axis():
    assert list(DOCUMENT["figures"]) == ["roofline", "generations", "curves", "sweep"]
    for figure in DOCUMENT["figures"].values():
        made = go.Figure(figure["traces"], figure["layout"])
        assert len(made.data) == len(figure["traces"]) > 0


def texts(name, **meta):
    return [t["hovertext"] for t in figure_of(name)["traces"] if all(t["meta"].get(k) == v for k, v in meta.items())]


def test_a_line_says_every_number_of_its_ceiling():
    (dram,) = texts("roofline", place="slope", level="DRAM")
    for number in ("4.38 TB/s", "4.336 .. 4.424", "93.5 % of the limit, 4.687 TB/s", "1.98 GHz"):
        assert number in dram
    (fp64,) = texts("roofline", place="end", key="fp64 tensor")
    assert "66.6 TFLOP/s" in fp64 and "65.93 .. 67.27" in fp64


def test_slopes_and_roofs_are_where_the_model_puts_them():
    for trace in figure_of("roofline")["traces"]:
        if trace["meta"].get("place") == "slope":
            bandwidth = GPU.bandwidth(trace["meta"]["level"])
            assert trace["y"] == pytest.approx([x * bandwidth for x in trace["x"]], rel=1e-5)
    ridges = next(t for t in figure_of("roofline")["traces"] if t["meta"].get("ridge") and t["meta"]["level"] == "DRAM")
    # 33.4 / 4.38
    assert dict(zip(ridges["meta"]["keys"], ridges["x"], strict=True))["fp64"] == pytest.approx(33.4 / 4.38, rel=1e-5)


def test_a_kernel_stands_at_its_flops_over_its_bytes_and_knows_its_row():
    judged = FULL.comparison.kernels
    traces = [t for t in figure_of("roofline")["traces"] if "rows" in t["meta"]]
    placed = {(row, t["meta"]["level"]): (x, y) for t in traces for row, x, y in zip(t["meta"]["rows"], t["x"], t["y"], strict=True)}
    for index, k in enumerate(judged):
        flops = k.point.total_flops
        for level, amount in k.point.bytes.items():
            if flops:
                assert placed[index, level] == pytest.approx((flops / amount, flops / k.point.time_s), rel=1e-5)
            else:
                assert (index, level) not in placed


def test_one_kernel_is_counted_as_one():
    page = Outline(render_report(Content(ceilings=GPU, comparison=kernels(GPU, 1))))
    assert "1 kernel" in [text for _, text in page.all("caption")]


def test_a_kernel_without_flops_keeps_its_row():
    rows = {attributes["data-kernel"]: text for attributes, text in OUTLINE.all("tr") if "data-kernel" in attributes}
    assert len(rows) == 20
    assert "no_flops" in rows["9"]


def test_the_axes_hold_every_point():
    figure = figure_of("roofline")
    for axis in ("x", "y"):
        low, high = (10**end for end in figure["layout"][f"{axis}axis"]["range"])
        points = [value for t in figure["traces"] if "rows" in t["meta"] for value in t[axis]]
        assert low < min(points) and max(points) < high


def test_the_curve_shows_plateaus_and_capacities():
    curves = figure_of("curves")["traces"]
    read = next(t for t in curves if t["meta"].get("op") == "read" and t["mode"] == "lines+markers")
    # 4.38 TB/s with samples of 0, 0.4 and 0.9 % more time: the median is 0.4 % below.
    assert read["y"][-1] == pytest.approx(4.38e12 / 1.004, rel=1e-4)
    assert "3 samples" in read["hovertext"][-1]
    capacities = {t["meta"]["label"]: t["x"][0] for t in curves if t["meta"].get("place") == "top"}
    assert capacities == pytest.approx({"L1 32 MiB": 2**25, "L2 50 MiB": 50 * 2**20}, rel=1e-5)


def test_the_fitted_corner_passes_below_the_ideal_one():
    sweep = [t for t in figure_of("sweep")["traces"] if t["meta"]["level"] == "DRAM" and t["meta"]["key"] == "fp64"]
    lines = [t for t in sweep if t["mode"] == "lines"]
    ideal, fitted = (next(t for t in lines if word in t["hovertext"]) for word in ("ideal", "rounded"))
    # At the ridge of p = 4 the rate is 2 ** (-1/4) of the ideal one, and the fit's bandwidth is 3 % lower.
    assert max(fitted["y"]) <= max(ideal["y"])
    assert "corner exponent 4.00" in fitted["hovertext"]


def test_generations_show_how_the_ridge_moves():
    cells = [text for _, text in OUTLINE.all("td")]
    # fp64: 33.4 / 4.38; of the older one half of that, since its rates are halved twice as much as its bandwidth.
    assert "7.63" in cells
    assert "3.81 (x0.50)" in cells
    dram = [t for t in figure_of("generations")["traces"] if t["meta"]["key"] == "fp64" and t["meta"]["level"] == "DRAM"]
    path = next(t for t in dram if "device" not in t["meta"])
    assert path["x"] == pytest.approx([7.62557, 3.81279, 3.81279], rel=1e-5)


def test_two_sweeps_of_one_device_are_told_apart_by_their_dates():
    page = Outline(render_report(Content(ceilings=GPU, others=(replace(GPU, created="2026-11-30T02:00:00Z"),))))
    devices = [a["value"] for a, _ in page.all("input", **{"data-field": "device"})]
    assert devices == ["NVIDIA H200, 2026-12-01", "NVIDIA H200, 2026-11-30"]


def test_every_chart_has_words_for_those_who_do_not_see_it():
    charts = [attributes for attributes, _ in OUTLINE.all("div") if attributes.get("role") == "application"]
    assert len(charts) == 4
    assert "DRAM 4.38 TB/s" in charts[0]["aria-label"]
    assert all(chart["tabindex"] == "0" for chart in charts)


def test_tables_have_captions_and_headings_and_controls_have_labels():
    assert len(OUTLINE.all("caption")) == len(OUTLINE.all("table"))
    assert all(attributes.get("scope") in ("col", "row") for attributes, _ in OUTLINE.all("th"))
    assert len(OUTLINE.all("h1")) == 1
    # Every input stands inside a label.
    assert len(OUTLINE.all("input")) == len(OUTLINE.all("label"))
    ids = [attributes["id"] for _, attributes, _ in OUTLINE.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes, _ in OUTLINE.all("a"):
        assert attributes["href"].removeprefix("#") in ids


@pytest.mark.parametrize("name", PRECISIONS)
def test_colours_stand_out_from_both_backgrounds(name):
    light, dark = precision_colours(name)
    assert contrast(light, LIGHT) >= CONTRAST and contrast(dark, DARK) >= CONTRAST


def test_contrast_is_that_of_the_guidelines():
    # W3C's own examples: black on white is 21, and #777777 on white the well-known 4.48.
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert all(contrast(series_colours(i)[0], LIGHT) >= CONTRAST for i in range(7))


def test_the_style_sheet_has_the_same_two_backgrounds_and_inks():
    style = OUTLINE.all("style")[0][1]
    assert set(re.findall(r"--page: (#\w+)", style)) == {LIGHT, DARK}
    assert set(re.findall(r"--ink: (#\w+)", style)) == set(INK)


def test_what_the_style_sheet_writes_with_is_readable():
    style = OUTLINE.all("style")[0][1]
    for block, background in zip(re.findall(r"--page:.*?--good: #\w+", style, re.S), (LIGHT, DARK, DARK), strict=True):
        for name in ("ink", "faint", "accent", "bad", "warn", "good"):
            assert contrast(re.search(rf"--{name}: (#\w+)", block)[1], background) >= CONTRAST


def test_the_host_is_not_told():
    cpu = load(DATA / "cpu.json")
    assert cpu.environment["host"] == "node017"
    assert "node017" not in render_report(Content(ceilings=cpu))


def test_of_very_many_kernels_the_longest_are_shown_and_the_rest_is_counted():
    content = Content(ceilings=GPU, comparison=kernels(GPU, MOST_KERNELS + 50))
    times = sorted((k.point.time_s for k in content.comparison.kernels), reverse=True)
    assert min(k.point.time_s for k in content.shown.kernels) == times[MOST_KERNELS - 1]
    assert content.hidden_kernels == 50
    page = render_report(content)
    assert "50 shorter ones are left out" in page
    assert len(page.encode()) < 6e6


def test_the_interactive_plot_has_the_roofline_and_nothing_else():
    outline = Outline(render_roofline_page(Content(ceilings=GPU)))
    assert list(json.loads(outline.all("script", id="report-data")[0][1])["figures"]) == ["roofline"]
    assert [text for _, text in outline.all("h2")] == ["Roofline"]


def test_no_ceilings_no_report():
    with pytest.raises(AnalysisError, match="no ceilings to draw"):
        render_report(Content(ceilings=make_ceilings({}, {})))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_ceilings(min_compute=0))
def test_any_ceilings_make_a_proper_page(ceilings):
    outline = Outline(render_roofline_page(Content(ceilings=ceilings)))
    json.loads(outline.all("script", id="report-data")[0][1], parse_constant=pytest.fail)
