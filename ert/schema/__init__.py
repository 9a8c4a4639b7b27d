"""JSON Schemas of the files ert writes: one file each, named by the word behind ``ert.`` in its ``schema``."""

from __future__ import annotations

from importlib import resources

from ert.errors import SchemaError
from ert.suggest import nearest

_SUFFIX = ".schema.json"


def schema_names() -> list[str]:
    """``ceilings``, ``fit``, ... in alphabetical order."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in resources.files(__name__).iterdir() if file.name.endswith(_SUFFIX))


def schema_text(name: str) -> str:
    """The JSON Schema of a kind of file, as shipped. Raises SchemaError naming the kinds there are."""
    known = schema_names()
    if name not in known:
        raise SchemaError(f"'{name}' is no kind of file that ert writes.{nearest(name, known)} There are: {', '.join(known)}.")
    return resources.files(__name__).joinpath(f"{name}{_SUFFIX}").read_text(encoding="utf-8")
