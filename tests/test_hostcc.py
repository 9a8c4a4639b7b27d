"""ert.hostcc: a compiler is found, asked and quoted; what it made is kept whole or not at all."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ert import hostcc
from ert.errors import KernelError
from ert.hostcc import Compiler, ask_compiler, cache_folder, candidates, compile_source, find_compiler

SOURCE = '#include "ert.h"\nuint64_t ert_kernel(const ert_work *work) { return work->passes; }\n'
DEFINES = {"ERT_TYPE": "double", "ERT_VECTOR_BYTES": "16"}


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A cache of this test's own, and nothing remembered of the compiler."""
    monkeypatch.setenv("ERT_CACHE_DIR", str(tmp_path / "cache"))
    cache_folder.cache_clear()
    find_compiler.cache_clear()
    yield tmp_path / "cache"
    cache_folder.cache_clear()
    find_compiler.cache_clear()


def script(folder: Path, body: str) -> str:
    path = folder / "mycc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_the_compiler_variable_is_the_only_candidate():
    assert candidates({"CC": "ccache gcc-12 -m64"}) == [("ccache", "gcc-12", "-m64")]
    assert candidates({"CC": "'/opt/my cc/bin/cc'"}) == [("/opt/my cc/bin/cc",)]


@pytest.mark.parametrize("value", ["", "   "])
def test_an_empty_compiler_variable_is_none(value, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == "gcc" else None)
    monkeypatch.setattr(hostcc.importlib.util, "find_spec", lambda _name: None)
    assert candidates({"CC": value}) == [("gcc",)]


def test_the_compiler_from_a_wheel_is_the_last_resort(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(hostcc.importlib.util, "find_spec", lambda name: object() if name == "ziglang" else None)
    assert candidates({}) == [(sys.executable, "-m", "ziglang", "cc")]


def test_on_an_empty_path_nothing_is_found_and_the_remedy_is_said(monkeypatch, fresh):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(hostcc.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(
        KernelError, match=r"No C compiler works \(looked for cc, gcc, clang, python -m ziglang cc\)\. Install gcc or clang"
    ):
        find_compiler()


def test_a_compiler_that_works_says_its_version_and_what_it_targets():
    compiler = find_compiler()
    assert compiler.version
    assert {"__x86_64__", "__aarch64__"} & compiler.macros
    assert compiler.vector_bytes in (16, 32, 64)
    assert "-march=native" in compiler.flags


@pytest.mark.parametrize(
    ("macros", "width"),
    [((), 16), (("__AVX__",), 32), (("__AVX__", "__AVX2__"), 32), (("__AVX__", "__AVX512F__"), 64), (("__ARM_NEON",), 16)],
)
def test_the_widest_vector_is_what_the_macros_say(macros, width):
    assert Compiler(("cc",), "", frozenset(macros)).vector_bytes == width


def test_clang_alone_gets_clangs_flags():
    assert "-fno-sanitize=undefined" in Compiler(("cc",), "", frozenset({"__clang__"})).flags
    assert "-fno-sanitize=undefined" not in Compiler(("cc",), "", frozenset()).flags


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo 'no licence' >&2; exit 3", "mycc does not run: no licence"),
        ("exit 3", "mycc does not run: exit code 3"),
        ("echo 'false (GNU coreutils) 9.1'; exit 1", "mycc does not run: exit code 1"),
        (
            '[ "$1" = --version ] && echo "cc 1" && exit 0; echo "unknown value native" >&2; exit 1',
            "cannot target this machine: unknown value",
        ),
    ],
)
def test_a_compiler_that_fails_is_quoted(tmp_path, body, said):
    with pytest.raises(KernelError, match=said):
        ask_compiler((script(tmp_path, body),))


def test_a_program_that_succeeds_and_compiles_nothing_is_no_compiler(tmp_path):
    with pytest.raises(KernelError, match="mycc is no C compiler: asked for the macros of this machine, it printed none"):
        ask_compiler((script(tmp_path, "exit 0"),))


def test_what_a_compiler_said_ends_before_the_remedy_begins(fresh, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", script(tmp_path, "exit 3"))
    with pytest.raises(KernelError, match=r"mycc does not run: exit code 3\. Install gcc or clang"):
        find_compiler()


def test_a_compiler_that_is_no_program_is_refused(tmp_path):
    (tmp_path / "cc").write_text("not a program")
    with pytest.raises(KernelError, match="cc does not run: Permission denied"):
        ask_compiler((str(tmp_path / "cc"),))


def test_what_was_compiled_is_taken_from_the_cache_the_second_time(fresh, monkeypatch):
    compiler = find_compiler()
    first = compile_source(compiler, "x", SOURCE, DEFINES)
    assert "ert_kernel" in first.assembly

    def refuse(*_arguments, **_more):
        raise AssertionError("compiled again")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert compile_source(compiler, "x", SOURCE, DEFINES) == first


@pytest.mark.parametrize("change", ["source", "defines", "version"])
def test_anything_that_changes_the_code_is_compiled_anew(fresh, change):
    compiler = find_compiler()
    before = compile_source(compiler, "x", SOURCE, DEFINES)
    after = compile_source(
        Compiler(compiler.command, "another", compiler.macros) if change == "version" else compiler,
        "x",
        SOURCE + "\n/* */\n" if change == "source" else SOURCE,
        {**DEFINES, "ERT_MORE": "1"} if change == "defines" else DEFINES,
    )
    assert after.library != before.library


def test_a_kernel_that_does_not_compile_is_quoted_with_its_macros_and_leaves_nothing(fresh):
    with pytest.raises(KernelError, match=r"could not compile kernel bad \(-DERT_TYPE=double -DERT_VECTOR_BYTES=16\): .*error"):
        compile_source(find_compiler(), "bad", "int x = ;\n", DEFINES)
    assert not list(fresh.glob("*bad*"))


def test_a_library_without_its_assembly_is_made_again(fresh):
    compiler = find_compiler()
    first = compile_source(compiler, "x", SOURCE, DEFINES)
    next(fresh.glob("x-*.s")).unlink()
    assert compile_source(compiler, "x", SOURCE, DEFINES) == first


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nowhere", "/dev/null/deeper"])
def test_a_cache_that_cannot_be_written_is_a_warning_and_a_temporary_folder(fresh, monkeypatch, place):
    monkeypatch.setenv("ERT_CACHE_DIR", place)
    folder, finding = cache_folder()
    assert folder.parent == Path(tempfile.gettempdir())
    assert finding is not None
    assert finding.code == "cache_not_writable"
    assert place in finding.message
    assert "ERT_CACHE_DIR" in (finding.remedy or "")


@pytest.mark.parametrize("home", ["not/there", None], ids=["missing", "nobody knows it"])
def test_no_home_is_made_for_a_cache(fresh, monkeypatch, tmp_path, home):
    for name in ("ERT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    if home:
        monkeypatch.setenv("HOME", str(tmp_path / home))
    else:  # a container that runs under a number of its own
        monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    folder, finding = cache_folder()
    assert folder.parent == Path(tempfile.gettempdir())
    assert finding is not None
    assert "cannot be written (there is no home folder)" in finding.message
    assert list(tmp_path.iterdir()) == []


def test_without_any_folder_to_compile_in_it_says_what_to_set(fresh, monkeypatch):
    monkeypatch.setenv("ERT_CACHE_DIR", "/dev/null")
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/nowhere")
    with pytest.raises(KernelError, match=r"No folder to compile kernels in: .*Set ERT_CACHE_DIR or TMPDIR"):
        cache_folder()


def test_a_cache_that_vanishes_is_an_error_that_names_it(fresh):
    compiler = find_compiler()
    shutil.rmtree(fresh)
    with pytest.raises(KernelError, match=rf"x: the kernel cache {fresh} failed: No such file or directory"):
        compile_source(compiler, "x", SOURCE, DEFINES)


def test_messages_are_english_whatever_the_language(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(KernelError, match="No such file or directory"):
        ask_compiler((str(Path(os.sep) / "nowhere" / "cc"),))


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("internal compiler error: out of ideas", "If the kernel is not at fault, set CC to another compiler."),
        ("x.c:1: fatal error: error writing to out.s: No space left on device", "Free space in {cache}, or set ERT_CACHE_DIR."),
    ],
)
def test_a_compiler_that_fails_on_a_kernel_is_quoted_with_what_to_try(fresh, tmp_path, words, remedy):
    works = shlex.join(find_compiler().command)
    path = script(tmp_path, f'case "$*" in *-S*) echo "{words}" >&2; exit 4;; esac; exec {works} "$@"')
    with pytest.raises(KernelError) as caught:
        compile_source(ask_compiler((path,)), "x", SOURCE, DEFINES)
    said = str(caught.value)
    assert said.startswith(f"{path} could not compile kernel x (-DERT_TYPE=double -DERT_VECTOR_BYTES=16): {words}. ")
    assert said.endswith(remedy.format(cache=fresh))
    assert not list(fresh.glob("x-*"))
