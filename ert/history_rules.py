"""When the history speaks up: configs/nightly.toml, every number with its reason there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path

from ert.files import read_text
from ert.strict_table import StrictTable, parse_toml_table


@dataclass(frozen=True, slots=True)
class BaselineRules:
    """What a night is compared with; nights are counted, noise is relative."""

    least_nights: int
    reference_nights: int
    rolling_nights: int
    least_noise: float


@dataclass(frozen=True, slots=True)
class StepRules:
    """A night, or a few, against the rolling baseline; changes are relative, z in standard deviations."""

    least_change: float
    suspect_z: float
    slack_z: float
    clip_z: float
    limit_z: float


@dataclass(frozen=True, slots=True)
class DriftRules:
    """The median of the last nights against the reference."""

    change: float
    nights: int
    z: float


@dataclass(frozen=True, slots=True)
class NightRules:
    """How many nights decide."""

    settle: int
    recover: int
    forget: int


@dataclass(frozen=True, slots=True)
class Rules:
    """All of configs/nightly.toml."""

    baseline: BaselineRules
    step: StepRules
    drift: DriftRules
    nights: NightRules


@cache
def shipped_rules() -> Rules:
    """The rules of the package."""
    return parse_rules(resources.files("ert.configs").joinpath("nightly.toml").read_text(encoding="utf-8"), "configs/nightly.toml")


def load_rules(path: Path | None) -> Rules:
    """The rules of a file of one's own, complete like the shipped one; those of the package without one. Raises ConfigError."""
    return shipped_rules() if path is None else parse_rules(read_text(path), str(path))


def parse_rules(text: str, file: str) -> Rules:
    """Raises ConfigError naming file, line and field of what is missing, unknown or cannot work."""
    top = parse_toml_table(text, file)
    sections = {"baseline", "step", "drift", "nights"}
    top.check_keys(sections, sections)
    rules = Rules(
        _baseline(_section(top, "baseline", BaselineRules)),
        _step(_section(top, "step", StepRules)),
        _drift(_section(top, "drift", DriftRules)),
        _nights(_section(top, "nights", NightRules)),
    )
    _check_order(top, rules)
    return rules


def _section(top: StrictTable, name: str, kind: type) -> StrictTable:
    table = top.table(name)
    keys = {field.name for field in fields(kind)}
    table.check_keys(keys, keys)
    return table


def _baseline(table: StrictTable) -> BaselineRules:
    return BaselineRules(
        table.whole("least_nights"), table.whole("reference_nights"), table.whole("rolling_nights"), table.positive("least_noise")
    )


def _step(table: StrictTable) -> StepRules:
    return StepRules(
        least_change=table.positive("least_change"),
        suspect_z=table.positive("suspect_z"),
        slack_z=table.positive("slack_z"),
        clip_z=table.positive("clip_z"),
        limit_z=table.positive("limit_z"),
    )


def _drift(table: StrictTable) -> DriftRules:
    return DriftRules(table.positive("change"), table.whole("nights"), table.positive("z"))


def _nights(table: StrictTable) -> NightRules:
    return NightRules(table.whole("settle"), table.whole("recover"), table.whole("forget"))


def _check_order(top: StrictTable, rules: Rules) -> None:
    """What single numbers cannot show: a baseline without a spread, a sum that never grows."""
    if rules.baseline.least_nights < 3:
        raise top.table("baseline").refuse("least_nights", "must be 3 or more: two nights have no spread.")
    if not rules.baseline.least_nights <= rules.baseline.reference_nights <= rules.baseline.rolling_nights:
        raise top.table("baseline").refuse("reference_nights", "must lie between least_nights and rolling_nights.")
    if rules.step.clip_z <= rules.step.slack_z:
        raise top.table("step").refuse("clip_z", "must be above slack_z, or no number of nights is an alarm.")
