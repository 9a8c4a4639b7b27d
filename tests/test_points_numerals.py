"""Printed numbers of several locales, and text of several consoles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import AnalysisError
from ert.points.document import decode
from ert.points.numerals import decimal_evidence, is_ambiguous, is_missing, parse_number, whole_number_evidence


@pytest.mark.parametrize("text", ["27.595.520", "65,77", "1.234,5", "1234,567", "0,123", "1.234.567,89"])
def test_these_prove_a_decimal_comma(text):
    assert decimal_evidence(text) == "comma"


@pytest.mark.parametrize("text", ["1,250,000", "80.00", "1,234.5", "1234.567", "0.123", "12,34,567.5"])
def test_these_prove_a_decimal_point(text):
    assert decimal_evidence(text) == "point"


@pytest.mark.parametrize("text", ["117.344", "1,024", "42", "1e5", "", "n/a", "abc", "1 234"])
def test_these_prove_nothing(text):
    assert decimal_evidence(text) is None


def test_a_count_has_no_fraction_so_its_one_separator_groups_thousands():
    assert is_ambiguous("1.024") and whole_number_evidence("1.024") == "comma"
    assert is_ambiguous("1,024") and whole_number_evidence("1,024") == "point"


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1,600,000,000", "point", 1.6e9),
        ("27.595.520", "comma", 27595520.0),
        ("65,77", "comma", 65.77),
        ("117.344", "comma", 117344.0),
        ("117.344", "point", 117.344),
        ("12,34,567", "point", 1234567.0),
        ("1 234,5", "comma", 1234.5),
        ("1\u00a0234", "point", 1234.0),
        ("1\u202f234,5", "comma", 1234.5),
        ("1'234.5", "point", 1234.5),
        ("-1.5e-3", "point", -0.0015),
        (".5", "point", 0.5),
    ],
)
def test_numbers_are_read_by_the_decimal_sign_of_their_file(text, decimal, value):
    assert parse_number(text, decimal) == value


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("1,6", "point"),
        ("1.6", "comma"),
        ("1,2,3", "point"),
        ("abc", "point"),
        ("", "point"),
        ("1e999", "point"),
        ("0x10", "point"),
        ("1_000", "point"),
        ("٣", "point"),
    ],
)
def test_what_is_not_written_that_way_is_refused(text, decimal):
    with pytest.raises(ValueError, match=r"."):
        parse_number(text, decimal)


@pytest.mark.parametrize("text", ["n/a", "(!) n/a", "", "  ", "nan", "-nan", "inf", "+Inf", "nil", "N/A", "-"])
def test_words_for_missing_are_never_numbers(text):
    assert is_missing(text)


@given(st.integers(0, 10**15), st.integers(0, 99))
def test_every_locale_gives_back_the_number_it_printed(whole, cents):
    english = f"{whole:,}.{cents:02d}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert parse_number(english, "point") == parse_number(german, "comma") == float(f"{whole}.{cents:02d}")
    assert decimal_evidence(english) == "point"
    assert decimal_evidence(german) == "comma"


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_a_value_error(text):
    try:
        parse_number(text, "point")
    except ValueError:
        return
    assert any(c.isdigit() for c in text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_consoles_write_several_encodings_and_line_ends(encoding):
    found = decode("x", "Größe,µ\r\n1,2\rend\n".encode(encoding))
    assert found.text == "Größe,µ\n1,2\nend\n"
    assert [line for _, line in found.lines()] == ["Größe,µ", "1,2", "end"]


def test_another_code_page_is_read_and_said():
    found = decode("x.csv", "größe".encode("cp1252"))
    assert found.text == "größe"
    assert found.findings[0].code == "encoding"


@pytest.mark.parametrize("data", [b"NVR\0\1\2", b"\x1f\x8b\x08\0", b"\xff\xfea"])
def test_binary_files_are_refused_with_what_to_do(data):
    with pytest.raises(AnalysisError, match=r"x\.rep"):
        decode("x.rep", data)
