"""A comparison as tables for a terminal. Nothing here prints; the command line does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ert.compare import Beside, Comparison, missing_counts
from ert.findings import Finding
from ert.judge import Judgement
from ert.judge_advice import advice
from ert.judge_trajectory import Trajectory
from ert.points.model import Skipped
from ert.precisions import rate_unit
from ert.tables import spaced
from ert.units import with_prefix

# Advice is a paragraph each; more than a few nobody reads in a terminal.
ADVISED = 5
# Narrower than this, the table of kernels leaves columns out: numbers that are cut off help nobody.
ROOMY_WIDTH = 130
_NAME_WIDTH = 48
_MORE_NAMES, _MORE_FINDINGS = 8, 3
_FOLDED = ("kernel", "flags")


def comparison_report(comparison: Comparison, top: int, width: int = ROOMY_WIDTH, advised: int = ADVISED) -> RenderableType:
    """The ``top`` kernels by time (0: all), advice for the first ``advised``, trajectories, witnesses, and what was skipped."""
    return Group(*spaced(list(_parts(comparison, top, advised, is_roomy=width >= ROOMY_WIDTH))))


def _parts(comparison: Comparison, top: int, advised: int, *, is_roomy: bool) -> Iterator[RenderableType]:
    shown = _longest(comparison.kernels, top)
    if shown:
        yield kernel_table(shown, is_roomy=is_roomy)
    if note := _rest(comparison.kernels, shown):
        yield note
    for judgement in _longest(shown, advised) if advised else ():
        yield Text.assemble((_short(judgement.point.name), "bold"), f"\n  {_one_line(advice(judgement, comparison.roofs))}")
    if comparison.trajectories:
        yield trajectory_text(comparison.trajectories)
    if comparison.witnesses:
        yield witness_table(comparison.witnesses)
    if comparison.skipped:
        yield skipped_text(comparison.skipped)


def _longest(kernels: Sequence[Judgement], top: int) -> list[Judgement]:
    """In the order of the files while they are few, else the ones that take the most time, longest first."""
    if not top or len(kernels) <= top:
        return list(kernels)
    return sorted(kernels, key=lambda k: -k.point.time_s)[:top]


def _rest(kernels: Sequence[Judgement], shown: Sequence[Judgement]) -> Text | None:
    if len(shown) == len(kernels):
        return None
    whole = sum(k.point.time_s for k in kernels)
    rest = 1 - sum(k.point.time_s for k in shown) / whole
    return Text(f"{len(kernels) - len(shown)} more kernels take {100 * rest:.1f} % of the time: --top 0 lists them, --json writes them.")


@dataclass(frozen=True, slots=True)
class _Column:
    """Numbers stand right; columns that are not ``is_needed`` give way on a narrow terminal."""

    name: str
    cell: Callable[[Judgement], str]
    is_number: bool = True
    is_needed: bool = True


def kernel_table(kernels: Sequence[Judgement], *, is_roomy: bool = True) -> Table:
    """One row per kernel; AI on the level that binds, else on the slowest that is known."""
    table = _table("Kernels")
    columns = [c for c in _COLUMNS if is_roomy or c.is_needed]
    for c in columns:
        table.add_column(c.name, justify="right" if c.is_number else "left", overflow="fold", no_wrap=c.name not in _FOLDED)
    for k in kernels:
        table.add_row(*(Text(c.cell(k)) for c in columns))
    return table


def _titled(k: Judgement) -> str:
    return _short(k.point.name) + (f" [{_one_line(k.point.label)}]" if k.point.label else "")


def _spoken_ai(k: Judgement) -> str:
    level, ai = k.shown_ai
    return f"{ai:.4g} {level}" if ai is not None else "-"


def _best_bandwidth(k: Judgement) -> str:
    """What stands for the rate of a kernel without FLOPs."""
    level = max(k.bandwidth_share, key=lambda name: k.bandwidth_share[name], default=None)
    amount = k.point.bytes.get(level) if level else None
    return with_prefix(amount / k.point.time_s, "B/s") if amount else "-"


def _spoken_bound(k: Judgement) -> str:
    if k.bound is None:
        return "unknown"
    return k.bound.kind if k.bound.kind == "latency" else f"{k.bound.kind}: {k.bound.name}"


_COLUMNS = (
    _Column("kernel", _titled, is_number=False),
    _Column("launches", lambda k: str(k.point.launches), is_needed=False),
    _Column("time", lambda k: with_prefix(k.point.time_s, "s")),
    _Column("rate", lambda k: with_prefix(k.rate_flop_per_s, "FLOP/s") if k.rate_flop_per_s else _best_bandwidth(k)),
    _Column("AI", _spoken_ai, is_needed=False),
    _Column("bound", _spoken_bound, is_number=False),
    _Column("roof", lambda k: with_prefix(k.attainable_flop_per_s, "FLOP/s") if k.attainable_flop_per_s else "-", is_needed=False),
    _Column("of roof", lambda k: f"{100 * k.fraction_of_roof:.1f} %" if k.fraction_of_roof is not None else "-"),
    _Column("flags", lambda k: ", ".join(k.flags), is_number=False),
)


def trajectory_text(trajectories: Sequence[Trajectory]) -> Text:
    """One line per step."""
    text = Text("Trajectories\n", style="bold")
    lines = []
    for t in trajectories:
        for s in t.steps:
            lines.append(f"  {_short(t.name)}: {_one_line(s.earlier)} -> {_one_line(s.later)}: {s.note}")
    return Text.assemble(text, ("\n".join(lines), ""))


def witness_table(witnesses: Sequence[Beside]) -> Table:
    """Other tools' ceilings beside ours."""
    table = _table("Other tools beside these ceilings")
    for name, is_number in (("measured by", False), ("what", False), ("value", True), ("ours", True), ("ratio", True), ("note", False)):
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for b in witnesses:
        table.add_row(*map(Text, _witness_row(b)))
    return table


def _witness_row(b: Beside) -> list[str]:
    w = b.witness
    unit = rate_unit(w.precision or "") if w.kind == "compute" else "B/s"
    what = (
        w.kind if w.kind == "interconnect" else " ".join(filter(None, (w.level or w.precision, w.path if w.path == "tensor" else "", w.op)))
    )
    spec = f"{100 * w.value / w.spec:.1f} % of its spec" if w.spec and w.value is not None else ""
    return [
        _short(w.what) + (f" (device {w.device})" if w.device else ""),
        what,
        "-" if w.value is None else with_prefix(w.value, unit),
        "-" if b.ceiling is None else with_prefix(b.ceiling, unit),
        "-" if b.ratio is None else f"{b.ratio:.3f}",
        "; ".join(filter(None, (spec, b.reason))),
    ]


def skipped_text(skipped: Sequence[Skipped]) -> Text:
    """What could not be placed, each with its reason; many of one reason are named by the first few."""
    by_reason: dict[str, list[Skipped]] = {}
    for s in skipped:
        by_reason.setdefault(s.reason, []).append(s)
    lines = []
    for reason, group in by_reason.items():
        names = ", ".join(_short(s.name) for s in group[:_MORE_NAMES])
        more = f" and {len(group) - _MORE_NAMES} more" if len(group) > _MORE_NAMES else ""
        lines.append(f"  {names}{more}: {reason}")
    return Text.assemble(("Skipped\n", "bold"), ("\n".join(lines), ""))


def summary_lines(comparison: Comparison) -> Iterator[str]:
    """For stderr: what the files left open, what is missing, what was skipped."""
    of_ceilings = comparison.ceilings.warnings
    if len(of_ceilings) > _MORE_FINDINGS:
        yield f"Warning: the ceilings file has {len(of_ceilings)} warnings; `ert show` lists them"
    else:
        yield from map(finding_line, of_ceilings)
    yield from map(finding_line, comparison.findings)
    incomplete, kernels = comparison.incomplete, len(comparison.kernels)
    if comparison.skipped or incomplete:
        whole = kernels + len(comparison.skipped)
        counts = [f"{name} ({count})" for name, count in missing_counts(comparison)]
        counts += [f"skipped: {_short(s.name)}: {s.reason}" for s in comparison.skipped[:_MORE_NAMES]]
        yield f"{len(incomplete) + len(comparison.skipped)} of {whole} kernels are incomplete. Missing: {'; '.join(counts)}"


def finding_line(finding: Finding) -> str:
    """One warning for stderr."""
    return f"Warning: {finding.message}" + (f". {finding.remedy}" if finding.remedy else "")


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _one_line(text: str) -> str:
    """Control characters and line breaks in a name must not touch the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _short(name: str) -> str:
    """Long template names keep their beginning and their end."""
    plain = _one_line(name)
    return plain if len(plain) <= _NAME_WIDTH else f"{plain[: _NAME_WIDTH - 16]}...{plain[-13:]}"
