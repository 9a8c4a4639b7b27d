"""Sweep configurations: TOML over the defaults of configs/sweeps/default.toml, checked key by key."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import cast

from ert.errors import ConfigError, ErtError, UsageError
from ert.files import is_folder, read_text
from ert.findings import Finding
from ert.jsontypes import Json
from ert.levels import LEVELS
from ert.precisions import PRECISIONS
from ert.strict_table import is_whole, parse_toml
from ert.suggest import nearest

SHIPPED = ("quick", "default", "full")
_Table = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one point is sampled; meanings and reasons in default.toml."""

    min_time_s: float
    per_visit: int
    min_samples: int
    min_visits: int
    target_relative: float
    max_samples: int
    sustain_s: float
    seed: int


@dataclass(frozen=True, slots=True)
class CurvePlan:
    """The working-set curve."""

    kernels: tuple[str, ...]
    smallest_bytes_per_core: int
    points_per_octave: int
    largest_per_cache: int
    largest_bytes: int


@dataclass(frozen=True, slots=True)
class SweepConfig:
    """One resolved sweep: every value that decides what is measured and how.

    levels, precisions  restrict the sweep; empty for all the device has
    kernel_values       kernel -> parameter -> values to try, where not all declared ones; an experimental kernel is swept if it is here
    """

    name: str
    summary: str
    budget_s: float
    sampling: Sampling
    curve: CurvePlan
    level_positions: tuple[float, ...]
    levels: tuple[str, ...]
    precisions: tuple[str, ...]
    mixed_precisions: tuple[str, ...]
    kernel_values: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The resolved sweep with its hash, as the ceilings file stores it."""
        return {**self._plain(), "sha256": self.sha256}

    @property
    def sha256(self) -> str:
        """Hash of everything but the name and summary: two sweeps of one hash measure the same."""
        content = {k: v for k, v in self._plain().items() if k not in ("name", "summary")}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _plain(self) -> dict[str, Json]:
        return cast(dict[str, Json], json.loads(json.dumps(asdict(self))))


def load_config(name: str) -> SweepConfig:
    """A shipped sweep by name, or a TOML file.

    Raises ConfigError naming file, key and the nearest known one; UsageError for a name that is no sweep and no file.
    """
    return read_config(name)[0]


def read_config(name: str) -> tuple[SweepConfig, tuple[Finding, ...]]:
    """The same, with what a person should know of the file."""
    default = parse_toml(_shipped_text("default"), "configs/sweeps/default.toml")
    if name in SHIPPED:
        own = parse_toml(_shipped_text(name), f"configs/sweeps/{name}.toml")
        return _resolve(name, f"configs/sweeps/{name}.toml", default, own), ()
    path = Path(name)
    if name and is_folder(path):
        raise UsageError(f"--config {shlex.quote(name)} is a folder: name a .toml file, or {', '.join(SHIPPED)}.")
    if not name or not (path.suffix or _is_there(path)):
        known = f"Shipped: {', '.join(SHIPPED)}; or name a .toml file."
        raise UsageError(f"--config {shlex.quote(name)}: no such sweep.{nearest(name, SHIPPED)} {known}")
    try:
        text = read_text(path)
    except ErtError as error:
        raise ConfigError(f"--config {error}") from error
    own = parse_toml(text, name)
    return _resolve(path.stem, name, default, own), _findings(name, own)


def _is_there(path: Path) -> bool:
    """Also a pipe, such as a shell's ``<(...)``."""
    with suppress(OSError):
        return path.exists()
    return False


def _findings(name: str, own: _Table) -> tuple[Finding, ...]:
    """A file without a key that changes the sweep is a slip: it was saved too early, or is the wrong one."""
    if any(value != {} for key, value in own.items() if key != "summary"):
        return ()
    remedy = "Write the keys that shall differ from configs/sweeps/default.toml into it, or leave out --config."
    return (Finding("empty_config", f"{name} sets nothing: this is the default sweep", remedy=remedy),)


def restrict(config: SweepConfig, *, precisions: Sequence[str] = (), levels: Sequence[str] = ()) -> SweepConfig:
    """The same sweep for some precisions or levels only. Raises UsageError with the nearest name for an unknown one."""
    for option, names, known in (("--precision", precisions, PRECISIONS), ("--level", levels, LEVELS)):
        for name in names:
            if name not in known:
                raise UsageError(f"{option} {name}: unknown.{nearest(name, known)} Known: {', '.join(known)}.")
    return replace(config, precisions=tuple(precisions) or config.precisions, levels=tuple(levels) or config.levels)


def _shipped_text(name: str) -> str:
    return resources.files("ert.configs").joinpath("sweeps", f"{name}.toml").read_text(encoding="utf-8")


# More samples or points than this are a slip of the pen that no memory holds; more bytes than this no address reaches, and fewer
# than a cache line are no working set.
_MOST_COUNT, _LEAST_BYTES, _MOST_BYTES, _MOST_NUMBER = 10**6, 64, 2**56, 10**9
_POSITIVE, _SHARES = f"a positive number up to {_MOST_NUMBER}", "a list of numbers from 0 to 1"
_TEXTS, _SOME_TEXTS = "a list of names", "a list of at least one name"
_DURATION = f"a number from 0 to {_MOST_NUMBER}"
_COUNT, _BYTES = f"a whole number from 1 to {_MOST_COUNT}", f"a whole number of bytes from {_LEAST_BYTES} to {_MOST_BYTES}"
# section -> key -> what its value must be
_KEYS: dict[str, dict[str, str]] = {
    "budget": {"total_s": _POSITIVE},
    "sampling": {
        "min_time_s": _POSITIVE,
        "per_visit": _COUNT,
        "min_samples": _COUNT,
        "min_visits": _COUNT,
        "target_relative": _POSITIVE,
        "max_samples": _COUNT,
        "sustain_s": _DURATION,
        "seed": _COUNT,
    },
    "curve": {
        "kernels": _SOME_TEXTS,
        "smallest_bytes_per_core": _BYTES,
        "points_per_octave": _COUNT,
        "largest_per_cache": _COUNT,
        "largest_bytes": _BYTES,
    },
    "levels": {"positions": _SHARES, "only": _TEXTS},
    "precisions": {"only": _TEXTS},
    "mixed": {"precisions": _TEXTS},
}
# What may stand at the top of a sweep's file.
SECTIONS = (*_KEYS, "summary", "kernels")
_NAMES: dict[tuple[str, str], Mapping[str, object]] = {
    ("levels", "only"): LEVELS,
    ("precisions", "only"): PRECISIONS,
    ("mixed", "precisions"): PRECISIONS,
}


def _resolve(name: str, where: str, default: _Table, own: _Table) -> SweepConfig:
    _check_names(where, own)
    merged: dict[str, dict[str, object]] = {}
    for section, keys in _KEYS.items():
        merged[section] = {**_section(where, default, section), **_section(where, own, section)}
        for key, kind in keys.items():
            _check_value(f"{where}: [{section}] {key}", merged[section][key], kind, _NAMES.get((section, key)))
    config = _build(name, str(own.get("summary", "")), merged, _kernel_values(where, own))
    _check_whole(where, config)
    return config


def _section(where: str, table: _Table, section: str) -> dict[str, object]:
    value = table.get(section, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: {section} must be a table, written [{section}].")
    return value


def _check_names(where: str, own: _Table) -> None:
    for section in own:
        if section not in SECTIONS:
            raise ConfigError(f"{where}: [{section}] is unknown.{nearest(section, SECTIONS)} Known: {', '.join(SECTIONS)}.")
    for section, keys in _KEYS.items():
        for key in _section(where, own, section):
            if key not in keys:
                raise ConfigError(f"{where}: [{section}] {key} is unknown.{nearest(key, keys)} Known: {', '.join(keys)}.")


def _check_value(what: str, value: object, kind: str, names: Mapping[str, object] | None) -> None:
    is_texts = isinstance(value, list) and all(isinstance(v, str) for v in value)
    fits = {
        _POSITIVE: _is_number(value) and 0 < cast(float, value) <= _MOST_NUMBER,
        _DURATION: _is_number(value) and 0 <= cast(float, value) <= _MOST_NUMBER,
        _COUNT: is_whole(value) and 1 <= cast(int, value) <= _MOST_COUNT,
        _BYTES: is_whole(value) and _LEAST_BYTES <= cast(int, value) <= _MOST_BYTES,
        _TEXTS: is_texts,
        _SOME_TEXTS: is_texts and bool(value),
        _SHARES: isinstance(value, list) and bool(value) and all(_is_number(v) and 0 <= v <= 1 for v in value),
    }
    if not fits[kind]:
        raise ConfigError(f"{what} = {value!r} must be {kind}.")
    if names is not None:
        for name in cast(list[str], value):
            if name not in names:
                raise ConfigError(f"{what} = {name!r} is unknown.{nearest(name, names)} Known: {', '.join(names)}.")


def _is_number(value: object) -> bool:
    return is_whole(value) or isinstance(value, float)


def _kernel_values(where: str, own: _Table) -> dict[str, dict[str, tuple[int, ...]]]:
    chosen: dict[str, dict[str, tuple[int, ...]]] = {}
    for kernel, table in _section(where, own, "kernels").items():
        if not isinstance(table, dict):
            raise ConfigError(f"{where}: [kernels] {kernel} must be a table, written [kernels.{kernel}].")
        chosen[kernel] = {}
        for parameter, values in table.items():
            if not isinstance(values, list) or not values or not all(is_whole(v) for v in values):
                raise ConfigError(f"{where}: [kernels.{kernel}] {parameter} = {values!r} must be a list of whole numbers.")
            chosen[kernel][parameter] = tuple(values)
    return chosen


def _build(
    name: str, summary: str, merged: dict[str, dict[str, object]], kernel_values: dict[str, dict[str, tuple[int, ...]]]
) -> SweepConfig:
    curve = {**merged["curve"], "kernels": tuple(cast(list[str], merged["curve"]["kernels"]))}
    texts = {(s, k): tuple(cast(list[str], merged[s][k])) for s, k in _NAMES}
    return SweepConfig(
        name=name,
        summary=summary,
        budget_s=float(cast(float, merged["budget"]["total_s"])),
        sampling=Sampling(**merged["sampling"]),  # type: ignore[arg-type]  # checked key by key above
        curve=CurvePlan(**curve),  # type: ignore[arg-type]
        level_positions=tuple(cast(list[float], merged["levels"]["positions"])),
        levels=texts["levels", "only"],
        precisions=texts["precisions", "only"],
        mixed_precisions=texts["mixed", "precisions"],
        kernel_values=kernel_values,
    )


def _check_whole(where: str, config: SweepConfig) -> None:
    """What single keys cannot show: a sweep that would measure nothing."""
    visit_s = config.sampling.min_time_s * config.sampling.per_visit
    if visit_s > config.budget_s:
        raise ConfigError(
            f"{where}: [sampling] min_time_s = {config.sampling.min_time_s} times per_visit = {config.sampling.per_visit} is longer than "
            f"[budget] total_s = {config.budget_s}: not one point could be measured in time."
        )
    if config.sampling.max_samples < config.sampling.min_samples:
        raise ConfigError(
            f"{where}: [sampling] max_samples = {config.sampling.max_samples} is less than min_samples = {config.sampling.min_samples}."
        )
    if config.curve.largest_bytes < config.curve.smallest_bytes_per_core:
        raise ConfigError(
            f"{where}: [curve] largest_bytes = {config.curve.largest_bytes} is less than smallest_bytes_per_core = "
            f"{config.curve.smallest_bytes_per_core}: 0 working sets to measure."
        )
