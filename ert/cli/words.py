"""The words of a command line before they mean anything: what no command takes, whatever its options are called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from ert.errors import ConfigError, UsageError
from ert.files import is_folder, is_ordinary_file, is_stream

# The parameters that name a file to write, a folder to write into, and a file to read.
OUTPUTS = ("json_path", "output", "junit_path", "prometheus_path", "events_path")
FOLDERS = ("out", "store")
INPUTS = ("ceilings", "points", "others", "base", "new", "file", "device_facts", "clocks", "names", "spec", "config", "resume", "rules")
# These may also be a name that ert knows, which goes before a file or folder of that name.
_NAMED = ("names", "spec", "config")
STANDARD = "-"
# With this format of `ert export` CEILINGS is a kind of file, and no file.
JSON_SCHEMA = "json-schema"


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter and its words as they stand in the command line (none for a flag)."""

    parameter: click.Parameter
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """``json_path``, ``ceilings``, as the command's function calls it."""
        return self.parameter.name or ""

    @property
    def label(self) -> str:
        """``--json``, ``CEILINGS``, as a person writes it."""
        if isinstance(self.parameter, click.Option):
            return next((text for text in self.parameter.opts if text.startswith("--")), self.parameter.opts[0])
        return (self.parameter.metavar or self.name.upper()).strip("[].")


@dataclass(frozen=True, slots=True)
class Words:
    """What a command was given, and the context that its usage errors show."""

    context: click.Context
    given: tuple[Given, ...]

    def of(self, names: Sequence[str]) -> Iterator[tuple[Given, str]]:
        """Every word of these parameters."""
        return ((each, word) for each in self.given if each.name in names for word in each.words)


def read_words(command: click.Command, name: str | None, arguments: Sequence[str], parent: click.Context) -> Words:
    """The words of one command. Raises click.UsageError for an option that it does not have."""
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    values, _, order = command.make_parser(context).parse_args(list(arguments))
    named = {parameter.name for parameter in order}
    given = [Given(p, _texts(values.get(p.name or ""))) for p in command.get_params(context)]
    return Words(context, tuple(each for each in given if each.words or each.name in named))


def _texts(value: object) -> tuple[str, ...]:
    """The words of one parameter; none for a flag, or what was not given."""
    if isinstance(value, str):
        return (value,)
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list | tuple) else ()


def check_words(words: Words) -> None:
    """Raises click.UsageError for a word that is empty, doubled, in two places at once, or a folder for a file."""
    for check in (_refuse_empty, _refuse_doubled, _refuse_shared_streams, _refuse_overwriting, _refuse_folders):
        if problem := check(words):
            raise click.UsageError(problem, words.context)


def _refuse_empty(words: Words) -> str | None:
    for each in words.given:
        # Where nothing said is an empty text, saying it is no slip.
        if any(not word.strip() for word in each.words) and each.parameter.default != "":
            return f"{each.label} is empty: give it a value, or leave it out."
    return None


def _refuse_doubled(words: Words) -> str | None:
    """Of parameters that take several words; of an option that takes one the last counts, as aliases and wrappers rely on."""
    for each in words.given:
        for word, count in Counter(each.words).items():
            if count > 1 and word != STANDARD:
                return f"{each.label} {word} is given {count} times. Give it once."
    return None


def _refuse_shared_streams(words: Words) -> str | None:
    writers = [each for each, word in words.of(OUTPUTS) if word == STANDARD]
    for each in writers:
        if not _takes_stdout(each.parameter):
            return f"{each.label} - does not mean standard output here, but a file called '-'. Name another file."
    if len(writers) > 1:
        return f"{' - and '.join(each.label for each in writers)} - cannot both have stdout. Write one of them to a file."
    if sum(word == STANDARD for _, word in words.of(INPUTS)) > 1:
        return "- is given more than once, and standard input can be read only once. Name a file."
    return None


def _takes_stdout(parameter: click.Parameter) -> bool:
    return "|-" in (parameter.metavar or "") or bool(getattr(parameter.type, "allow_dash", False))


def _refuse_overwriting(words: Words) -> str | None:
    """A file that takes the place of another, whatever both are called; devices and pipes take all that comes."""
    read = [(each, word) for each, word in words.of(INPUTS) if is_ordinary_file(word)]
    used = {place: each.label for each, word in read for place in (_place(word), os.path.realpath(word))}
    for each, word in words.of(OUTPUTS):
        if word == STANDARD or _takes_all(word):
            continue
        place = _place(word)
        if place in used:
            return f"{each.label} {word} would overwrite what {used[place]} names. Write to another file."
        used[place] = each.label
    return None


def _place(word: str) -> str:
    """Where a file of this name is put: a link of that name is replaced, and not what it leads to."""
    path = Path(word)
    return str(Path(os.path.realpath(path.parent)) / path.name)


def _takes_all(word: str) -> bool:
    with suppress(OSError):
        return is_stream(word)
    return False


def _refuse_folders(words: Words) -> str | None:
    asks_for_schema = any(word == JSON_SCHEMA for _, word in words.of(("format_name",)))
    names = {*_NAMED, "ceilings"} if asks_for_schema else _NAMED
    for each, word in words.of([*OUTPUTS, *(name for name in INPUTS if name not in names)]):
        if is_folder(word):
            return f"{each.label} {word} is a folder: name a file."
    for each, word in words.of(FOLDERS):
        if is_ordinary_file(word):
            return f"{each.label} {word} is a file: name a folder."
    return None


@contextmanager
def as_usage() -> Iterator[None]:
    """What the library refuses in here comes from the command line alone: wrong usage."""
    try:
        yield
    except ConfigError as error:
        raise UsageError(str(error)) from error
