"""ert.files: whole or absent, strict JSON, errors with a place."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import ErtError, SchemaError
from ert.files import dump_json, is_stream, parse_json, read_json, write_bytes_atomic, write_json_atomic, write_text_atomic

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def fail(word):
    raise AssertionError(word)


@given(JSON)
def test_what_is_dumped_is_strict_json_and_comes_back(value):
    text = dump_json(value)
    assert json.loads(text, parse_constant=fail) == value
    assert parse_json(text, "x.json") == value


def test_numpy_values_become_json_numbers_and_large_integers_stay_whole():
    value = {"a": np.float64(1.5), "b": np.int64(2**53 + 1), "c": np.array([1, 2]), "d": np.bool_(True), "e": (1, None)}
    assert json.loads(dump_json(value)) == {"a": 1.5, "b": 2**53 + 1, "c": [1, 2], "d": True, "e": [1, None]}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.float64("-inf"), {1, 2}, object()])
def test_a_value_json_cannot_hold_is_refused_by_its_place_and_nothing_is_written(tmp_path, bad):
    target = tmp_path / "r.json"
    target.write_text("old")
    with pytest.raises(ErtError, match=r"\$\.rows\[1\]\.value"):
        write_json_atomic(target, {"rows": [1, {"value": bad}]})
    assert target.read_text() == "old"


def test_bytes_are_written_as_they_are(tmp_path):
    write_bytes_atomic(tmp_path / "new" / "x.png", b"\x89PNG\r\n\x00\xff")
    assert (tmp_path / "new" / "x.png").read_bytes() == b"\x89PNG\r\n\x00\xff"
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["x.png"]


def test_keys_keep_their_order():
    assert list(json.loads(dump_json({"z": 1, "a": 2}))) == ["z", "a"]


def test_a_new_file_has_the_mode_of_an_ordinary_one_and_an_old_one_keeps_its_own(tmp_path):
    plain, new, old = tmp_path / "plain", tmp_path / "new", tmp_path / "old"
    plain.write_text("")
    old.write_text("")
    old.chmod(0o640)
    write_text_atomic(new, "x")
    write_text_atomic(old, "x")
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_missing_folders_are_made_and_no_temporary_file_is_left(tmp_path):
    write_text_atomic(tmp_path / "a" / "b" / "c.txt", "µ\n")
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["c.txt"]
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == "µ\n".encode()


def test_a_folder_in_the_way_is_an_error_with_the_path_and_the_system_words(tmp_path):
    (tmp_path / "r.json").mkdir()
    with pytest.raises(ErtError, match=r"r\.json: cannot be written: Is a directory"):
        write_text_atomic(tmp_path / "r.json", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_a_full_disk_leaves_the_old_file_whole_and_no_temporary_one(tmp_path):
    target = tmp_path / "r.json"
    target.write_text('{"old": true}')
    program = (  # a limit on the file size stands in for the full disk
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "from ert.errors import ErtError; from ert.files import write_json_atomic\n"
        "try: write_json_atomic(sys.argv[1], list(range(10000)))\n"
        "except ErtError as error: print(error); sys.exit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{target}: cannot be written: File too large" in done.stdout
    assert target.read_text() == '{"old": true}'
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n "b": }', "line 2, column 7"),
        ("", "line 1, column 1: not valid JSON: the file is empty"),
        ('{"NaN \\" ": 1,\n "b": NaN}', "line 2, column 7: NaN is not JSON"),
        ("[1, -Infinity]", "line 1, column 5: -Infinity"),
        ('{"a": 1, "b": 2, "a": 3}', "'a' stands twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": 1,\n "b": 1e400}', "line 2, column 7: the number 1e400 is too large"),
        ('{"a": -1e999}', "line 1, column 7: the number -1e999 is too large"),
        ('{"a": 1' + "0" * 5000 + "}", "line 1, column 7: the number 10000000000000000000... (5001 characters) is too large"),
    ],
)
def test_bad_json_is_refused_with_file_and_place(tmp_path, text, place):
    path = tmp_path / "in.json"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        read_json(path)
    assert str(path) in str(caught.value)
    assert place in str(caught.value)


def test_a_missing_file_and_one_that_is_not_text_are_errors_with_the_path(tmp_path):
    with pytest.raises(ErtError, match=r"gone\.json: cannot be read: No such file"):
        read_json(tmp_path / "gone.json")
    (tmp_path / "b.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(SchemaError, match=r"b\.json: not UTF-8 text at byte 7"):
        read_json(tmp_path / "b.json")


def test_a_byte_order_mark_is_no_error(tmp_path):
    (tmp_path / "b.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "b.json") == {"a": 1}


def test_half_a_character_becomes_the_replacement_character_and_a_whole_one_stays(tmp_path):
    path = tmp_path / "in.json"
    path.write_text(r'{"a\ud83d": ["x \udcff y", "\ud83d\ude00", "\\ud800", 1]}')
    assert read_json(path) == {"a\ufffd": ["x \ufffd y", "\U0001f600", "\\ud800", 1]}


def test_a_name_that_is_no_utf_8_does_not_stop_the_writing(tmp_path):
    write_json_atomic(tmp_path / "r.json", {"file": b"caf\xe9.csv".decode("utf-8", "surrogateescape")})
    assert read_json(tmp_path / "r.json") == {"file": "caf?.csv"}


@given(st.integers(min_value=-(10**307), max_value=10**307) | st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_that_a_float_holds_is_read_as_it_was_written(number):
    assert parse_json(json.dumps(number), "x") == number


def test_devices_pipes_and_what_is_open_are_streams_and_what_lies_on_a_disk_or_in_memory_is_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    assert [is_stream(path) for path in ("/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", tmp_path / "pipe")] == [True] * 5
    assert [is_stream(path) for path in ("/dev/shm/file", tmp_path / "file", tmp_path / "none" / "file", "file")] == [False] * 4
