"""Names of kernels where room is scarce: C++ signatures run to thousands of characters, and profilers write them out."""

from __future__ import annotations

import re

# The result of a kernel is always void, and its arguments rarely tell it from another.
_RESULT, _ARGUMENTS = re.compile(r"^void "), re.compile(r"(?<=[\w>])\([^()]*\)( const)?$")


def short_name(name: str, longest: int = 90) -> str:
    """On one line, at most ``longest`` (8 or more) characters: a signature loses result and arguments, then the middle gives way."""
    plain = "".join(c if c.isprintable() else " " for c in name)
    if len(plain) > longest:
        plain = _ARGUMENTS.sub("", _RESULT.sub("", plain))
    end = longest // 4
    return plain if len(plain) <= longest else f"{plain[: longest - end - 3]}...{plain[-end:]}"
