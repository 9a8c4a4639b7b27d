"""A table of a TOML or JSON file that is read strictly: every complaint names file, line and field."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from ert.errors import ConfigError

# A string of TOML or JSON, or one bracket; scanning by these never mistakes a brace inside a string for a table.
_TOKEN = re.compile(r'"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[{}\[\]]')


@dataclass(frozen=True, slots=True)
class StrictTable:
    """The values of one table, and where its text stands.

    file   as the user named it;  label  what the table is, ``number 3``, empty for the whole file
    start, end  the stretch of ``text`` to look for its keys in
    """

    file: str
    label: str
    values: Mapping[str, object]
    text: str
    start: int
    end: int

    def refuse(self, field: str, problem: str) -> ConfigError:
        """The error for a field: ``sheet.toml, line 7: compute 2: precision: ...``."""
        label = f"{self.label}: " if self.label else ""
        return ConfigError(f"{self.file}, line {self._line(self._position(field))}: {label}{field}: {problem}")

    def check_keys(self, known: Set[str], required: Set[str] = frozenset()) -> None:
        """Every key is known, every required one is there."""
        if missing := sorted(required - set(self.values)):
            raise self.refuse(missing[0], "is missing.")
        if unknown := sorted(set(self.values) - known):
            raise self.refuse(unknown[0], f"is unknown. Known: {', '.join(sorted(known))}.")

    def string(self, field: str) -> str:
        """A text that is not empty."""
        value = self.values.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self.refuse(field, f"must be a text, not {value!r}.")
        return value

    def optional_string(self, field: str) -> str | None:
        """A text, or None where the field is not there."""
        return self.string(field) if field in self.values else None

    def pattern(self, field: str) -> str:
        """A regular expression."""
        text = self.string(field)
        try:
            re.compile(text)
        except re.error as error:
            raise self.refuse(field, f"is not a regular expression: {error}.") from error
        return text

    def choice(self, field: str, known: tuple[str, ...]) -> str:
        """One of a few words."""
        value = self.string(field)
        if value not in known:
            raise self.refuse(field, f"{value!r} is unknown. Known: {', '.join(known)}.")
        return value

    def positive(self, field: str) -> float:
        """A finite number above 0."""
        return self.as_number(field, self.values.get(field))

    def whole(self, field: str) -> int:
        """A whole number above 0."""
        number = self.positive(field)
        if number != int(number):
            raise self.refuse(field, f"must be a whole number, not {number!r}.")
        return int(number)

    def as_number(self, field: str, value: object, *, may_be_zero: bool = False) -> float:
        """``value`` of ``field`` as a finite number above 0 (or 0 where that is allowed)."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        if isinstance(value, int | float) and is_number and (value > 0 or (may_be_zero and value == 0)):
            return float(value)
        raise self.refuse(field, f"must be a {'non-negative' if may_be_zero else 'positive'} number, not {value!r}.")

    def sequence(self, field: str) -> list[object]:
        """A list with something in it."""
        value = self.values.get(field)
        if not isinstance(value, list) or not value:
            raise self.refuse(field, f"must be a list, not {value!r}.")
        return value

    def strings(self, field: str) -> tuple[str, ...]:
        """A list of texts."""
        found = self.sequence(field)
        texts = tuple(text for text in found if isinstance(text, str) and text.strip())
        if len(texts) != len(found):
            raise self.refuse(field, "must hold texts only.")
        return texts

    def table(self, field: str) -> StrictTable:
        """The table inside this one."""
        value = self.values.get(field)
        if not isinstance(value, dict):
            raise self.refuse(field, f"must be a table, not {value!r}.")
        label = f"{self.label}: {field}" if self.label else field
        return StrictTable(self.file, label, value, self.text, self._position(field), self.end)

    def tables(self, field: str) -> Iterator[StrictTable]:
        """The tables of a list, ``[[field]]`` or ``field = [{...}]``; labelled ``field 1``, ``field 2``."""
        entries = self.sequence(field)
        starts = self._item_positions(field, len(entries))
        for i, entry in enumerate(entries):
            inner = StrictTable(
                self.file, f"{field} {i + 1}", entry if isinstance(entry, dict) else {}, self.text, starts[i], starts[i + 1]
            )
            if not isinstance(entry, dict):
                raise self.refuse(field, "must be a list of tables.")
            yield inner

    def _position(self, field: str) -> int:
        """Where the key stands, or the table it is missing from."""
        key = re.compile(rf"""(?:^|(?<=[\s{{\[,.'"])){re.escape(field)}["']?\s*[=:\].]""", re.MULTILINE)
        found = key.search(self.text, self.start, self.end)
        return found.start() if found else self.start

    def _line(self, position: int) -> int:
        # A table may start with the newline before its header.
        return self.text.count("\n", 0, position) + 1

    def _item_positions(self, field: str, count: int) -> list[int]:
        """Where each item starts, and where the last one ends."""
        headers = [m.start() for m in re.finditer(rf"^\[\[{re.escape(field)}\]\]", self.text, re.MULTILINE)]
        starts = headers if len(headers) == count else self._brace_positions(self._position(field), count)
        return [*starts, self.end] if len(starts) == count else [self.start] * count + [self.end]

    def _brace_positions(self, start: int, count: int) -> list[int]:
        depth, found = 0, []
        for token in _TOKEN.finditer(self.text, start, self.end):
            if token[0] == "{":
                depth += 1
                if depth == 1:
                    found.append(token.start())
            elif token[0] == "}":
                depth -= 1
        return found[:count]


def _quoted(text: str, complaint: str) -> str:
    """The line a complaint of tomllib is about: it says where, but not which key."""
    where = re.search(r"\(at line (\d+)", complaint)
    return f": {text.splitlines()[int(where[1]) - 1].strip()}" if where else ""


def parse_toml(text: str, file: str) -> dict[str, object]:
    """The values of a TOML text. Raises ConfigError with the line where it is no TOML or holds a key twice."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or brackets without end, are no TOMLDecodeError
        raise ConfigError(f"{file}: not valid TOML: {error}{_quoted(text, str(error))}.") from error


def parse_toml_table(text: str, file: str) -> StrictTable:
    """A whole TOML file. Raises ConfigError as ``parse_toml`` does."""
    return StrictTable(file, "", parse_toml(text, file), text, 0, len(text))


def is_whole(value: object) -> bool:
    """TOML's booleans are Python integers, too, but no numbers."""
    return isinstance(value, int) and not isinstance(value, bool)
