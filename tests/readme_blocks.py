"""The README's fenced blocks: which command or file each shows, and what it must say. Run it to write them anew.

```console            the first line is "$ command", the rest what it prints on stdout: run from the project's folder
```console example    the same on some machine: never run again, but its command must exist
```toml PATH          the text of that file, or of a file of the reader's own
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"^```(?P<kind>\w+)(?: (?P<about>[^\n]*))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """``about``: the words behind the language; ``text``: everything between the fences."""

    kind: str
    about: str
    text: str

    @property
    def command(self) -> str | None:
        """The command of a console block."""
        first = self.text.split("\n", 1)[0]
        return first.removeprefix("$ ") if self.kind == "console" else None

    @property
    def printed(self) -> str:
        """What a console block says the command prints."""
        return self.text.split("\n", 1)[1]


def blocks(text: str) -> list[Block]:
    return [_block(match) for match in _BLOCK.finditer(text)]


def _block(match: re.Match[str]) -> Block:
    return Block(match["kind"], match["about"] or "", match["text"])


def renewed(text: str) -> str:
    """The README with the output of every command and the text of every shipped file as they are now."""
    return _BLOCK.sub(lambda match: _renew(_block(match), match[0]), text)


def _renew(block: Block, old: str) -> str:
    opening = old.split("\n", 1)[0]
    if block.command and block.about != "example":
        return f"{opening}\n$ {block.command}\n{run(block.command)}```"
    if block.about and (ROOT / block.about).is_file():
        return f"{opening}\n{(ROOT / block.about).read_text(encoding='utf-8')}```"
    return old


def run(command: str) -> str:
    """What a command prints on stdout, without the spaces that fill table cells. Raises CalledProcessError if it fails."""
    folder = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
