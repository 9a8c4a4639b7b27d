"""What kind of file a person has at hand, by its content: for the error about a file that stands where another kind is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ert.errors import ErtError
from ert.files import is_folder, is_ordinary_file, parse_json, read_text
from ert.strict_table import parse_toml

# Enough to see a mark, or the ``schema`` of a file of ert.
_HEAD_BYTES = 1 << 16
# No sweep, sheet or set of rules comes near it.
_MOST_TOML_BYTES = 1 << 20
_SCHEMA = re.compile(r'"schema"\s*:\s*"ert\.([a-z]+)"')
# The header of a CSV is its first line that is no comment.
_CURVE_HEADER = re.compile(r"\A(?:\s*#[^\n]*\n)*[^\n{]*\bworking_set_bytes\b")
# Formats of ``ert.points`` that hold ceilings, or ceilings in some files and kernels in others; the rest holds kernels.
_HOLD_CEILINGS = ("ert110", "nvbandwidth", "babelstream", "mixbench", "carm", "kerncraft")
_HOLD_EITHER = ("advisor", "rocprof", "nersc")


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    name    its short name, which says who takes it
    what    with an article, for people
    remedy  what to try with such a file; ``{path}`` stands for its name
    """

    name: str
    what: str
    remedy: str


_DRAWN = "ert writes such files and reads none: give the ceilings file it was drawn from."
FOLDER = FileKind("folder", "a folder", "Name a file in it.")
PICTURE = FileKind("picture", "a picture", _DRAWN)
PAGE = FileKind("page", "a web page", _DRAWN)
PACKED = FileKind("packed", "a compressed file", "Unpack it first.")
CEILINGS = FileKind("ceilings", "a ceilings file", "Try `ert show {path}`.")
JOURNAL = FileKind("journal", "the journal of a sweep", "Try `ert fit {path}`, or `ert sweep --resume {path}`.")
CURVE = FileKind("curve", "a working-set curve", "Try `ert fit {path}`.")
SHEET = FileKind("sheet", "a spec sheet", "Try `ert specs {path}`.")
SWEEP = FileKind("sweep", "the configuration of a sweep", "Try `ert sweep --config {path}`.")
RULES = FileKind("rules", "the rules of a store", "Try `ert history check --rules {path}`.")

_MARKS: Mapping[bytes, FileKind] = {
    b"\x89PNG": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"%PDF": PICTURE,
    b"%!PS": PICTURE,
    b"\x1f\x8b": PACKED,
    b"PK\x03\x04": PACKED,
}
_TAGS: Mapping[str, FileKind] = {"<svg": PICTURE, "<!doctype html": PAGE, "<html": PAGE}


def kind_of(path: str) -> FileKind | None:
    """The kind of an ordinary file or folder; None for what is not there, is a pipe, or has no marks that ert knows."""
    place = Path(path)
    if not is_ordinary_file(place):
        return FOLDER if is_folder(place) else None
    try:
        head = _head(place)
    except OSError:
        return None
    marked = next((kind for mark, kind in _MARKS.items() if head.startswith(mark)), None)
    return marked or _kind_of_text(path, head.decode("utf-8-sig", errors="replace"))


def _head(place: Path) -> bytes:
    with place.open("rb") as file:
        return file.read(_HEAD_BYTES)


def _kind_of_text(path: str, head: str) -> FileKind | None:
    start = head[:1000].lstrip().lower()
    if start.startswith("<"):
        return next((kind for tag, kind in _TAGS.items() if tag in start), None)
    if found := _SCHEMA.search(head):
        return _of_ert(found[1])
    if _CURVE_HEADER.search(head):
        return CURVE
    return _kind_of_table(path) or _kind_of_measurements(path)


def _of_ert(word: str) -> FileKind:
    """A file with a schema of ours: what ert reads again, and what only other programs do."""
    if word == "ceilings":
        return CEILINGS
    # A points file of ``ert compare`` carries no schema; the journal of a sweep is the file of this one.
    if word == "points":
        return JOURNAL
    return FileKind("document", f"ert's own output of kind '{word}'", "It is for other programs: give the file it was made from.")


def _kind_of_table(path: str) -> FileKind | None:
    """TOML, or a sheet in JSON, by its keys; a slip in one of them changes nothing."""
    from ert.config import SECTIONS  # noqa: PLC0415  (only when something went wrong)
    from ert.specs import looks_like_sheet  # noqa: PLC0415

    keys = _top_keys(path)
    if looks_like_sheet(keys):
        return SHEET
    if {"baseline", "step"} & keys:
        return RULES
    return SWEEP if len(keys.intersection(SECTIONS)) * 2 > len(keys) else None


def _top_keys(path: str) -> set[str]:
    place = Path(path)
    if place.stat().st_size > _MOST_TOML_BYTES:
        return set()
    try:
        text = read_text(place)
        found = parse_json(text, path) if text.lstrip().startswith("{") else parse_toml(text, path)
    except ErtError:
        return set()
    return set(found) if isinstance(found, dict) else set()


def _kind_of_measurements(path: str) -> FileKind | None:
    """What the readers of ``ert compare`` recognise."""
    from ert.points.document import read_document  # noqa: PLC0415
    from ert.points.formats import FORMATS, recognise  # noqa: PLC0415

    try:
        name = recognise(read_document(path))
    except ErtError:
        return None
    if name is None:
        return None
    summary, to_compare = FORMATS[name].summary, "Try `ert compare CEILINGS {path}`."
    if name in _HOLD_CEILINGS:
        return FileKind("other ceilings", f"ceilings of another tool ({summary})", "Try `ert export {path} --to ert-json`.")
    if name in _HOLD_EITHER:
        return FileKind("other tool", f"a file of another tool ({summary})", to_compare)
    return FileKind("kernels", f"measurements of kernels ({summary})", to_compare)
