"""JSON <-> frozen dataclasses: the type hint of a field is the only place that says what a file may hold.

Unknown keys are ignored, a field with a default may be absent, and every error names the key it is about.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Hashable
from functools import cache
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ert.errors import SchemaError
from ert.jsontypes import Json

T = TypeVar("T")
_Reader = Callable[[Json], object]
_MISSING = dataclasses.MISSING
_JSON_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


class _WrongError(Exception):
    """What is wrong, and the path to it, which grows on the way out (no path is built while all is well)."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text, self.path = text, path

    def inside(self, step: str) -> _WrongError:
        return _WrongError(self.text, step + self.path)


def decode(cls: type[T], value: Json, where: str) -> T:
    """A dataclass from its JSON object.

    Field types may be str, bool, int, float, Literal, X | None, tuple[X, ...], tuple[X, Y], dict[str, X],
    another dataclass, or dict[str, Json] for free facts. A whole number stays an int, also in a float field.
    ``where`` names the document. Raises SchemaError naming document and key.
    """
    try:
        return cast(T, _reader(cast(Hashable, cls))(value))
    except _WrongError as wrong:
        raise SchemaError(f"{where}: {wrong.path.lstrip('.') or 'the document'}: {wrong.text}.") from None


def encode(value: object) -> Json:
    """The JSON object of a dataclass: keys in the order of its fields, tuples as lists."""
    if dataclasses.is_dataclass(value):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    return cast(Json, value)


@cache
def _reader(hint: Hashable) -> _Reader:
    """The function that checks and converts one value of this type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _object_reader(hint)
    if origin is Literal:
        return _choice_reader(arguments)
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin is tuple:
        return _list_reader(arguments)
    if origin is dict:
        return _mapping_reader(arguments[1])
    if hint in (str, bool, int, float):
        return _scalar_reader(cast(type, hint))
    raise TypeError(f"{hint!r} is no type a file of ert can hold")


def _object_reader(cls: type) -> _Reader:
    hints = get_type_hints(cls)
    readers = [(f.name, _reader(hints[f.name]), f.default is _MISSING and f.default_factory is _MISSING) for f in dataclasses.fields(cls)]

    def read(value: Json) -> object:
        if not isinstance(value, dict):
            raise _WrongError(_expected("an object", value))
        found: dict[str, object] = {}
        for name, reader, required in readers:
            if name in value:
                try:
                    found[name] = reader(value[name])
                except _WrongError as wrong:
                    raise wrong.inside(f".{name}") from None
            elif required:
                raise _WrongError("missing", f".{name}")
        return cls(**found)

    return read


def _choice_reader(words: tuple[object, ...]) -> _Reader:
    def read(value: Json) -> object:
        if value not in words:
            raise _WrongError(f"{value!r} is unknown; known: {', '.join(map(str, words))}")
        return value

    return read


def _union_reader(members: tuple[object, ...]) -> _Reader:
    wanted = [m for m in members if m is not type(None)]
    if len(wanted) > 1:  # Json itself: anything goes
        return lambda value: value
    reader = _reader(wanted[0])
    return lambda value: None if value is None else reader(value)


def _list_reader(arguments: tuple[object, ...]) -> _Reader:
    any_length = arguments[-1] is Ellipsis
    item_reader = _reader(arguments[0])

    def read(value: Json) -> object:
        if not isinstance(value, list):
            raise _WrongError(_expected("a list", value))
        if not any_length and len(value) != len(arguments):
            raise _WrongError(f"expected {len(arguments)} items, found {len(value)}")
        items = []
        for index, item in enumerate(value):
            try:
                items.append(item_reader(item))
            except _WrongError as wrong:
                raise wrong.inside(f"[{index}]") from None
        return tuple(items)

    return read


def _mapping_reader(hint: Hashable) -> _Reader:
    item_reader = _reader(hint)

    def read(value: Json) -> object:
        if not isinstance(value, dict):
            raise _WrongError(_expected("an object", value))
        found = {}
        for key, item in value.items():
            try:
                found[key] = item_reader(item)
            except _WrongError as wrong:
                raise wrong.inside(f".{key}") from None
        return found

    return read


def _scalar_reader(wanted: type) -> _Reader:
    def read(value: Json) -> object:
        kind = type(value)
        if kind is wanted:
            if wanted is float and not math.isfinite(cast(float, value)):
                raise _WrongError(f"{value} is not a finite number; null says 'not measured'")
            return value
        if wanted is float and kind is int:
            return value
        # Other writers have only one kind of number: 4096.0 bytes are 4096 bytes.
        if wanted is int and isinstance(value, float) and value.is_integer():
            return int(value)
        raise _WrongError(_expected(_JSON_NAMES[wanted], value))

    return read


def _expected(what: str, value: Json) -> str:
    shown = repr(value) if isinstance(value, str | int | float) else _JSON_NAMES[type(value)]
    return f"expected {what}, found {shown[:60]}"
