"""Whatever stands in a file: a reading that can be judged, or one explained error; never a traceback, never a lost kernel."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from example_gpu import EXAMPLE_GPU
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ncu_files import DRAM, FFMA, TIME, long, wide

from ert.compare import compare, to_json
from ert.errors import ErtError
from ert.points.document import Document, decode
from ert.points.formats import FORMATS, parse_points
from ert.points.ncu_layout import header_of

DATA = Path(__file__).parent / "data"
SAMPLES = {
    "ncu": wide({TIME: "ns", DRAM: "byte", FFMA: "inst"}, [("a, b", ["1,250,000", "8", "1"]), ("c", ["1", "n/a", "2"])]),
    "ncu_long": long([(0, "a", TIME, "us", "1.00"), (0, "a", DRAM, "Kbyte", "2.00"), (1, "b", TIME, "ns", "7")]),
    "csv": "name,time_s,precision,flops,dram_bytes\na,1,fp32,2,3\n",
    "json": json.dumps([{"name": "a", "time_s": 1, "flops": 2, "dram_bytes": 3}]),
    "pmc": "Kernel_Name,Start_Timestamp,End_Timestamp,SQ_INSTS_VALU_ADD_F32\nk,0,10,5\n",
    **{path.name: path.read_text() for path in sorted((DATA / "foreign").iterdir()) if path.suffix != ".md"},
}
PIECES = [
    '"',
    ",",
    "\n",
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "{",
    "]",
    ";",
    "\t",
    "x",
    "1.234",
    "1,234",
    "null",
    "\ufeff",
    "",
    "TABLE,",
    ": ",
]


@st.composite
def damaged_samples(draw: st.DrawFn) -> str:
    """A good file with a few pieces overwritten."""
    text = draw(st.sampled_from(sorted(SAMPLES.values())))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(st.sampled_from(PIECES)) + text[start + draw(st.sampled_from([0, 0, 1, 3, 30])) :]
    return text


@given(damaged_samples(), st.sampled_from(["auto", "auto", *FORMATS]))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_is_read_or_explained(text, format_name):
    with contextlib.suppress(ErtError):
        reading = parse_points(decode("file", text.encode()), format_name)
        json.loads(to_json(compare(EXAMPLE_GPU, [reading, reading])))


@given(st.binary(max_size=300), st.sampled_from(["auto", *FORMATS]))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_explained(data, format_name):
    with contextlib.suppress(ErtError):
        parse_points(decode("file", data), format_name)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_sample_is_recognised_and_survives_mixed_line_ends(name):
    text = SAMPLES[name]
    plain, other = (parse_points(decode("file", t.encode())) for t in (text, text.replace("\n", "\r\n")))
    assert plain == other
    assert plain.points or plain.witnesses


NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\0"), min_size=1, max_size=60)
COUNTS = st.integers(1, 10**12)


@given(
    st.lists(st.tuples(NAMES, COUNTS, st.one_of(st.none(), COUNTS), COUNTS), min_size=1, max_size=6), st.sampled_from([",.", ".,", "'."])
)
@settings(max_examples=200, deadline=None)
def test_no_kernel_of_an_ncu_file_is_lost_in_any_locale(launches, locale):
    """A surely grouped number decides the locale; each launch is a point or skipped, with its own numbers."""
    swap = str.maketrans(",.", locale)

    def printed(value: int | None) -> str:
        return "n/a" if value is None else f"{value:,}".translate(swap)

    rows = [(name, [printed(t), printed(d), printed(f), printed(1_000_000)]) for name, t, d, f in launches]
    reading = parse_points(decode("file", wide({TIME: "ns", DRAM: "byte", FFMA: "inst", "other.sum": "inst"}, rows).encode()))
    names = {name: [launch for launch in launches if launch[0] == name] for name, *_ in launches}
    assert {p.name: p.launches for p in reading.points} == {name: len(group) for name, group in names.items()}
    for point in reading.points:
        group = names[point.name]
        assert point.time_s == pytest.approx(sum(t for _, t, _, _ in group) * 1e-9)
        assert point.flops == {"fp32": 2 * sum(f for *_, f in group)}
        traffic = [d for _, _, d, _ in group]
        assert point.bytes["DRAM"] == (None if None in traffic else sum(d or 0 for d in traffic))


@given(st.text(max_size=80))
def test_any_line_is_a_header_or_not(line):
    found = header_of(line)
    assert found is None or "Kernel Name" in found[1]


def test_a_document_without_text_has_no_lines():
    assert list(Document("x", "").lines()) == []
