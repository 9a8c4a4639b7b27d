"""The host's C compiler: find one, ask what it targets, compile kernels through assembly, keep what was compiled.

Every kernel is compiled to assembly first and assembled from that very text, so the code that
``ert.asmcheck`` counts is the code that runs.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from ert.errors import KernelError
from ert.findings import Finding
from ert.home import home_folder, is_in_missing_home
from ert.kernels import shared_sources

# -O2: gcc's -O3 adds unroll-and-jam, which fuses passes over a buffer. No auto-vectorizer: the kernels are vectors already.
FLAGS = ("-std=gnu11", "-O2", "-g0", "-fPIC", "-march=native", "-ffp-contract=fast", "-fno-tree-vectorize", "-fno-math-errno", "-Wall")
# zig's clang instruments undefined behaviour unless told not to.
CLANG_FLAGS = ("-fno-sanitize=undefined", "-Wno-pass-failed")
REMEDY = "Install gcc or clang, set CC, or `pip install 'ert-roofline[cc]'` for a compiler from a wheel."
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Compiler:
    """command: the words that start it; version: its first line of --version; macros: what it defines for this machine."""

    command: tuple[str, ...]
    version: str
    macros: frozenset[str]

    @property
    def flags(self) -> tuple[str, ...]:
        return FLAGS + (CLANG_FLAGS if "__clang__" in self.macros else ())

    @property
    def vector_bytes(self) -> int:
        """The widest vector register the compiler may use here."""
        return 64 if "__AVX512F__" in self.macros else 32 if "__AVX__" in self.macros else 16


def candidates(environment: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The compilers to try, in order; $CC alone if it is set. Raises KernelError if that is no command line."""
    try:
        if chosen := shlex.split(environment.get("CC", "")):
            return [tuple(chosen)]
    except ValueError as error:
        raise KernelError(f"CC={environment['CC']}: not a command line: {error}. {REMEDY}") from error
    found: list[tuple[str, ...]] = [(name,) for name in ("cc", "gcc", "clang") if shutil.which(name)]
    if importlib.util.find_spec("ziglang"):
        found.append((sys.executable, "-m", "ziglang", "cc"))
    return found


@cache
def find_compiler() -> Compiler:
    """The first compiler that works. Raises KernelError saying which were tried and what to install."""
    tried = []
    for command in candidates(os.environ):
        try:
            return ask_compiler(command)
        except KernelError as error:
            tried.append(f"{str(error).removesuffix('.')}.")
    where = "CC" if os.environ.get("CC") else "cc, gcc, clang, python -m ziglang cc"
    raise KernelError(f"No C compiler works (looked for {where}). {' '.join(tried)} {REMEDY}".replace("  ", " "))


def ask_compiler(command: tuple[str, ...]) -> Compiler:
    """Version and target macros of one compiler. Raises KernelError with its words if it does not run, or knows no macros."""
    version = _run([*command, "--version"], "does not run").splitlines() or ["unknown"]
    text = _run([*command, "-march=native", "-dM", "-E", "-x", "c", os.devnull], "cannot target this machine")
    macros = frozenset(line.split()[1] for line in text.splitlines() if line.startswith("#define ") and len(line.split()) > 1)
    if not macros:
        raise KernelError(f"{command[0]} is no C compiler: asked for the macros of this machine, it printed none.")
    return Compiler(command, version[0], macros)


def _run(command: Sequence[str], problem: str) -> str:
    name = " ".join(command[:4]) if "ziglang" in command else command[0]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False, env=_environment()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KernelError(f"{name} {problem}: {getattr(error, 'strerror', None) or error}.") from error
    if done.returncode:
        # Not stdout: what a program that is no compiler prints there is no reason.
        words = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
        raise KernelError(f"{name} {problem}: {' / '.join(words[:6])}")
    return done.stdout


def _environment() -> dict[str, str]:
    """English messages, and for zig a cache it can write."""
    environment = {**os.environ, "LC_ALL": "C"}
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache_folder()[0] / "zig"))
    return environment


@cache
def cache_folder() -> tuple[Path, Finding | None]:
    """Where compiled kernels are kept, and a warning if that is only a temporary folder."""
    wanted = _wanted_cache()
    try:
        if is_in_missing_home(wanted):
            raise FileNotFoundError(errno.ENOENT, "there is no home folder")
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted, None
    except OSError as error:
        message = f"the kernel cache {wanted} cannot be written ({error.strerror}); kernels are compiled again in every run"
        return _folder_of_this_run(), Finding("cache_not_writable", message, None, "set ERT_CACHE_DIR to a folder you can write")


def _wanted_cache() -> Path:
    if chosen := os.environ.get("ERT_CACHE_DIR"):
        return Path(chosen)
    try:
        return platformdirs.user_cache_path("ert")
    except RuntimeError:  # a user whom the system does not know, without HOME: a container under a number of its own
        return home_folder() / ".cache" / "ert"


def _folder_of_this_run() -> Path:
    """A temporary folder that goes with the process. Raises KernelError if there is no place for one either."""
    try:
        folder = tempfile.mkdtemp(prefix="ert-cache-")
    except OSError as error:
        raise KernelError(f"No folder to compile kernels in: {error.strerror or error}. Set ERT_CACHE_DIR or TMPDIR.") from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@dataclass(frozen=True, slots=True)
class Compiled:
    """One shared library and the assembly text it was made from."""

    library: Path
    assembly: str


def compile_source(compiler: Compiler, name: str, source: str, defines: Mapping[str, str]) -> Compiled:
    """``source`` (text of a .c file) -> library and assembly, from the cache if it was compiled before.

    Raises KernelError with the kernel, the compiler's words and what to try.
    """
    key = _key(compiler, source, defines)
    folder, _ = cache_folder()
    library, assembly = _files(folder, name, key)
    try:
        if not (library.exists() and assembly.exists()):
            _compile(compiler, name, source, defines, key)
        return Compiled(library, assembly.read_text(encoding="utf-8"))
    except OSError as error:
        raise KernelError(f"{name}: the kernel cache {folder} failed: {error.strerror}. Free space there, or set ERT_CACHE_DIR.") from error


def _files(folder: Path, name: str, key: str) -> tuple[Path, Path]:
    """The library and the assembly text of one compilation."""
    return folder / f"{name}-{key}.so", folder / f"{name}-{key}.s"


def _key(compiler: Compiler, source: str, defines: Mapping[str, str]) -> str:
    content = [compiler.version, *compiler.command, *compiler.flags, *sorted(compiler.macros), source, _headers()]
    content += [f"{k}={v}" for k, v in sorted(defines.items())]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()[:24]


@cache
def _headers() -> str:
    """The text of all shared headers: a change in one compiles everything again."""
    return "".join(text for name, text in shared_sources("cpu").items() if name.endswith(".h"))


def _compile(compiler: Compiler, name: str, source: str, defines: Mapping[str, str], key: str) -> None:
    """Both files appear whole or not at all; the library last, so that its presence means both are there."""
    library, assembly = _files(cache_folder()[0], name, key)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=f".{name}-") as scratch:
        folder = Path(scratch)
        (folder / f"{name}.c").write_text(source, encoding="utf-8")
        _write_headers(folder)
        words = [f"-D{key}={value}" for key, value in defines.items()]
        problem = f"could not compile kernel {name} ({' '.join(words)})"
        try:
            _run([*compiler.command, *compiler.flags, *words, "-S", str(folder / f"{name}.c"), "-o", str(folder / "out.s")], problem)
            _run([*compiler.command, "-shared", "-fPIC", str(folder / "out.s"), "-o", str(folder / "out.so"), "-lpthread"], problem)
        except KernelError as error:
            raise KernelError(f"{str(error).removesuffix('.')}. {_remedy_of(str(error), library.parent)}") from error
        (folder / "out.s").replace(assembly)
        (folder / "out.so").replace(library)


def _remedy_of(words: str, cache: Path) -> str:
    """What to try when a compiler has failed with these words."""
    if os.strerror(errno.ENOSPC) in words:
        return f"Free space in {cache}, or set ERT_CACHE_DIR."
    return "If the kernel is not at fault, set CC to another compiler."


def _write_headers(folder: Path) -> None:
    for name, text in shared_sources("cpu").items():
        if name.endswith(".h"):
            (folder / name).write_text(text, encoding="utf-8")


def compile_runtime(compiler: Compiler) -> Compiled:
    """The thread pool and sampler, which is no kernel and has no facts header. Raises KernelError as ``compile_source`` does."""
    # The header it shares with the kernels wants a type and a width; the runtime itself has no elements.
    return compile_source(compiler, "runtime", shared_sources("cpu")["runtime.c"], {"ERT_TYPE": "double", "ERT_VECTOR_BYTES": "16"})
