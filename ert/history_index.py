"""The store as tables: ``runs`` (one row a file) and ``ceilings`` (one row a ceiling of a run), in DuckDB.

Reading a file costs its size once; its row is kept in ``STORE/.index``, a Parquet file that anybody may delete.
"""

from __future__ import annotations

import datetime
import os
import secrets
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_type_hints

from ert.errors import ErtError
from ert.findings import Finding
from ert.history_rows import CeilingRow, RunRow, read_row, row_to_json
from ert.store import StoredFile, list_files

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The layout of the index; a change of RunRow or of how it is read needs another number.
_INDEX = Path(".index") / "runs-1.parquet"
_SQL_TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
# A run this far ahead of this machine's clock was made by a clock that was wrong.
_AHEAD = datetime.timedelta(days=1)
_VIEWS = """
CREATE VIEW ceilings AS
SELECT path, host, device, device_id, name, series, created, night, repeat_of, c.*
FROM runs, UNNEST(runs.ceilings) AS u(c) WHERE problem IS NULL
"""


# What `ert history list` asks.
DEVICES_SQL = """
SELECT device, host, arg_max(device_id, created) AS id, arg_max(name, created) AS name,
       count(DISTINCT night) AS nights, count(*) AS runs, min(night) AS first, max(night) AS last
FROM runs WHERE problem IS NULL GROUP BY device, host ORDER BY host, device
"""


@dataclass(frozen=True, slots=True)
class Index:
    """The tables, and what could not be read. ``night`` and ``created`` are DATE and TIMESTAMP, UTC."""

    connection: DuckDBPyConnection
    findings: tuple[Finding, ...]

    def query(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of a query of our own."""
        return self.connection.execute(sql, values).fetchall()


def open_index(store: Path, host: str | None = None, device: str | None = None) -> Index:
    """Tables of the whole store, or of one device. Raises ErtError if the folder cannot be read."""
    import duckdb  # noqa: PLC0415  (a third of a second that other commands save)

    files = list_files(store, host, device)
    connection = duckdb.connect(":memory:")
    connection.execute(f"CREATE TABLE runs ({_columns(RunRow)})")
    is_whole = host is None and device is None
    kept = _take_kept(connection, store / _INDEX, files) if is_whole else set()
    _read(connection, store, [file for file in files if (file.path, file.size, file.mtime_ns) not in kept])
    findings = list(_problems(connection))
    if is_whole and kept != _readable(connection):
        findings += _keep(connection, store / _INDEX)
    connection.execute("ALTER TABLE runs ALTER night TYPE DATE; ALTER TABLE runs ALTER created TYPE TIMESTAMP")
    findings += _drop_future(connection)
    connection.execute(_VIEWS)
    return Index(connection, tuple(findings))


def _columns(row: type) -> str:
    return ", ".join(f"{name} {_sql_type(hint)}" for name, hint in get_type_hints(row).items())


def _sql_type(hint: object) -> str:
    if hint is CeilingRow:
        return f"STRUCT({_columns(CeilingRow)})"
    if arguments := [a for a in get_args(hint) if a is not type(None)]:
        inner = _sql_type(arguments[0])
        return f"{inner}[]" if getattr(hint, "__origin__", None) is list else inner
    return _SQL_TYPES[hint]  # type: ignore[index]  # one of the four, or a KeyError while developing


def _take_kept(connection: DuckDBPyConnection, index: Path, files: Sequence[StoredFile]) -> set[tuple[str, int, int]]:
    """Take over the rows that an earlier call read, of files that are still there; returns all that the index held.

    A damaged index is made again.
    """
    import duckdb  # noqa: PLC0415

    if not index.exists():
        return set()
    try:
        connection.execute("INSERT INTO runs SELECT * FROM read_parquet(?)", [str(index)])
    except duckdb.Error:
        return set()
    kept = _readable(connection)
    stale = kept - {(file.path, file.size, file.mtime_ns) for file in files}
    if stale:
        connection.executemany("DELETE FROM runs WHERE path = ?", [[path] for path, _, _ in stale])
    return kept


def _readable(connection: DuckDBPyConnection) -> set[tuple[str, int, int]]:
    """(path, size, mtime) of the runs without a problem: the others may be read the next time, by a newer ert or from a mended disk."""
    return set(connection.execute("SELECT path, size, mtime_ns FROM runs WHERE problem IS NULL").fetchall())


def _read(connection: DuckDBPyConnection, store: Path, files: Iterable[StoredFile]) -> None:
    """Read files into ``runs``, by way of one file of JSON lines, which DuckDB takes in much faster than rows."""
    with tempfile.TemporaryDirectory(prefix="ert-index-") as folder:
        lines = Path(folder) / "runs.jsonl"
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(row_to_json(read_row(store, each)) + "\n" for each in files)
        if lines.stat().st_size:
            types = ", ".join(f"'{name}': '{_sql_type(hint)}'" for name, hint in get_type_hints(RunRow).items())
            connection.execute(
                f"INSERT INTO runs SELECT * FROM read_json('{_quoted(lines)}', format = 'newline_delimited', columns = {{{types}}}, "
                "maximum_object_size = 67108864)"
            )


def _keep(connection: DuckDBPyConnection, index: Path) -> list[Finding]:
    """Write the index for the next call, whole or not at all."""
    import duckdb  # noqa: PLC0415

    temporary = index.with_name(f".{index.name}-{secrets.token_hex(8)}")
    try:
        index.parent.mkdir(exist_ok=True)
        connection.execute(
            f"COPY (SELECT * FROM runs WHERE problem IS NULL ORDER BY path) TO '{_quoted(temporary)}' (FORMAT parquet, COMPRESSION zstd)"
        )
        os.replace(temporary, index)  # noqa: PTH105
    except (OSError, duckdb.Error) as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        return [Finding("index_not_kept", f"{index}: cannot be written ({_first_line(error)}); every call reads all files again")]
    return []


def _problems(connection: DuckDBPyConnection) -> Iterable[Finding]:
    for (problem,) in connection.execute("SELECT problem FROM runs WHERE problem IS NOT NULL ORDER BY path").fetchall():
        yield Finding("unreadable_run", f"{problem} The file is left out.", None, "move it out of the store once it is understood")


def _drop_future(connection: DuckDBPyConnection) -> list[Finding]:
    """A run from the future would make every other device of the store look silent."""
    limit = (datetime.datetime.now(datetime.UTC) + _AHEAD).replace(tzinfo=None)
    paths = connection.execute("SELECT path, created FROM runs WHERE created > ? ORDER BY path", [limit]).fetchall()
    connection.execute("DELETE FROM runs WHERE created > ?", [limit])
    return [
        Finding("run_from_the_future", f"{path}: made at {created} UTC, which is to come; left out", None, "check that host's clock")
        for path, created in paths
    ]


def run_sql(index: Index, sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Column names and rows of a person's own query; it cannot touch files. Raises ErtError with DuckDB's words."""
    import duckdb  # noqa: PLC0415

    index.connection.execute("SET enable_external_access = false")
    try:
        result = index.connection.execute(sql)
        return [str(column[0]) for column in result.description or ()], result.fetchall()
    except duckdb.Error as error:
        raise ErtError(f"--sql: {error}\nTables: runs ({_names(RunRow)}), ceilings (those of runs, and {_names(CeilingRow)}).") from error


def _names(row: type) -> str:
    return ", ".join(get_type_hints(row))


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
