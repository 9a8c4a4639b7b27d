"""JSON <-> dataclasses: what is kept, what is refused, and how an error says where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.codec import decode, encode
from ert.errors import SchemaError
from ert.jsontypes import Json


@dataclass(frozen=True, slots=True)
class Inner:
    size: int
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    kind: Literal["a", "b"]
    pair: tuple[int, int] | None
    inners: tuple[Inner, ...] = ()
    counts: dict[str, int] | None = None
    facts: dict[str, Json] | None = None
    is_on: bool = False


FULL: dict[str, Json] = {
    "name": "x",
    "kind": "b",
    "pair": [1, 2],
    "inners": [{"size": 3, "ratio": 0.5}, {"size": 4, "ratio": None}],
    "counts": {"n": 1},
    "facts": {"any": [1, {"deep": None}]},
    "is_on": True,
}


def test_document_becomes_nested_objects_and_comes_back_the_same():
    found = decode(Outer, FULL, "f.json")
    assert found == Outer("x", "b", (1, 2), (Inner(3, 0.5), Inner(4)), {"n": 1}, {"any": [1, {"deep": None}]}, True)
    assert encode(found) == FULL
    assert list(FULL) == list(encode(found))


def test_unknown_keys_are_ignored_and_defaults_fill_absent_ones():
    assert decode(Outer, {"name": "x", "kind": "a", "pair": None, "colour": "red"}, "f") == Outer("x", "a", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "f.json: name: expected a text, found 3."),
        ({"kind": "c"}, "f.json: kind: 'c' is unknown; known: a, b."),
        ({"pair": [1]}, "f.json: pair: expected 2 items, found 1."),
        ({"pair": 5}, "f.json: pair: expected a list, found 5."),
        ({"inners": [{"size": 1}, {"size": 1.5}]}, "f.json: inners[1].size: expected a whole number, found 1.5."),
        ({"inners": [{}]}, "f.json: inners[0].size: missing."),
        ({"inners": [[]]}, "f.json: inners[0]: expected an object, found a list."),
        (
            {"inners": [{"size": 1, "ratio": float("nan")}]},
            "f.json: inners[0].ratio: nan is not a finite number; null says 'not measured'.",
        ),
        ({"inners": [{"size": 1, "ratio": True}]}, "f.json: inners[0].ratio: expected a number, found True."),
        ({"inners": [{"size": True}]}, "f.json: inners[0].size: expected a whole number, found True."),
        ({"counts": {"n": "1"}}, "f.json: counts.n: expected a whole number, found '1'."),
        ({"counts": []}, "f.json: counts: expected an object, found a list."),
        ({"is_on": 1}, "f.json: is_on: expected true or false, found 1."),
        ({"name": None}, "f.json: name: expected a text, found null."),
    ],
)
def test_error_names_document_and_key(change: dict[str, Json], message: str):
    with pytest.raises(SchemaError) as caught:
        decode(Outer, {**FULL, **change}, "f.json")
    assert str(caught.value) == message


def test_document_that_is_no_object_is_refused():
    with pytest.raises(SchemaError, match=r"f\.json: the document: expected an object, found a list\."):
        decode(Outer, [], "f.json")


@given(st.integers())
def test_whole_number_stays_whole_even_in_a_field_for_any_number(number: int):
    found = decode(Inner, {"size": number, "ratio": number}, "f")
    assert encode(found) == {"size": number, "ratio": number}
    assert type(found.ratio) is int


@given(st.integers(-(2**53), 2**53))
def test_whole_float_of_another_writer_is_a_whole_number(number: int):
    assert decode(Inner, {"size": float(number)}, "f") == Inner(number)
