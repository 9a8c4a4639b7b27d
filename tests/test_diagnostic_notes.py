"""ert.diagnostic_notes and the keys of the file behind them: what stands beside the ceilings, in words and in JSON."""

from dataclasses import replace

import pytest
from example_gpu import EXAMPLE_GPU
from programs import check_schema

from ert.ceilings.file import from_dict, to_dict
from ert.ceilings.point import Point
from ert.diagnostic_notes import diagnostic_notes
from ert.diagnostics import Burst, Diagnostic
from ert.errors import SchemaError
from ert.exporters.markdown import write


def diagnostic(what, value, unit, kernel, **about):
    return Diagnostic(what=what, value=value, unit=unit, ci95=None, kernel=kernel, **{"op": "read", **about})


def with_burst(ceiling):
    """fp16 tensor: 300 TFLOP/s at 1.5 GHz are sustained, 400 at 2 GHz were there at first."""
    if (getattr(ceiling, "precision", None), getattr(ceiling, "path", None)) != ("fp16", "tensor"):
        return ceiling
    return replace(ceiling, clock_hz=1.5e9, burst=Burst(400e12, (399e12, 401e12), 2e9))


FULL = replace(
    EXAMPLE_GPU,
    device={**EXAMPLE_GPU.device, "sms": 100},
    compute_ceilings=tuple(with_burst(c) for c in EXAMPLE_GPU.compute_ceilings),
    diagnostics=(
        diagnostic("latency", 450e-9, "s", "chase", op="chase", level="DRAM"),
        diagnostic("latency", 20e-9, "s", "chase", op="chase", level="L1"),
        diagnostic("zero_operands", 330e12, "flop/s", "mma", op="mma", precision="fp16", path="tensor"),
        diagnostic("by_kernel", 5e12, "byte/s", "read_l2", level="L2"),
        diagnostic("by_kernel", 4.5e12, "byte/s", "read_l2_shared", level="L2"),
    ),
)


def test_each_kind_is_one_line_with_its_numbers():
    assert diagnostic_notes(FULL) == [
        "fp16 tensor mma: 300 TFLOP/s are sustained, 400 TFLOP/s were there in the first seconds (1.5 GHz instead of 2 GHz)",
        "one SM: L1 200 GB/s",
        "latency of one load: L1 20 ns, DRAM 450 ns",
        "tensor rates on zeros, which draw less power, over those on random numbers: fp16 1.10",
        "L2 read by kernel: read_l2 5 TB/s, read_l2_shared 4.5 TB/s",
    ]


def test_a_file_without_any_has_no_line_and_no_key():
    assert diagnostic_notes(EXAMPLE_GPU) == []
    document = to_dict(EXAMPLE_GPU)
    assert "diagnostics" not in document
    assert not any("burst" in c for c in document["ceilings"]["compute"])
    assert not any({"operands", "sustain_s", "power_w"} & set(p) for p in document["points"])


def test_the_file_with_all_of_them_fits_the_schema_and_comes_back():
    document = to_dict(FULL)
    check_schema(document, "ceilings")
    assert from_dict(document, "x") == FULL


def test_markdown_says_them_too():
    assert "latency of one load: L1 20 ns, DRAM 450 ns" in write(FULL).text


def test_a_list_beside_the_samples_must_be_as_long_as_they_are():
    point = Point(
        id="x",
        kernel="fma",
        measures="compute",
        op="fma",
        precision="fp64",
        path="vector",
        repeats=1,
        samples_s=(1.0, 2.0),
        power_w=(350.0,),
    )
    with pytest.raises(SchemaError, match="power_w has 1 entries for 2 samples"):
        from_dict(to_dict(replace(EXAMPLE_GPU, points=(point,))), "x")
