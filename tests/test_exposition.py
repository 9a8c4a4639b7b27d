"""ert.exposition: what Prometheus' own parser makes of it, and that both writers call a ceiling the same."""

from __future__ import annotations

import re

import pytest
from history_store import fill
from hypothesis import given
from hypothesis import strategies as st
from make_ceilings import DATA
from prometheus_client.parser import text_string_to_metric_families

from ert.ceilings import load
from ert.exporters import EXPORTERS
from ert.exposition import Metric, family
from ert.history import check, open_history
from ert.history_rules import shipped_rules
from ert.outputs.prometheus import prometheus_text

GAUGE = Metric("ert_example", "What it is")
# A text file has no surrogates, and the parser splits lines at some characters that Prometheus does not.
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.just("\n"))


@given(st.dictionaries(TEXTS, st.floats(allow_nan=False), max_size=5))
def test_the_parser_finds_every_label_and_number(values):
    families = list(text_string_to_metric_families(family(GAUGE, [({"name": name}, value) for name, value in values.items()])))
    assert {s.labels["name"]: s.value for f in families for s in f.samples} == values
    assert all((f.name, f.documentation, f.type) == ("ert_example", "What it is.", "gauge") for f in families)


def test_a_set_of_labels_stands_once_and_nothing_is_no_metric():
    assert family(GAUGE, [({"name": "a"}, 1), ({"name": "a"}, 1)]).count("\nert_example{") == 1
    assert family(GAUGE, []) == ""


def heads(text):
    return dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))


@pytest.mark.parametrize("name", ["ert_bandwidth_bytes_per_second", "ert_rate_flops_per_second"])
def test_a_sweep_and_a_night_share_the_metrics_of_a_ceiling(tmp_path, name):
    fill(tmp_path, 2)
    night = heads(prometheus_text(check(open_history(tmp_path, shipped_rules()))))
    sweep = heads(EXPORTERS["prometheus"].write(load(DATA / "cpu.json")).text)
    # A collector that reads both files refuses a metric with two texts.
    assert night[name] == sweep[name]
