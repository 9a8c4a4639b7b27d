"""The fenced blocks of README and docs: which command or file each shows, and what it must say. Run it to write them anew.

```console            the first line is "$ command", the rest what it prints on stdout: run from the project's folder
```console exit=3     the same, of a command that ends with this status
```console example    the same on some machine: never run again, but its command must exist
```toml PATH          the text of that file, or of a file of the reader's own

Commands find the nights of examples/nights.py in $ERT_STORE.
"""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from documents import PAGES, ROOT, environment, fill_store

_BLOCK = re.compile(r"^```(?P<kind>\w+)(?: (?P<about>[^\n]*))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = "exit="


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

    @property
    def is_example(self) -> bool:
        return self.about == "example"

    @property
    def status(self) -> int:
        """The exit status of a console block's command."""
        return int(self.about.removeprefix(_EXIT)) if self.about.startswith(_EXIT) else 0


def blocks(text: str) -> list[Block]:
    return [_block(match) for match in _BLOCK.finditer(text)]


def _block(match: re.Match[str]) -> Block:
    return Block(match["kind"], match["about"] or "", match["text"])


def renewed(text: str) -> str:
    """A page with the output of every command and the text of every shipped file as they are now."""
    return _BLOCK.sub(lambda match: _renew(_block(match), match[0]), text)


def _renew(block: Block, old: str) -> str:
    opening = old.split("\n", 1)[0]
    if block.command and not block.is_example:
        return f"{opening}\n$ {block.command}\n{run(block.command, block.status)}```"
    if block.about and (ROOT / block.about).is_file():
        return f"{opening}\n{(ROOT / block.about).read_text(encoding='utf-8')}```"
    return old


def run(command: str, status: int = 0) -> str:
    """What a command prints on stdout, without filling spaces and blank lines around. Raises CalledProcessError at another exit status."""
    store = {"ERT_STORE": str(_store())} if " history " in command or "ERT_STORE" in command else {}
    shell = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, cwd=ROOT, env=environment(**store), capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n") + "\n"


@cache
def _store() -> Path:
    """The nights, written once a process."""
    folder = Path(tempfile.mkdtemp(prefix="ert-nights-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return fill_store(folder)


def main() -> None:
    """Write every page anew that differs."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (new := renewed(text)) != text:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
