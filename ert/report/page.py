"""The file: the page, its style, its scripts, plotly and the traces in one, which needs nothing else and no network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from functools import cache
from importlib import resources
from itertools import pairwise

from ert.files import StrPath, write_text_atomic
from ert.provenance import provenance
from ert.report.content import Content
from ert.report.curves import curves_figure
from ert.report.figures import Figure
from ert.report.flop_sweep import flop_sweep_figure
from ert.report.generations import generations, generations_figure
from ert.report.kernel_table import details
from ert.report.markup import Html, joined, tag
from ert.report.roofline import roofline_figure
from ert.report.sections import (
    Section,
    ceilings_section,
    curves_section,
    generations_section,
    kernels_section,
    provenance_section,
    roofline_section,
    sweep_section,
    validation_section,
    warnings_section,
)
from ert.report.summary import summary_html

# The basic bundle as its makers publish it, see docs/report.md: a quarter of the whole, which a browser needs two seconds to compile.
_PLOTLY = "plotly-basic.min.js"
_SCRIPTS = ("state.js", "labels.js", "charts.js", "kernels.js", "keyboard.js", "main.js")
_SLOT = re.compile(r"<!--slot:(\w+)-->")


def save_report(content: Content, path: StrPath) -> None:
    """Write the report, whole or not at all. Errors as in ``render_report``, and ErtError if it cannot be written."""
    write_text_atomic(path, render_report(content))


def render_report(content: Content) -> str:
    """The text of the HTML file. Raises AnalysisError if there are no ceilings to draw."""
    sections, figures = _sections(content)
    return _page(content, [summary_html(content), *(s.html() for s in sections)], _header(content, sections), figures)


def save_roofline_page(content: Content, path: StrPath) -> None:
    """The interactive roofline alone, whole or not at all. Errors as in ``save_report``."""
    write_text_atomic(path, render_roofline_page(content))


def render_roofline_page(content: Content) -> str:
    """Only the interactive roofline with its switches: what ``ert plot -o FILE.html`` writes."""
    figure = roofline_figure(content.ceilings, content.shown)
    sections = [roofline_section(content, figure)]
    if content.comparison:
        sections.append(kernels_section(content))
    return _page(content, [s.html() for s in sections], _header(content, []), {"roofline": figure})


def _sections(content: Content) -> tuple[list[Section], dict[str, Figure]]:
    """The sections in their order, and the figures that belong to them."""
    figures = {"roofline": roofline_figure(content.ceilings, content.shown)}
    sections = [roofline_section(content, figures["roofline"])]
    if content.comparison:
        sections.append(kernels_section(content))
    sections.append(ceilings_section(content))
    if content.others:
        found = generations([content.ceilings, *content.others])
        figures["generations"] = generations_figure(found)
        sections.append(generations_section(found, figures["generations"]))
    if curves := curves_figure(content.ceilings):
        figures["curves"] = curves
        sections.append(curves_section(curves))
    if sweep := flop_sweep_figure(content.ceilings):
        figures["sweep"] = sweep
        sections.append(sweep_section(content, sweep))
    if validation := validation_section(content):
        sections.append(validation)
    return [*sections, warnings_section(content), provenance_section(content)], figures


def _header(content: Content, sections: list[Section]) -> Html:
    found = provenance(content.ceilings)
    buttons = [tag("button", "Theme: auto", type="button", id="theme"), tag("button", "Print", type="button", id="print")]
    title = tag(
        "div", tag("div", tag("h1", found.device), tag("p", found.state, cls="facts")), tag("div", *buttons, cls="buttons"), cls="title"
    )
    links = [tag("li", tag("a", s.title, href=f"#{s.id}")) for s in sections]
    return tag("header", title, *([tag("nav", tag("ul", *links), aria_label="Sections")] if links else []))


def _page(content: Content, main: list[Html], header: Html, figures: dict[str, Figure]) -> str:
    plotly, script = _shipped(_PLOTLY), _script()
    found = provenance(content.ceilings)
    slots: dict[str, str] = {
        "generator": joined([f"{content.ceilings.tool.name} {content.ceilings.tool.version}"]),
        "policy": _policy(plotly, script),
        "title": joined([f"Roofline of {content.ceilings.device.get('name', 'a device')}"]),
        "style": _shipped("style.css"),
        "header": header,
        "main": joined(main, "\n"),
        "footer": tag("p", f"Made from a ceilings file of {found.tool}. GB = 10^9 bytes, one FMA = 2 FLOP."),
        "data": _data(content, figures),
        "plotly": _packed(plotly),
        "script": script,
    }
    return _SLOT.sub(lambda slot: slots[slot[1]], _shipped("page.html"))


def _data(content: Content, figures: dict[str, Figure]) -> str:
    """JSON that no name can break out of: ``<`` never stands in it as such."""
    comparison = content.shown
    trajectories = comparison.trajectories if comparison else ()
    document = {
        "figures": {name: figure.to_dict() for name, figure in figures.items()},
        "kernels": details(comparison) if comparison else [],
        "steps": [list(pair) for t in trajectories for pair in pairwise(t.kernels)],
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(*scripts: str) -> str:
    """Only these two scripts may run, and nothing may be fetched: what a name smuggles in stays dead."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"


@cache
def _packed(text: str) -> str:
    """Compressed, as text; the same bytes every time."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _script() -> str:
    """The scripts of this package in one scope of their own."""
    return "(() => {\n'use strict';\n" + "\n".join(_shipped(name) for name in _SCRIPTS) + "\n})();"


def _shipped(name: str) -> str:
    return resources.files("ert.report").joinpath(name).read_text(encoding="utf-8")
