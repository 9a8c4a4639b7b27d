"""The section file for Nsight Compute: parsed as protobuf text, and its roofs computed as ncu would."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from make_ceilings import DATA, H200_LEVELS, H200_PEAKS, make_ceilings

from ert.ceilings import load
from ert.errors import AnalysisError
from ert.exporters import EXPORTERS

# An H200 as its driver describes it: 132 SMs, 6144 bit at 3201 MHz; SM clock as measured.
FACTS = {"compute_capability": "9.0", "sm_count": 132, "memory_clock_hz": 3.201e9, "memory_bus_bits": 6144}
CLOCK_HZ = 1.98e9
PLAIN = make_ceilings({k: v * 1e12 for k, v in H200_LEVELS.items()}, {k: v * 1e12 for k, v in H200_PEAKS.items()}, name="NVIDIA H200")
GPU = replace(
    PLAIN,
    device={**PLAIN.device, **FACTS},
    bandwidth_ceilings=tuple(replace(c, clock_hz=CLOCK_HZ) for c in PLAIN.bandwidth_ceilings),
    compute_ceilings=tuple(replace(c, clock_hz=CLOCK_HZ) for c in PLAIN.compute_ceilings),
)

# What ncu collects on that device: FMA lanes and the write-back port of 132 SMs, 2 x 768 B per DRAM cycle.
DEVICE = {
    "dram__bytes.sum.peak_sustained": 2 * 6144 / 8,
    # Of the port that the shipped sections name from capability 9.0 on: their 128 B times this is 16896 B per clock.
    "l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained": 132,
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 64 * 132,
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 128 * 132,
    # Packed: one thread instruction is two multiply-adds.
    "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained": 128 * 132,
    "dram__cycles_elapsed.avg.per_second": 3.201e9,
    "sm__cycles_elapsed.avg.per_second": CLOCK_HZ,
    "l1tex__cycles_elapsed.avg.per_second": CLOCK_HZ,
}
TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_0-9.]+)|([{}:]))')


def parse(text):
    """Protobuf text -> [(field, value or nested list)]; comments do not occur."""
    tokens = TOKEN.findall(text.strip())
    position = 0

    def message():
        nonlocal position
        fields = []
        while position < len(tokens) and tokens[position][2] != "}":
            name = tokens[position][1]
            assert name, tokens[position]
            position += 1
            if tokens[position][2] == ":":
                fields.append((name, tokens[position + 1][0] or tokens[position + 1][1]))
                position += 2
            else:
                assert tokens[position][2] == "{"
                position += 1
                fields.append((name, message()))
                assert tokens[position][2] == "}"
                position += 1
        return fields

    fields = message()
    assert position == len(tokens)
    return fields


def every(fields, name):
    """All values of a field, at any depth."""
    for key, value in fields:
        if key == name:
            yield value
        if isinstance(value, list):
            yield from every(value, name)


def section(ceilings=GPU):
    return parse(EXPORTERS["ncu-section"].write(ceilings).text)


def definitions(fields):
    return {dict(d)["Name"]: dict(d)["Expression"] for d in next(every(fields, "MetricDefinitions")) for d in [d[1]]}


def value_of(rate, metrics):
    """Sum of the metrics per cycle, times the clock."""
    expression = next(every(rate, "ValueCyclesPerSecondExpression"))
    per_cycle = sum(metrics[dict(m)["Name"]] for m in every(expression, "ValuePerCycleMetrics"))
    return per_cycle * metrics[dict(next(every(expression, "CyclesPerSecondMetric")))["Name"]]


def metrics_of(fields):
    derived = {}
    for name, expression in definitions(fields).items():
        metric, factor = expression.split(" * ")
        if metric in DEVICE:
            derived[name] = DEVICE[metric] * float(factor)
    return DEVICE | derived


def test_the_roofs_that_ncu_draws_are_the_measured_ones():
    fields = section()
    metrics = metrics_of(fields)
    charts = list(every(fields, "RooflineChart"))
    drawn = {
        dict(c)["Label"]: {
            dict(next(every(r, "Options")))["Label"]: (
                value_of(next(every(r, "PeakWork")), metrics),
                value_of(next(every(r, "PeakTraffic")), metrics),
            )
            for r in every(c, "Rooflines")
        }
        for c in charts
    }
    traffic = {"DRAM measured": 4.38e12, "L2 measured": 9.6e12, "L1 measured": 31e12}
    for precision, peak in (("double", 33.4e12), ("single", 66.4e12), ("half", 133e12)):
        roofs = drawn[f"Measured roofline, {precision} precision"]
        assert {name: bandwidth for name, (_, bandwidth) in roofs.items()} == pytest.approx(traffic, rel=1e-5)
        assert [work for work, _ in roofs.values()] == pytest.approx([peak] * 3, rel=1e-5)


@pytest.mark.parametrize(
    ("capability", "suffix"), [("7.0", ""), ("7.5", "_mem_lg"), ("8.9", "_mem_lg"), ("9.0", "_mem_lgds"), ("12.0", "_mem_lgds")]
)
def test_the_port_of_l1_is_that_of_the_architecture(capability, suffix):
    # Limits of the file, so that no table of architectures is asked.
    known = replace(GPU, compute_ceilings=tuple(replace(c, limit=c.value, limit_source="x") for c in GPU.compute_ceilings))
    found = definitions(section(replace(known, device={**GPU.device, "compute_capability": capability})))
    assert found["derived__ert_l1_bytes_peak"].startswith(f"l1tex__lsu_writeback_active{suffix}.sum.peak_sustained * ")


def test_every_metric_is_defined_or_of_the_device():
    fields = section()
    defined = definitions(fields)
    for name in every(fields, "Name"):
        assert name in defined or re.fullmatch(r"(sm|smsp|l1tex|lts|dram)__\w+\.(sum|avg)(\.\w+)?", name), name


def test_an_fma_counts_two_and_a_packed_one_four():
    found = definitions(section())
    assert found["derived__ert_fp32_fma_flop"].endswith("ffma_pred_on.sum.per_cycle_elapsed * 2")
    assert found["derived__ert_fp32_add_flop"].endswith("fadd_pred_on.sum.per_cycle_elapsed * 1")
    assert found["derived__ert_fp16_fma_flop"].endswith("hfma_pred_on.sum.per_cycle_elapsed * 4")


def test_what_cannot_be_written_is_named():
    left_out = EXPORTERS["ncu-section"].write(GPU).left_out
    assert left_out[0].startswith("shared: ")
    assert "fp16 tensor" in left_out[1]


def test_a_quote_or_a_letter_beyond_ascii_in_a_name_stays_inside_its_string():
    fields = section(replace(GPU, device={**GPU.device, "name": 'H"200\\ \u00e9\n}'}))
    assert "H\\042200\\134 \\303\\251\\012}" in dict(fields)["Description"]


@pytest.mark.parametrize("ceilings", [load(DATA / "cpu.json"), PLAIN], ids=["cpu", "no limits"])
def test_ceilings_that_ncu_cannot_scale_are_refused(ceilings):
    with pytest.raises(AnalysisError, match=r"NVIDIA GPUs|known limit"):
        EXPORTERS["ncu-section"].write(ceilings)
