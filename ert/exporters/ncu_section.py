"""``ncu-section``: a section file that makes Nsight Compute draw the measured roofs, beside the kernel it profiles.

Nsight Compute has no place for a constant in a section, so a measured ceiling is written as a metric of the device
times the measured share of it, the way the shipped sections multiply by 2 or 128. It thereby follows the clocks of
the profiling run, as the ceilings themselves do. Layout: the roofline sections shipped with Nsight Compute.

    ncu --section-folder DIR --section ErtMeasuredRoofline ./app
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ert.ceilings import Ceilings
from ert.ceilings.kinds import ComputeCeiling
from ert.errors import AnalysisError
from ert.exporters.base import Export
from ert.limits import NoLimit
from ert.theory import theoretical_bandwidth, theoretical_rate

IDENTIFIER = "ErtMeasuredRoofline"

# precision -> its letter in SASS metric names, its name, and the FLOPs of one FMA instruction of a thread (half2 holds two).
_PRECISIONS = {"fp64": ("d", "double", 2), "fp32": ("f", "single", 2), "fp16": ("h", "half", 4)}
# Compute capability it begins with -> the write-back port of L1 as the shipped sections call it on that architecture. It is
# active once per clock and SM at most, so that its peak is the number of SMs, whatever the product.
_WRITEBACK = {
    (9, 0): "l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained",
    (7, 5): "l1tex__lsu_writeback_active_mem_lg.sum.peak_sustained",
    (7, 0): "l1tex__lsu_writeback_active.sum.peak_sustained",
}
_SM_CLOCK, _L1_CLOCK, _DRAM_CLOCK = (f"{unit}__cycles_elapsed.avg.per_second" for unit in ("sm", "l1tex", "dram"))
_ACHIEVED = {"DRAM": "dram__bytes.sum.per_second", "L2": "lts__t_bytes.sum.per_second", "L1": "l1tex__t_bytes.sum.per_second"}


@dataclass(frozen=True, slots=True)
class _Peak:
    """A measured ceiling: ``metric`` per cycle times ``factor``, in cycles of ``clock``; ``name`` is that of the derived metric."""

    name: str
    label: str
    metric: str
    factor: float
    clock: str


def write(ceilings: Ceilings) -> Export:
    """One chart per precision with a vector roof. Raises AnalysisError for a device that is not a CUDA one, or without DRAM and rates."""
    if ceilings.device.get("kind") != "cuda":
        raise AnalysisError(f"{ceilings.device.get('name')}: Nsight Compute profiles NVIDIA GPUs, and these ceilings are not of one.")
    traffic = {level: peak for level in _ACHIEVED if (peak := _traffic(ceilings, level))}
    work = {p: peak for p in _PRECISIONS if (peak := _work(ceilings, p))}
    if not traffic or not work:
        raise AnalysisError("no ceiling can be written as a share of the device: a level and a precision with a known limit are needed.")
    blocks = [_head(ceilings), _definitions([*traffic.values(), *work.values()], work), "Body {", '  DisplayName: "Measured roofline"']
    blocks += [_chart(precision, peak, traffic) for precision, peak in work.items()]
    return Export("\n".join((*blocks, "}", "")), tuple(_left_out(ceilings, traffic, work)))


def _traffic(ceilings: Ceilings, level: str) -> _Peak | None:
    """Of DRAM the share of its pins; of a cache its bytes per clock and SM."""
    roof = ceilings.bandwidth_roofs.get(level)
    if roof is None:
        return None
    name, label = f"derived__ert_{level.lower()}_bytes_peak", f"Measured {level} bytes"
    if level == "DRAM":
        limit = theoretical_bandwidth(roof, ceilings.device)
        return (
            None
            if isinstance(limit, NoLimit)
            else _Peak(name, label, "dram__bytes.sum.peak_sustained", roof.value / limit.value, _DRAM_CLOCK)
        )
    sms, port = ceilings.device.get("sm_count"), _writeback(ceilings)
    if not isinstance(sms, int) or sms < 1 or not roof.clock_hz or port is None:
        return None
    return _Peak(name, label, port, roof.value / roof.clock_hz / sms, _L1_CLOCK)


def _writeback(ceilings: Ceilings) -> str | None:
    """The metric that counts SMs on this device; None where its architecture is not known."""
    major, dot, minor = str(ceilings.device.get("compute_capability", "")).partition(".")
    if not (dot and major.isdecimal() and minor.isdecimal()):
        return None
    return next((metric for first, metric in _WRITEBACK.items() if (int(major), int(minor)) >= first), None)


def _work(ceilings: Ceilings, precision: str) -> _Peak | None:
    """The share of the FMA pipes' peak."""
    roof = ceilings.compute_roofs.get((precision, "vector"))
    limit = theoretical_rate(roof, ceilings.device) if roof else None
    if roof is None or limit is None or isinstance(limit, NoLimit):
        return None
    letter, word, flops = _PRECISIONS[precision]
    metric = f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained"
    return _Peak(f"derived__ert_{precision}_flop_peak", f"Measured {word} precision", metric, flops * roof.value / limit.value, _SM_CLOCK)


def _head(ceilings: Ceilings) -> str:
    about = f"Roofs as {ceilings.tool.name} {ceilings.tool.version} measured them on {ceilings.device.get('name')}, {ceilings.created}."
    return "\n".join(
        (
            f"Identifier: {_quoted(IDENTIFIER)}",
            'DisplayName: "Measured roofline (ert)"',
            f"Description: {_quoted(about)}",
            "Order: 13",
            "Sets {",
            '  Identifier: "roofline"',
            "}",
        )
    )


def _definitions(peaks: Sequence[_Peak], work: dict[str, _Peak]) -> str:
    """The measured ceilings, and the FMA counts times their FLOPs."""
    entries = [(peak.name, f"{peak.metric} * {peak.factor:.6g}") for peak in peaks]
    for precision in work:
        letter, _, flops = _PRECISIONS[precision]
        for kind in ("add", "mul", "fma"):
            factor = flops if kind == "fma" else flops // 2
            entries.append(
                (_executed(precision, kind), f"smsp__sass_thread_inst_executed_op_{letter}{kind}_pred_on.sum.per_cycle_elapsed * {factor}")
            )
    lines = ["MetricDefinitions {"]
    for name, expression in entries:
        lines += ["  MetricDefinitions {", f"    Name: {_quoted(name)}", f"    Expression: {_quoted(expression)}", "  }"]
    return "\n".join((*lines, "}"))


def _executed(precision: str, kind: str) -> str:
    return f"derived__ert_{precision}_{kind}_flop"


def _chart(precision: str, work: _Peak, traffic: dict[str, _Peak]) -> str:
    lines = [
        "  Items {",
        "    RooflineChart {",
        f"      Label: {_quoted(f'Measured roofline, {_PRECISIONS[precision][1]} precision')}",
        '      AxisIntensity { Label: "Arithmetic Intensity [FLOP/byte]" }',
        '      AxisWork { Label: "Performance [FLOP/s]" }',
    ]
    for level, peak in traffic.items():
        lines += ["      Rooflines {", _peak("PeakWork", work), _peak("PeakTraffic", peak), _label(f"{level} measured"), "      }"]
    for level in traffic:
        lines += ["      AchievedValues {", _achieved_work(precision), _achieved_traffic(level), _label(level), "      }"]
    return "\n".join((*lines, "    }", "  }"))


def _peak(field: str, peak: _Peak) -> str:
    return _rate(field, [(peak.label, peak.name)], peak.clock)


def _achieved_work(precision: str) -> str:
    parts = [(f"{precision} {kind} FLOPs per cycle", _executed(precision, kind)) for kind in ("add", "mul", "fma")]
    return _rate("AchievedWork", parts, "smsp__cycles_elapsed.avg.per_second")


def _rate(field: str, parts: Sequence[tuple[str, str]], clock: str) -> str:
    """Several metrics per cycle are added up, then multiplied with the clock."""
    lines = [f"        {field} {{", "          ValueCyclesPerSecondExpression {"]
    lines += [f"            ValuePerCycleMetrics {{ Label: {_quoted(label)} Name: {_quoted(name)} }}" for label, name in parts]
    lines += [f"            CyclesPerSecondMetric {{ Name: {_quoted(clock)} }}", "          }", "        }"]
    return "\n".join(lines)


def _achieved_traffic(level: str) -> str:
    metric = f"Metric {{ Label: {_quoted(f'{level} bandwidth')} Name: {_quoted(_ACHIEVED[level])} }}"
    return f"        AchievedTraffic {{ {metric} }}"


def _label(text: str) -> str:
    return f"        Options {{ Label: {_quoted(text)} }}"


def _quoted(text: str) -> str:
    """A string of protobuf's text format, ASCII; anything else as octal escapes of its UTF-8 bytes."""
    plain = text.encode().decode("latin-1")
    return '"' + "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\{ord(c):03o}" for c in plain) + '"'


def _left_out(ceilings: Ceilings, traffic: dict[str, _Peak], work: dict[str, _Peak]) -> list[str]:
    levels = [level for level in ceilings.bandwidth_roofs if level not in traffic]
    rates = [key for key in ceilings.compute_roofs if key not in {(p, "vector") for p in work}]
    lines = [f"{', '.join(levels)}: no metric of Nsight Compute is known that is a fixed share of it"] if levels else []
    if rates:
        names = ", ".join(_named(ceilings.compute_roofs[key]) for key in rates)
        lines.append(f"{names}: only vector units of fp64, fp32 and fp16 have a metric that is the same on every architecture")
    return lines


def _named(roof: ComputeCeiling) -> str:
    return f"{roof.precision} {roof.path}"
