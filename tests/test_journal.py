"""ert.journal: what was measured is on disk line by line; a stop at any byte loses at most the last visit."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.devices.base import Sample
from ert.errors import ErtError, SchemaError
from ert.journal import Journal, Visit, read_journal

HEADER = {"created": "2026-12-01T02:00:00Z", "device": {"id": "fake"}}
TIMES = st.floats(1e-9, 1e3)
SAMPLES = st.builds(
    Sample,
    time_s=TIMES,
    clock_hz=st.none() | st.floats(1e6, 1e10),
    issue_width=st.none() | st.floats(0, 8),
    power_w=st.none() | st.floats(0, 1000),
    throttled=st.lists(st.sampled_from(["sw_power_cap", "hw_slowdown"]), unique=True).map(tuple),
)
MEASURED = st.builds(
    Visit,
    id=st.text(min_size=1, max_size=20),
    working_set_bytes=st.none() | st.integers(0, 2**60),
    flops=st.floats(0, 1e18),
    bytes=st.floats(0, 1e18),
    repeats=st.integers(1, 2**40),
    samples=st.lists(SAMPLES, min_size=1, max_size=3).map(tuple),
)
FAILED = st.builds(
    Visit, id=st.text(min_size=1, max_size=20), status=st.sampled_from(["error", "unsupported"]), reason=st.text(max_size=20)
)
VISITS = st.lists(MEASURED | FAILED, max_size=5)


def written(path: Path, visits: list[Visit]) -> bytes:
    path.unlink(missing_ok=True)
    journal = Journal.create(path, HEADER)
    for visit in visits:
        journal.record(visit)
    journal.sync()
    journal.close()
    return path.read_bytes()


@given(VISITS)
def test_what_was_recorded_is_read_back(tmp_path_factory, visits):
    path = tmp_path_factory.getbasetemp() / "round-trip.points.jsonl"
    content = written(path, visits)
    recording = read_journal(path)
    assert recording.visits == tuple(visits)
    assert recording.header["device"] == {"id": "fake"}
    assert recording.findings == ()
    assert recording.end_of_good_lines == len(content)


@settings(max_examples=5)
@given(st.lists(MEASURED | FAILED, min_size=1, max_size=2))
def test_a_file_cut_at_any_byte_loses_only_the_visit_it_was_cut_in(tmp_path_factory, visits):
    path = tmp_path_factory.getbasetemp() / "cut.points.jsonl"
    content = written(path, visits)
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for size in range(ends[0], len(content) + 1):
        path.write_bytes(content[:size])
        recording = read_journal(path)
        whole = sum(end <= size for end in ends) - 1
        assert recording.visits == tuple(visits[:whole])
        assert bool(recording.findings) == (size not in ends)
        assert recording.end_of_good_lines == max(end for end in ends if end <= size)


def test_fourteen_points_are_read_and_the_torn_fifteenth_is_dropped_with_a_message(tmp_path):
    path = tmp_path / "partial.points.jsonl"
    visits = [Visit(f"read/{2**n}", working_set_bytes=2**n, repeats=1, bytes=2.0**n, samples=(Sample(2e-4),)) for n in range(14, 28)]
    written(path, visits)
    with path.open("a") as file:
        file.write('{"id":"read/2684')
    recording = read_journal(path)
    assert len(recording.visits) == 14
    (finding,) = recording.findings
    assert finding.code == "torn_line_dropped"
    assert "line 16 is torn (the run was stopped while writing it); its point is measured again" in finding.message


def test_a_reopened_journal_goes_on_behind_the_last_whole_line(tmp_path):
    path = tmp_path / "again.points.jsonl"
    first, second = Visit("a", "error", "why"), Visit("b", "error", "why")
    written(path, [first])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id":"torn')
    journal = Journal.reopen(path, read_journal(path).end_of_good_lines, "2026-12-02T00:00:00Z")
    journal.record(second)
    journal.close()
    recording = read_journal(path)
    assert recording.visits == (first, second)
    assert recording.resumed == ("2026-12-02T00:00:00Z",)
    assert recording.findings == ()


def test_every_line_is_in_the_file_before_the_call_returns(tmp_path):
    path = tmp_path / "now.points.jsonl"
    journal = Journal.create(path, HEADER)
    journal.record(Visit("a", "error", "why"))
    assert path.read_text().count("\n") == 2
    journal.close()


def visit_line(time_s: str, clock: str = "null") -> bytes:
    """A journal of one visit with these words in its one sample, and a line behind it, so that it is not the torn last one."""
    visit = '{"id":"a","working_set_bytes":1,"flops":1,"bytes":1,"repeats":1,"samples":[{"time_s":%s,"clock_hz":%s}]}'
    return ('{"schema":"ert.points","schema_version":1}\n' + visit % (time_s, clock) + '\n{"resumed":"x"}\n').encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no whole line, so nothing can be resumed"),
        (b'{"schema":"ert.points"', "holds no whole line"),
        (b'{"schema":"ert.ceilings","schema_version":1}\n', "not a journal of a sweep: schema is 'ert.ceilings'"),
        (b'{\n "schema": "ert.ceilings"\n}\n', "line 1 is not JSON"),
        (b"[1]\n", "line 1 is not a JSON object"),
        (b'{"schema":"ert.points","schema_version":2}\n', "written in schema version 2; this ert knows versions up to 1"),
        (b'{"schema":"ert.points"}\n', "written in schema version None"),
        (b'{"schema":"ert.points","schema_version":1}\n{"id":"a"}\n', "line 2: not a visit of a point"),
        (b'{"schema":"ert.points","schema_version":1}\n{"id":"a","samples":[{"speed":1}]}\n{}\n', "line 2: not a visit of a point"),
        (visit_line("null"), "line 2: not a visit of a point: time_s: expected a number, found null"),
        (visit_line("0"), "line 2: not a visit of a point: a sample is not above 0 s"),
        (visit_line("1e-3", clock="[]"), "line 2: not a visit of a point: clock_hz: expected a number"),
        (visit_line("1e-3", clock="9" * 400), "line 2 is not JSON"),
        (visit_line("NaN"), "line 2 is not JSON"),
        (b'{"schema":"ert.points","schema_version":1}\n' + b"[" * 100_000 + b"\n{}\n", "line 2 is not JSON"),
        (b'{"schema":"ert.points","schema_version":1}\nrubbish\n{}\n', "line 2 is not JSON. The file was changed by something else"),
        (b'{"schema":"ert.points","schema_version":1}\n\xff\xfe\n{}\n', "line 2 is not JSON"),
    ],
)
def test_what_is_no_journal_is_refused_with_file_and_line(tmp_path, content, said):
    path = tmp_path / "bad.points.jsonl"
    path.write_bytes(content)
    with pytest.raises(SchemaError) as caught:
        read_journal(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


@given(st.binary(max_size=80))
def test_any_bytes_behind_the_header_are_read_or_refused(tmp_path_factory, tail):
    path = tmp_path_factory.getbasetemp() / "fuzzed.points.jsonl"
    path.write_bytes(b'{"schema":"ert.points","schema_version":1}\n' + tail)
    try:
        recording = read_journal(path)
    except SchemaError as error:
        assert str(path) in str(error)
    else:
        assert recording.end_of_good_lines <= 43 + len(tail)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.points.jsonl", tmp_path):
        with pytest.raises(ErtError, match="cannot be read"):
            read_journal(path)


def test_an_existing_journal_is_never_overwritten(tmp_path):
    path = tmp_path / "there.points.jsonl"
    content = written(path, [])
    with pytest.raises(ErtError, match="exists already: another sweep writes there"):
        Journal.create(path, HEADER)
    assert path.read_bytes() == content


@pytest.mark.parametrize("place", ["/proc/ert", "/dev/null", "/dev/null/deeper"])
def test_a_folder_that_cannot_be_made_is_named_with_the_option(place):
    with pytest.raises(ErtError, match=rf"{place}: cannot be written: .*--out"):
        Journal.create(Path(place) / "x.points.jsonl", HEADER)


def test_a_full_disk_is_an_error_with_the_path():
    # /dev/full is a disk without a free byte: opening succeeds, every write fails with ENOSPC.
    full = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115  (closing the text layer would try to write again)
    journal = Journal(Path("/dev/full"), io.TextIOWrapper(io.BufferedWriter(full), encoding="utf-8"))
    with pytest.raises(ErtError, match=r"/dev/full: cannot be written: No space left on device\. Free space there, or .*--out"):
        journal.append({"id": "a"})
    full.close()


def test_a_file_size_limit_is_an_error_and_what_was_whole_is_read_back(tmp_path):
    path = tmp_path / "limited.points.jsonl"
    program = """if True:
        import resource, sys
        from pathlib import Path
        from ert.devices.base import Sample
        from ert.errors import ErtError
        from ert.journal import Journal, Visit
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        journal = Journal.create(Path(sys.argv[1]), {"created": "now"})
        for number in range(100):
            try:
                journal.record(Visit(f"point {number}", repeats=1, samples=(Sample(1e-4),) * 3))
            except ErtError as error:
                print(number, error)
                break
    """
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    number, _, said = done.stdout.partition(" ")
    assert "cannot be written: File too large. Free space there, or choose another folder with --out." in said
    assert len(read_journal(path).visits) == int(number)
    assert done.stderr == ""


def test_samples_are_written_without_what_was_not_measured(tmp_path):
    path = tmp_path / "short.points.jsonl"
    content = written(path, [Visit("a", repeats=1, samples=(Sample(2e-4, clock_hz=3e9),))])
    assert json.loads(content.splitlines()[1])["samples"] == [{"time_s": 2e-4, "clock_hz": 3e9}]


def test_a_removed_journal_is_gone_and_removing_twice_is_no_error(tmp_path):
    path = tmp_path / "gone.points.jsonl"
    journal = Journal.create(path, HEADER)
    journal.remove()
    journal.remove()
    assert not path.exists()


def test_a_journal_whose_header_cannot_be_written_leaves_no_file(tmp_path):
    program = (  # a limit on the file size stands in for the full disk
        "import resource, signal, sys; from pathlib import Path; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from ert.errors import ErtError; from ert.journal import Journal\n"
        "try: Journal.create(Path(sys.argv[1]), {'created': 'x'})\n"
        "except ErtError as error: print(error); sys.exit(1)\n"
    )
    path = tmp_path / "new.points.jsonl"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{path}: cannot be written: File too large. Free space there, or choose another folder with --out." in done.stdout
    assert list(tmp_path.iterdir()) == []
