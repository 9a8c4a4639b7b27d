"""Units as Nsight Compute has spelled them since 2019 -> factor to the SI base unit."""

from __future__ import annotations

import re
from functools import lru_cache

from ert.errors import AnalysisError

# ncu's prefixes are decimal: 32 KiB of shared memory is printed as 32.77 Kbyte.
_EXPONENTS = {"": 0, "K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "m": -3, "u": -6, "n": -9}
_BASES = "byte|bytes|B|second|sec|s|hz|Hz|cycle|inst|sector|request|thread|warp|block|register|bank|wavefront|tag"
_PART = re.compile(rf"^([KkMGTPmun]?)({_BASES})$")
_WHOLE = {"", "%", "1"}


@lru_cache(maxsize=1024)
def unit_factor(unit: str) -> float:
    """``unit_factor("Gbyte/s")`` -> 1e9, ``("usecond")`` -> 1e-6, ``("cycle/nsecond")`` -> 1e9, ``("%")`` -> 1.

    A sector stays a sector: only a metric that counts sectors knows that they are 32 bytes.
    Raises AnalysisError for a spelling it does not know.
    """
    return 10.0 ** _exponent(unit.strip())


def _exponent(unit: str) -> int:
    if unit in _WHOLE:
        return 0
    above, _, below = unit.partition("/")
    parts = [_PART.match(part.strip()) for part in (above, below or "s")]
    if parts[0] is None or parts[1] is None:
        raise AnalysisError(f"unit '{unit}' is not one that Nsight Compute prints. Export with `--print-units base`.")
    return _EXPONENTS[parts[0][1]] - (_EXPONENTS[parts[1][1]] if below else 0)


def is_count(unit: str) -> bool:
    """True where a sum has no fraction, so that a lone separator can only group thousands."""
    return unit.strip() in {"byte", "inst", "sector", "request", "thread", "warp", "block"}
