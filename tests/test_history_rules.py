"""ert.history_rules: the shipped rules hold together, and a wrong file is refused by its line."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from ert.errors import ConfigError
from ert.history_rules import load_rules, parse_rules, shipped_rules

TEXT = resources.files("ert.configs").joinpath("nightly.toml").read_text(encoding="utf-8")


def test_two_nights_never_trip_the_sum_and_three_of_a_clear_loss_do() -> None:
    step = shipped_rules().step
    assert 2 * (step.clip_z - step.slack_z) <= step.limit_z < 3 * (step.clip_z - step.slack_z)


def test_drift_is_raised_well_before_4_percent() -> None:
    assert shipped_rules().drift.change <= 0.02


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("least_nights = 10", "least_nights = 2", "least_nights: must be 3 or more"),
        ("reference_nights = 14", "reference_nights = 40", "reference_nights: must lie between"),
        ("clip_z = 3.5", "clip_z = 1.0", "clip_z: must be above slack_z"),
        ("suspect_z = 4.26", "suspect_z = -1", "suspect_z: must be a positive number"),
        ("suspect_z = 4.26", "suspekt_z = 4.26", "suspect_z: is missing"),
        ("settle = 3", "settle = 3.5", "settle: must be a whole number"),
        ("[drift]", "[drfit]", "drift: is missing"),
    ],
)
def test_a_wrong_file_is_refused_by_line_and_field(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load_rules(path)
    assert str(path) in str(caught.value)
    assert "line " in str(caught.value)
    assert words in str(caught.value)


def test_a_file_of_ones_own_is_taken() -> None:
    assert parse_rules(TEXT.replace("least_change = 0.015", "least_change = 0.05"), "x").step.least_change == 0.05
    assert load_rules(None) is shipped_rules()


def test_the_guide_says_what_the_rules_say() -> None:
    guide = (Path(__file__).parent.parent / "docs" / "nightly.md").read_text(encoding="utf-8")
    rules = shipped_rules()
    words = ("no", "one", "two", "three", "four", "five", "six", "seven")
    for text in (
        f"{100 * rules.step.least_change:g} % and {rules.step.suspect_z:g} standard deviations",
        f"the last {rules.baseline.rolling_nights} nights",
        f"the first {rules.baseline.reference_nights} nights",
        f"median of {words[rules.drift.nights]} nights is {100 * rules.drift.change:g} % below",
        f"until the median of {words[rules.nights.recover]} nights",
        f"{words[rules.nights.settle]}\nnights decide what came with it",
    ):
        assert text in guide, text
