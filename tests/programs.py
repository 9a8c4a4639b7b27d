"""The ``ert`` program and its JSON Schemas, as tests of commands use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

from jsonschema import Draft202012Validator

PROGRAM = str(Path(sys.executable).with_name("ert"))


def ert(*arguments: object, cwd: Path | None = None, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program, with more variables in its environment."""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        input=stdin,
        env={**os.environ, **environment},
        check=False,
        timeout=300,
    )


def schema_of(name: str) -> dict[str, object]:
    """The shipped JSON Schema of a kind of file, itself checked."""
    schema = json.loads(resources.files("ert.schema").joinpath(f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return schema


def check_schema(document: object, name: str) -> None:
    schema = schema_of(name)
    Draft202012Validator(schema).validate(document)
