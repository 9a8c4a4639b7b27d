"""ert.progress: one line rewritten on a terminal, a line every tenth of the way elsewhere."""

from __future__ import annotations

import io

import pytest

from ert import progress
from ert.progress import StderrProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_a_line_every_tenth_and_nothing_to_draw_with():
    stream = io.StringIO()
    bar = StderrProgress("sweep x on cpu", stream)
    for step in range(101):
        bar.update(step / 100, 10 - step / 10, f"point {step}")
    bar.finish()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[0] == "sweep x on cpu:   0%, 10 s left  point 0"
    assert lines[5] == "sweep x on cpu:  50%, 5 s left  point 50"
    assert not any(c in stream.getvalue() for c in "\r\x1b")


def test_a_share_that_jumps_back_is_not_said_again():
    stream = io.StringIO()
    bar = StderrProgress("x", stream)
    for share in (0.5, 0.2, 0.55, 0.61):
        bar.update(share, None, "a")
    assert stream.getvalue().splitlines() == ["x:  50%  a", "x:  61%  a"]


def test_a_terminal_gets_one_line_that_is_cleared_in_the_end(monkeypatch):
    clock = iter([10.0, 10.01, 10.2])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    stream = Terminal()
    bar = StderrProgress("x", stream)
    for name in ("first", "too soon", "second"):
        bar.update(0.5, 3, name)
    bar.finish()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().split("\r\x1b[K") == ["", "x:  50%, 3 s left  first", "x:  50%, 3 s left  second", ""]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_a_long_point_does_not_fill_the_line(stream):
    StderrProgress("x", stream).update(0.1, None, "p" * 500)
    assert len(stream.getvalue()) < 100
