"""Files that are whole or absent: text and strict JSON, written beside the target and renamed onto it."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, cast

from ert.errors import ErtError, SchemaError
from ert.jsontypes import Json

StrPath = str | os.PathLike[str]
# A whole number of so many digits is still a finite float; none that is measured comes near it.
_MOST_DIGITS = 308
_SHOWN_DIGITS = 20
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def write_text_atomic(path: StrPath, text: str) -> None:
    """``write_bytes_atomic`` of the text as UTF-8; what no UTF-8 can hold (a file name in another encoding) becomes ``?``."""
    write_bytes_atomic(path, text.encode("utf-8", errors="replace"))


def write_bytes_atomic(path: StrPath, data: bytes) -> None:
    """Write ``data`` so that ``path`` holds either all of it or what it held before.

    The bytes go to a temporary file in the same folder, are flushed to the disk and renamed onto
    ``path``; missing folders are made. What ``is_stream`` is written into and never replaced. Raises
    ErtError with the path and the system's words, and leaves no temporary file behind.
    """
    target = Path(path)
    try:
        if is_stream(target):
            target.write_bytes(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_beside(target) as temporary:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
    except OSError as error:
        raise ErtError(f"{target}: cannot be written: {error.strerror or error}. {write_remedy(error)}") from error


def is_stream(path: StrPath) -> bool:
    """Whether a path names a device, a pipe, or what is open already: ``/dev/stdout`` may be an ordinary file behind a name of all."""
    target = Path(path)
    folder = Path(os.path.realpath(target.parent))
    return folder == Path("/dev") or folder.is_relative_to("/proc") or (target.exists() and not target.is_file())


def is_folder(path: StrPath) -> bool:
    """Whether a folder is there; False also for what nobody may look at, of which reading it says more."""
    with suppress(OSError):
        return Path(path).is_dir()
    return False


def is_ordinary_file(path: StrPath) -> bool:
    """Whether a file is there that is no pipe and no device; False also for what nobody may look at."""
    with suppress(OSError):
        return Path(path).is_file()
    return False


def write_remedy(error: OSError, other: str = "name another place") -> str:
    """What to try when a file could not be written; ``other``: how to put it elsewhere."""
    is_space = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
    return f"Free space there, or {other}." if is_space else f"{other[0].upper()}{other[1:]}."


@contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    """A new file in the target's folder (renaming is atomic only inside one file system), gone afterwards."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    os.fchmod(descriptor, _mode_for(target))
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _mode_for(target: Path) -> int:
    """The mode an ordinary ``open`` would leave: that of the old file, else what the umask allows (mkstemp makes 0600)."""
    with suppress(FileNotFoundError):
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def dump_json(value: object) -> str:
    """Strict JSON text with a final newline; keys keep the order they were given in.

    NumPy numbers become numbers and arrays lists. Raises ErtError naming the key of a value JSON
    cannot hold (NaN, infinity, an unknown type): what was not measured is null, with a reason beside it.
    """
    return json.dumps(_plain(value, "$"), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def write_json_atomic(path: StrPath, value: object) -> None:
    """``dump_json`` into ``path`` by ``write_text_atomic``; nothing is touched if the value is no JSON."""
    write_text_atomic(path, dump_json(value))


def _plain(value: object, where: str) -> Json:
    """The same value in JSON's own types; ``where`` is its path inside the document, for the error."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if hasattr(value, "tolist"):  # a NumPy scalar or array, without importing NumPy for it
        return _plain(value.tolist(), where)
    if isinstance(value, Sequence):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise ErtError(f"{where}: {value!r} cannot be written as JSON. Write null, and the reason beside it.")


def read_json(path: StrPath) -> Json:
    """A strict JSON file. Raises SchemaError naming file, line and column, or ErtError if it cannot be read."""
    return parse_json(read_text(path), str(path))


def read_text(path: StrPath) -> str:
    """A UTF-8 text file (a byte order mark is allowed). Raises ErtError with the path and the system's words."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ErtError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path}: not UTF-8 text at byte {error.start}. Save it as UTF-8.") from error


def parse_json(text: str, source: str) -> Json:
    """Strict JSON text from ``source``. Raises SchemaError naming source, line and column.

    NaN and Infinity (which Python's parser takes) and a key given twice are refused: JSON has neither. So is a number
    beyond what a float holds, which would become infinity later on. Half a character (a lone surrogate) becomes U+FFFD.
    """
    if not text.strip():
        raise SchemaError(f"{source}: line 1, column 1: not valid JSON: the file is empty. Was the disk full when it was written?")

    def refuse_constant(word: str) -> NoReturn:
        line, column = _position(text, word)
        raise SchemaError(f"{source}: line {line}, column {column}: {word} is not JSON. Write null for a value that was not measured.")

    def read_float(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refuse_size(digits)

    def read_int(digits: str) -> int:
        # Longer ones are beyond a float, and Python refuses to convert thousands of digits at all.
        return int(digits) if len(digits.lstrip("-")) <= _MOST_DIGITS else refuse_size(digits)

    def refuse_size(digits: str) -> NoReturn:
        line, column = _position(text, digits)
        shown = digits if len(digits) <= _SHOWN_DIGITS else f"{digits[:_SHOWN_DIGITS]}... ({len(digits)} characters)"
        raise SchemaError(
            f"{source}: line {line}, column {column}: the number {shown} is too large. Write null for a value that is not known."
        )

    def refuse_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
            raise SchemaError(f"{source}: the key '{twice}' stands twice in one object. Remove one.")
        return found

    try:
        value = json.loads(text, parse_constant=refuse_constant, parse_float=read_float, parse_int=read_int, object_pairs_hook=refuse_twice)
    except json.JSONDecodeError as error:
        raise SchemaError(f"{source}: line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}.") from error
    except RecursionError as error:
        raise SchemaError(f"{source}: nested too deeply to be a file of ert.") from error
    return _without_halves(value) if _ESCAPED_SURROGATE.search(text) else cast(Json, value)


def _without_halves(value: Json) -> Json:
    """The same value; half a character, which no file and no terminal can show, becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_halves(item) for item in value]
    if isinstance(value, dict):
        return {str(_without_halves(key)): _without_halves(item) for key, item in value.items()}
    return value


def _position(text: str, word: str) -> tuple[int, int]:
    """Line and column (from 1) of the first ``word`` outside a string; the decoder does not say where it stood."""
    inside, i = False, 0
    while i < len(text):
        if inside and text[i] == "\\":
            i += 1
        elif text[i] == '"':
            inside = not inside
        elif not inside and text.startswith(word, i):
            break
        i += 1
    return text.count("\n", 0, i) + 1, i - text.rfind("\n", 0, i)
