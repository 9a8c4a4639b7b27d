"""ert.units: decimal prefixes for rates, binary ones for capacities, and back again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import ConfigError
from ert.units import capacity, parse_quantity, with_prefix


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.31e12, "B/s", "4.31 TB/s"),
        (1e9, "B/s", "1 GB/s"),
        (999.96e6, "B/s", "1 GB/s"),  # not "1000 MB/s"
        (999.4e6, "B/s", "999.4 MB/s"),
        (0.0001, "s", "100 us"),
        (0, "s", "0 s"),
        (-2.5e9, "B/s", "-2.5 GB/s"),
        (2.4e-12, "s", "0.0024 ns"),
        (1.2345e22, "B/s", "12345 EB/s"),
        (1e300, "s", "1e+282 Es"),  # not three hundred digits
    ],
)
def test_rates_and_times_take_decimal_prefixes(value, unit, text):
    assert with_prefix(value, unit) == text


@pytest.mark.parametrize(("value", "text"), [(49152, "48 KiB"), (2**30, "1 GiB"), (1023, "1023 B"), (0, "0 B"), (3 * 2**40, "3 TiB")])
def test_capacities_take_binary_prefixes_and_say_so(value, text):
    assert capacity(value) == text


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1e10", "FLOP", 1e10),
        ("10G", "FLOP", 1e10),
        ("10GFLOP", "FLOP", 1e10),
        ("1GB", "B", 1e9),
        ("1 GiB", "B", 2**30),
        ("48 KiB", "B", 49152),
        ("2ms", "s", 0.002),
        ("2us", "s", 2e-6),
        ("2 µs", "s", 2e-6),
        ("1.5 TB/s", "B/s", 1.5e12),
        (".5", "s", 0.5),
        ("-3", "s", -3),
    ],
)
def test_quantities_are_read_as_people_write_them(text, unit, value):
    assert parse_quantity(text, unit) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2147483647", 2**31 - 1),
        ("2147483648", 2**31),
        ("2GiB", 2**31),
        ("4GiB", 2**32),
        ("4GB", 4 * 10**9),
        ("4G", 4 * 10**9),
        ("512MiB", 2**29),
        ("0.5GiB", 2**29),
        ("16KiB", 2**14),
        ("1e9", 10**9),
    ],
)
def test_sizes_around_32_bits_are_exact_to_the_byte(text, size):
    assert parse_quantity(text, "B") == size


@pytest.mark.parametrize("text", ["abc", "", "1_000", "0x10", "4GI B"])
def test_what_is_no_size_is_refused_with_examples(text):
    with pytest.raises(ConfigError, match=rf"'{text}' is not a quantity in B\. Examples: 1e10, 10G, 2\.5GB\."):
        parse_quantity(text, "B")


@pytest.mark.parametrize(("text", "clock_hz"), [("345 MHz", 345e6), ("345MHz", 345e6), ("345e6", 345e6)])
def test_a_clock_is_read_with_its_unit_and_without(text, clock_hz):
    assert parse_quantity(text, "Hz") == clock_hz


@pytest.mark.parametrize("text", ["N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "-1 W", "0 B"])
def test_words_and_other_units_in_place_of_a_clock_are_no_clock(text):
    with pytest.raises(ConfigError, match="is not a quantity in Hz"):
        parse_quantity(text, "Hz")


@pytest.mark.parametrize("text", ["", "fast", "1 mile", "nan", "inf", "1e999", "1e300E", "1 GiB/s", "1,5", "0x10", "1 2"])
def test_what_is_no_finite_quantity_is_refused_with_examples(text):
    with pytest.raises(ConfigError, match=r"is not a quantity in B/s\. Examples: 1e10"):
        parse_quantity(text, "B/s")


@given(st.floats(1e-9, 1e20), st.sampled_from(["B/s", "FLOP/s", "s", "Hz"]))
def test_what_is_printed_reads_back_to_four_digits(value, unit):
    assert math.isclose(parse_quantity(with_prefix(value, unit), unit), value, rel_tol=1e-3)


@given(st.floats(1e-9, 1e20))
def test_a_printed_number_never_shows_more_than_four_digits_or_three_before_the_point(value):
    number = with_prefix(value, "B/s").split(" ", maxsplit=1)[0]
    assert sum(c.isdigit() for c in number.split("e")[0].lstrip("0.")) <= 4
    assert 0 < float(number) < 1000.0 or value >= 1e21


@given(st.integers(0, 2**50))
def test_printed_capacities_read_back_to_four_digits(size):
    assert math.isclose(parse_quantity(capacity(size), "B"), size, rel_tol=1e-3, abs_tol=0)


@given(st.text(max_size=30), st.sampled_from(["B", "s", "FLOP", "B/s"]))
def test_any_text_gives_a_finite_number_or_a_config_error(text, unit):
    try:
        assert math.isfinite(parse_quantity(text, unit))
    except ConfigError as error:
        assert text in str(error)
