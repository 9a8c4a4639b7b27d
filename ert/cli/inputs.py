"""What a file is that a command could not use: a clearer line than the complaint of the reader that was made for another kind."""

from __future__ import annotations

from collections.abc import Mapping

from ert.cli.words import INPUTS, STANDARD, Words
from ert.file_kinds import kind_of

# parameter -> what it wants and where that comes from, and the kinds of file (``FileKind.name``) that it takes
WANTED: Mapping[str, tuple[str, set[str]]] = {
    "ceilings": ("a ceilings file (`ert sweep` writes one)", {"ceilings", "other ceilings", "other tool"}),
    "others": ("a ceilings file (`ert sweep` writes one)", {"ceilings", "other ceilings", "other tool"}),
    "base": ("a ceilings file (`ert sweep` writes one)", {"ceilings"}),
    "new": ("a ceilings file (`ert sweep` writes one)", {"ceilings"}),
    "points": ("measurements of kernels (a CSV, or a profiler's output)", {"kernels", "other ceilings", "other tool"}),
    "file": ("a curve (CSV), a ceilings file or the journal of a sweep", {"curve", "ceilings", "journal"}),
    "device_facts": ("JSON with the sizes of caches (l1_bytes, l2_bytes, ...)", {"document", "ceilings"}),
    "clocks": ("a CSV with a clock for each row", {"curve"}),
    "names": ("a spec sheet (`ert specs` lists them)", {"sheet"}),
    "spec": ("a spec sheet (`ert specs` lists them)", {"sheet"}),
    "config": ("a sweep: quick, default, full or a TOML file", {"sweep"}),
    "resume": ("the journal of a sweep (.points.jsonl)", {"journal"}),
    "rules": ("the rules of a store, a TOML file like configs/nightly.toml", {"rules"}),
}


def other_kind(words: Words | None, complaint: str) -> str | None:
    """Of a file that the complaint names and that is of another kind than its parameter takes: what it is, and what to try."""
    if words is None:
        return None
    for given, word in words.of(INPUTS):
        kind = kind_of(word) if word != STANDARD and word in complaint else None
        if kind and kind.name not in _kinds(words, given.name):
            return f"{word}: this is {kind.what}; {given.label} wants {WANTED[given.name][0]}. {kind.remedy.format(path=word)}"
    return None


def _kinds(words: Words, name: str) -> set[str]:
    """The kinds that this command takes for a parameter."""
    kinds = WANTED[name][1]
    if words.context.info_name in ("show", "validate"):  # print and judge what a sweep wrote, with all it says of itself
        return kinds - {"other ceilings", "other tool"}
    return kinds | {"ceilings"} if any(given.name == "with_ridges" for given in words.given) else kinds
