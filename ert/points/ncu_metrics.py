"""From Nsight Compute metrics to F, D and t: which metric counts what, per tool version and GPU generation.

Two families of traffic metrics exist and their AIs are not comparable: NERSC's (``*__t_bytes``, all that crosses a
level) and that of the sections shipped since about 2021 (L1 write-back to the registers, L2 to crossbar). A level is
taken from one family only, the one the file has most of.
Sources: NERSC roofline-on-nvidia-gpus (postprocess.py); the SpeedOfLight_*RooflineChart sections shipped with
Nsight Compute 2019-2025; Yang et al., Hierarchical Roofline Analysis for GPUs, 2020.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

SECTOR_BYTES = 32

NERSC = "nersc"
STOCK = "stock sections"


@dataclass(frozen=True, slots=True)
class Sum:
    """weight x metric, added up; a rate (``per_time``) is multiplied by the kernel's time. ``note`` is told to people."""

    terms: tuple[tuple[str, float], ...]
    per_time: bool = False
    note: str | None = None

    def is_collected(self, collected: Collection[str]) -> bool:
        return all(metric in collected for metric, _ in self.terms)


def _sum(*metrics: str, weight: float = 1.0, note: str | None = None) -> Sum:
    return Sum(tuple((m, weight) for m in metrics), note=note)


def _rate(*metrics: str, weight: float = 1.0, note: str | None = None) -> Sum:
    return Sum(tuple((m, weight) for m in metrics), per_time=True, note=note)


_NO_ATOMICS = "L2 traffic is reads and writes only: atomics (lts__t_sectors_op_atom, _red) were not collected"
_CUDA10_L1 = "L1 traffic is global and local memory only (metrics of the CUDA 10 tool): shared memory and atomics are not in it"
_FROM_RATE = "DRAM traffic is 'Memory Throughput' x duration, both rounded in the report"
_L1_SECTORS = tuple(f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{op}.sum" for space in ("global", "local") for op in ("ld", "st"))
MEMORY_THROUGHPUT = "Memory Workload Analysis|Memory Throughput"

DRAM: tuple[Sum, ...] = (
    _sum("dram__bytes.sum"),
    _sum("dram__bytes_read.sum", "dram__bytes_write.sum"),
    _sum("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
    _sum("dram__sectors.sum", weight=SECTOR_BYTES),
    _sum("dram__sectors_read.sum", "dram__sectors_write.sum", weight=SECTOR_BYTES),
    _rate("dram__bytes.sum.per_second"),
    _rate("dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second"),
    _rate(MEMORY_THROUGHPUT, note=_FROM_RATE),
)
CACHES: dict[str, dict[str, tuple[Sum, ...]]] = {
    NERSC: {
        "L2": (
            _sum("lts__t_bytes.sum"),
            _sum("lts__t_sectors.sum", weight=SECTOR_BYTES),
            _sum(*(f"lts__t_sectors_op_{op}.sum" for op in ("read", "write", "atom", "red")), weight=SECTOR_BYTES),
            _sum("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum", weight=SECTOR_BYTES, note=_NO_ATOMICS),
            _rate("lts__t_bytes.sum.per_second"),
        ),
        "L1": (
            _sum("l1tex__t_bytes.sum"),
            _sum("l1tex__t_sectors.sum", weight=SECTOR_BYTES),
            _sum(*_L1_SECTORS, weight=SECTOR_BYTES, note=_CUDA10_L1),
            _sum(*_L1_SECTORS[:2], weight=SECTOR_BYTES, note=_CUDA10_L1),
            _rate("l1tex__t_bytes.sum.per_second"),
        ),
    },
    STOCK: {
        "L2": (
            _sum("derived__lts__lts2xbar_bytes.sum"),
            _sum("l1tex__m_xbar2l1tex_read_bytes.sum"),
            _rate("derived__lts__lts2xbar_bytes.sum.per_second"),
            _rate("l1tex__m_xbar2l1tex_read_bytes.sum.per_second"),
        ),
        "L1": tuple(
            make(f"{metric}{space}.sum{rate}", weight=weight)
            for make, rate in ((_sum, ""), (_rate, ".per_second"))
            # One write-back cycle moves 128 bytes; the shipped sections multiply by the same number.
            for metric, weight in (("derived__l1tex__lsu_writeback_bytes", 1.0), ("l1tex__lsu_writeback_active", 128.0))
            for space in ("_mem_lgds", "_mem_lg", "")
        ),
    },
}

# (numerator, denominator or None), best first: elapsed time itself, then cycles over frequency.
TIMES: tuple[tuple[str, str | None], ...] = (
    ("gpu__time_duration.sum", None),
    ("gpu__time_duration.avg", None),
    ("gpu__time_duration.max", None),
    ("|Duration", None),
    ("sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second"),
    ("smsp__cycles_elapsed.avg", "smsp__cycles_elapsed.avg.per_second"),
    ("smsp__cycles_elapsed.sum", "smsp__cycles_elapsed.sum.per_second"),
    ("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg.per_second"),
    ("gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg.per_second"),
    ("|Elapsed Cycles", "|SM Frequency"),
)
CYCLE_RATES = ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")

PRECISION_LETTERS = {"fp64": "d", "fp32": "f", "fp16": "h"}
_OP_FLOPS = {"add": 1.0, "mul": 1.0, "fma": 2.0}


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction class of one precision. ``sources``: (metric, FLOPs each, counted per elapsed cycle)."""

    precision: str
    name: str
    sources: tuple[tuple[str, float, bool], ...]


def _operation(precision: str, letter: str, op: str) -> Operation:
    base = f"sass_thread_inst_executed_op_{letter}{op}_pred_on"
    flops = _OP_FLOPS[op]
    sources = [(f"{unit}__{base}.sum", flops, False) for unit in ("sm", "smsp")]
    sources += [(f"{unit}__{base}.sum.per_cycle_elapsed", flops, True) for unit in ("sm", "smsp")]
    if op == "fma":
        # Already doubled by the section that derives it.
        sources.append((f"derived__smsp__{base}_x2", 1.0, True))
    return Operation(precision, f"{letter}{op}", tuple(sources))


OPERATIONS: tuple[Operation, ...] = tuple(
    _operation(precision, letter, op) for precision, letter in PRECISION_LETTERS.items() for op in _OP_FLOPS
)
# Newer versions count the FLOPs of one precision in one metric.
COMBINED: dict[str, tuple[str, ...]] = {
    precision: tuple(f"{unit}__sass_thread_inst_executed_ops_{x}add_{x}mul_{x}fma_pred_on.sum" for unit in ("sm", "smsp"))
    for precision, x in PRECISION_LETTERS.items()
}

TENSOR_INSTRUCTIONS = tuple(f"{unit}__inst_executed_pipe_tensor{op}.sum" for unit in ("sm", "smsp") for op in ("", "_op_hmma"))
# FLOPs of one tensor instruction, known only where there is a single shape: HMMA.884 of Volta.
TENSOR_INSTRUCTION_FLOPS = {"7.0": 512.0, "7.2": 512.0}
TENSOR_HINT = "collect the sm__ops_path_tensor_* metrics: an instruction count alone does not tell how many FLOPs each one does on this GPU"
_TENSOR_OPS = re.compile(
    r"^sm(?:sp)?__ops_path_tensor(?P<op>_op_[a-z0-9]+)?_src_(?P<src>[a-z0-9]+?)(?P<dst>_dst_[a-z0-9]+)?"
    r"(?:_sparsity_(?P<sparsity>on|off))?\.sum$"
)


@dataclass(frozen=True, slots=True)
class TensorMetric:
    """What the name of a ``*__ops_path_tensor_*`` metric says. ``granularity`` tells which names overlap."""

    name: str
    source: str
    group: tuple[str, str]
    sparsity: str | None

    @property
    def granularity(self) -> tuple[bool, bool]:
        return bool(self.group[0]), bool(self.group[1])


@lru_cache(maxsize=4096)
def tensor_metric(name: str) -> TensorMetric | None:
    """``sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_on.sum`` taken apart; None for any other metric."""
    found = _TENSOR_OPS.match(name)
    if found is None:
        return None
    return TensorMetric(name, found["src"], (found["op"] or "", found["dst"] or ""), found["sparsity"])


def _all_sums() -> tuple[Sum, ...]:
    return DRAM + tuple(s for levels in CACHES.values() for sums in levels.values() for s in sums)


_WANTED = (
    {metric for s in _all_sums() for metric, _ in s.terms}
    | {name for pair in TIMES for name in pair if name and not name.startswith("|")}
    | {metric for operation in OPERATIONS for metric, _, _ in operation.sources}
    | {metric for metrics in COMBINED.values() for metric in metrics}
    | {*CYCLE_RATES, *TENSOR_INSTRUCTIONS, MEMORY_THROUGHPUT}
    | {f"device__attribute_compute_capability_{part}" for part in ("major", "minor")}
)
_WANTED_DISPLAY = tuple(name for pair in TIMES for name in pair if name and name.startswith("|"))


@lru_cache(maxsize=65536)
def is_wanted(metric: str) -> bool:
    """True for a metric that can become F, D or t."""
    return metric in _WANTED or metric.endswith(_WANTED_DISPLAY) or tensor_metric(metric) is not None
