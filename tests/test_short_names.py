"""Long names of kernels made short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.short_names import short_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("saxpy", "saxpy"),
        ("void f(int)", "void f(int)"),  # has room
        ("void stencil<float, 3>(float const*, int)", "stencil<float, 3>"),
        ("void ns::apply<double>(double*, int) const", "ns::apply<double>"),
        ("solver (second pass of the smoother)", "solver (second pa...other)"),  # no arguments: a remark
        ("a\nb\x1b[31m", "a b [31m"),
        ("x" * 20 + "y" * 4000, "x" * 17 + "..." + "y" * 6),
    ],
)
def test_signatures_go_first_then_the_middle(name: str, expected: str):
    assert short_name(name, 26) == expected


@given(st.text(max_size=200), st.integers(8, 60))
def test_a_short_name_fits_on_one_line(name: str, longest: int):
    found = short_name(name, longest)
    assert len(found) <= longest
    assert all(c.isprintable() for c in found)
