"""A verification as a table for a terminal and as JSON. Nothing here prints; the command line does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.codec import encode
from ert.jsontypes import Json
from ert.precisions import PRECISIONS
from ert.verify import VariantReport, Verification

_STYLES = {"ok": "", "failed": "bold red"}
# Instruction classes of CUDA kernels stand for themselves.
_NAMES = {"bytes_loaded": "B loaded", "bytes_stored": "B stored"}


def verification_report(verification: Verification) -> RenderableType:
    """One line per variant that can run: what one trip declares, what was counted in the compiled code, whether it is right."""
    heading = Text(f"{verification.device_kind} kernels for {verification.target}, compiled by {verification.compiler}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name in ("kernel", "precision", "parameters", "declared per trip", "counted", "verdict"):
        table.add_column(name, no_wrap=name in ("kernel", "precision", "verdict"), overflow="fold")
    for v in (v for v in verification.variants if v.status != "unsupported"):
        names = {**_NAMES, "flops": "FLOP" if PRECISIONS[v.precision].is_float else "OP"}
        cells = (v.kernel, v.precision, _parameters(v.parameters), _counts(v.declared, names), _counts(v.counted, names), v.status)
        table.add_row(*map(Text, cells), style=_STYLES[v.status])
    return Group(heading, Text(), table, Text(), *_reasons(verification), Text(_summary(verification)))


def _parameters(values: Mapping[str, int]) -> str:
    return " ".join(f"{name.removeprefix('ERT_').lower()}={value}" for name, value in values.items())


def _counts(counts: Mapping[str, int], names: Mapping[str, str]) -> str:
    """``768 FLOP, 256 B loaded``: only what there is; a kernel that does nothing says 0."""
    return ", ".join(f"{count} {names.get(word, word)}" for word, count in counts.items() if count) or ("0" if counts else "")


def _reasons(verification: Verification) -> list[Text]:
    """One line per reason; variants that share one stand together."""
    why: dict[tuple[str, str], list[VariantReport]] = {}
    for v in verification.variants:
        if v.status == "unsupported":
            why.setdefault((v.status, v.reason or ""), []).append(v)
    lines = [f"unsupported: {_named(variants)}: {reason}" for (_, reason), variants in why.items()]
    lines += [f"failed: {v.reason}" if v.label in (v.reason or "") else f"failed: {v.label}: {v.reason}" for v in verification.failed]
    return [Text(line) for line in lines] + ([Text()] if lines else [])


def _named(variants: list[VariantReport]) -> str:
    return ", ".join(dict.fromkeys(f"{v.kernel}/{v.precision}" for v in variants))


def _summary(verification: Verification) -> str:
    counts = Counter(v.status for v in verification.variants)
    proof = "counts and results" if verification.device_kind == "cpu" else "counts of the compiled code"
    return f"{counts['ok']} variants verified ({proof}), {counts['failed']} failed, {counts['unsupported']} unsupported"


def verification_document(verification: Verification) -> Json:
    """The same for other programs."""
    return encode(verification)
