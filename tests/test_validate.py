"""A measurement against a promise: ratios, verdicts, and the explanation that stands beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from make_ceilings import H200_LEVELS, H200_PEAKS, make_ceilings
from programs import check_schema

from ert.ceilings import Ceilings
from ert.ceilings.point import Point
from ert.errors import ConfigError
from ert.files import dump_json
from ert.jsontypes import Json
from ert.limits import Limit, NoLimit
from ert.spec_match import Match, device_facts, match_sheet
from ert.specs import parse_sheet, read_sheet, shipped_sheets
from ert.theory import theoretical_bandwidth, theoretical_dram, theoretical_rate
from ert.tolerances import parse_tolerances, shipped_tolerances
from ert.validate import validate
from ert.validation import Row, Validation

DATA = Path(__file__).parent / "data" / "specs"

T = 1e12


def measured(
    levels: dict[str, float] | None = None,
    peaks: dict[tuple[str, str], float] | None = None,
    *,
    clock_hz: float | None = None,
    threads: int | None = None,
    flags: tuple[str, ...] = (),
    environment: dict[str, Json] | None = None,
    **device: Json,
) -> Ceilings:
    """Ceilings of these roofs, all at one clock, on a device with these facts."""
    plain = make_ceilings(levels or {}, peaks or {})
    return replace(
        plain,
        device={**plain.device, **device},
        environment=environment or {},
        bandwidth_ceilings=tuple(replace(c, clock_hz=clock_hz, threads=threads) for c in plain.bandwidth_ceilings),
        compute_ceilings=tuple(replace(c, clock_hz=clock_hz, threads=threads, flags=flags) for c in plain.compute_ceilings),
    )


def against(file: str, ceilings: Ceilings) -> Validation:
    """Validate against a sheet of tests/data/specs; the document fits its schema."""
    return checked(validate(ceilings, Match(read_sheet(str(DATA / file)), "given by name"), shipped_tolerances()))


def against_text(text: str, ceilings: Ceilings) -> Validation:
    return checked(validate(ceilings, Match(parse_sheet(text, "own.toml"), "given by name"), shipped_tolerances()))


def checked(validation: Validation) -> Validation:
    document = json.loads(dump_json(validation.to_dict()))
    check_schema(document, "validation")
    return validation


def row(validation: Validation, what: str) -> Row:
    return next(found for found in validation.rows if found.what == what)


def test_a_number_with_sparsity_is_halved_and_says_so() -> None:
    found = row(against("sparse_footnote.json", measured(peaks={("fp16", "tensor"): 780 * T})), "fp16 tensor")
    assert found.ratio == pytest.approx(0.7882769075290551, rel=1e-9)
    assert found.spec == 989.5 * T
    assert "sparsity" in found.note
    assert "39.4%" in found.note


def test_a_dense_number_is_not_halved_again() -> None:
    found = row(against("dense.json", measured(peaks={("fp16", "tensor"): 780 * T})), "fp16 tensor")
    assert found.ratio == pytest.approx(0.7882769075290551, rel=1e-9)
    assert found.note == ""


def test_a_clock_above_the_sheets_explains_a_rate_above_it() -> None:
    ceilings = measured(peaks={("fp32", "vector"): 15.9 * T}, clock_hz=1830e6, compute_capability="7.5", sm_count=68)
    found = row(against("base_clock.json", ceilings), "fp32 vector")
    assert found.ratio == pytest.approx(1.1821561338289963, rel=1e-9)
    assert found.theoretical_ratio == pytest.approx(0.9982220347155256, rel=1e-9)
    assert found.verdict == "pass"
    assert "118.2% of the sheet because the clock was 1830 MHz, not the sheet's 1545 MHz" in found.note


def test_a_rate_above_the_sheet_without_a_clock_is_above_and_not_ok() -> None:
    validation = against("base_clock.json", measured(peaks={("fp32", "vector"): 15.9 * T}))
    assert row(validation, "fp32 vector").verdict == "above"
    assert "above spec, clock unknown" in row(validation, "fp32 vector").note
    assert validation.verdict == "above"


def test_a_clock_that_is_higher_but_not_enough_explains_nothing() -> None:
    found = row(against("base_clock.json", measured(peaks={("fp32", "vector"): 15.9 * T}, clock_hz=1560e6)), "fp32 vector")
    assert found.verdict == "above"


def test_gibibytes_are_not_gigabytes() -> None:
    ceilings = measured({"DRAM": 1862.645149 * 2**30}, l2_bytes=41943040)
    validation = against("binary_and_decimal.json", ceilings)
    assert row(validation, "DRAM bandwidth").ratio == pytest.approx(1.0, rel=1e-9)
    assert row(validation, "L2 capacity").verdict == "pass"
    assert validation.verdict == "pass"


def test_a_capacity_that_fits_neither_reading_is_no_pass() -> None:
    assert row(against("binary_and_decimal.json", measured(l2_bytes=30 * 2**20)), "L2 capacity").verdict == "below"
    assert row(against("binary_and_decimal.json", measured(l2_bytes=50 * 2**20)), "L2 capacity").verdict == "above"


def test_gigabits_are_an_eighth_of_gigabytes() -> None:
    found = row(against("unit_gbit.json", measured({"DRAM": 1.9 * T})), "DRAM bandwidth")
    assert (found.ratio, found.verdict) == (pytest.approx(0.95, rel=1e-9), "pass")


def test_a_factor_of_1000_is_the_sheets_doing_and_named() -> None:
    found = row(against("unit_tb.json", measured({"DRAM": 1.9 * T})), "DRAM bandwidth")
    assert found.verdict == "unknown"
    assert "0.095 % of the sheet: unit mistake? GB/s instead of TB/s would fit (95.0%)" in found.note


def test_an_fma_counted_once_is_named() -> None:
    found = row(against("unit_nofma.json", measured(peaks={("fp32", "vector"): 19.2 * T})), "fp32 vector")
    assert found.ratio == pytest.approx(1.92, rel=1e-9)
    assert found.verdict == "above"
    assert "factor 2: FMA counted once?" in found.note


@pytest.mark.parametrize(
    ("sheet", "value", "verdict", "question"),
    [
        ('dram = "2 TB/s"', 2.1 * T, "above", "GiB/s against GB/s"),
        ('dram = "2 TB/s"', 0.24 * T, "below", "is the sheet in bits"),
        ('dram = "2 TB/s"', 3.9 * T, "above", "factor 2"),
        ('dram = "2 TB/s"', 15.5 * T, "above", "factor 8"),
        ('dram = "2 GB/s"', 1.9 * T, "above", "TB/s instead of GB/s"),
        ('dram = "2 TB/s"', 2.5 * T, "above", "no explanation found"),
        ('dram = "2 TB/s"', 1.7 * T, "below", "below the least, 88%"),
    ],
)
def test_slips_of_bandwidths_are_recognised(sheet: str, value: float, verdict: str, question: str) -> None:
    found = row(against_text(f'device = "X"\n{sheet}', measured({"DRAM": value})), "DRAM bandwidth")
    assert found.verdict == verdict
    assert question in found.note


@pytest.mark.parametrize(
    ("sparsity", "value", "question"),
    [("false", 40 * T, "is the sheet's number with sparsity?"), ("true", 95 * T, "is the sheet's number dense already?")],
)
def test_slips_of_sparsity_are_recognised(sparsity: str, value: float, question: str) -> None:
    sheet = f'device = "X"\nfp16_tensor = "100 TFLOP/s"\nsparsity = {sparsity}'
    assert question in row(against_text(sheet, measured(peaks={("fp16", "tensor"): value})), "fp16 tensor").note


def test_a_low_clock_and_throttling_stand_beside_a_rate_that_is_below() -> None:
    sheet = 'device = "X"\nfp32 = "20 TFLOP/s"\nclock = "1500 MHz"'
    ceilings = measured(peaks={("fp32", "vector"): 13 * T}, clock_hz=1000e6, flags=("throttled",))
    found = row(against_text(sheet, ceilings), "fp32 vector")
    assert found.verdict == "below"
    assert "the clock was 1000 MHz, not 1500 MHz: 97.5% per clock" in found.note
    assert "throttled" in found.note


def test_numbers_that_were_not_measured_keep_their_row_and_a_reason() -> None:
    point = Point(
        id="p", kernel="mma", measures="compute", op="mma", precision="fp8", path="tensor", status="unsupported", reason="needs sm_89"
    )
    ceilings = replace(measured({"DRAM": 4.4 * T}), points=(point,))
    validation = checked(validate(ceilings, Match(shipped_sheets()["H200-SXM-141GB"], "given"), shipped_tolerances()))
    assert row(validation, "fp8 tensor").note == "not measured: needs sm_89"
    assert "has no such roof" in row(validation, "fp64 vector").note
    assert row(validation, "DRAM bandwidth").verdict == "pass"
    assert {n.what for n in shipped_sheets()["H200-SXM-141GB"].numbers} <= {r.what for r in validation.rows}


def test_a_whole_h200_as_measured_in_public_passes_its_sheet() -> None:
    ceilings = make_ceilings({k: v * T for k, v in H200_LEVELS.items()}, {k: v * T for k, v in H200_PEAKS.items()}, name="NVIDIA H200")
    match = match_sheet(device_facts(ceilings.device), shipped_sheets().values())
    validation = checked(validate(ceilings, match, shipped_tolerances()))
    assert validation.spec == "H200-SXM-141GB"
    assert validation.verdict == "pass"
    assert row(validation, "DRAM bandwidth").ratio == pytest.approx(4.38 / 4.8)


def test_a_mig_slice_is_held_to_its_share() -> None:
    ceilings = measured({"DRAM": 0.95 * T}, {("fp32", "vector"): 7.2 * T}, name="NVIDIA A100-SXM4-80GB MIG 3g.40gb", sm_count=42)
    match = match_sheet(device_facts(ceilings.device), shipped_sheets().values())
    validation = checked(validate(ceilings, match, shipped_tolerances()))
    assert row(validation, "DRAM bandwidth").spec == pytest.approx(2.039 * T / 2)
    assert row(validation, "fp32 vector").spec == pytest.approx(19.5 * T * 42 / 108)
    assert "scaled by 0.5 for MIG 3g.40gb" in row(validation, "DRAM bandwidth").note


def test_what_fits_the_sheet_but_is_beyond_physics_is_no_pass() -> None:
    # 66.4 of 67 TFLOP/s, at a clock where 132 SMs x 256 x 1.2 GHz = 40.6 TFLOP/s are possible.
    ceilings = measured(peaks={("fp32", "vector"): 66.4 * T}, clock_hz=1.2e9, compute_capability="9.0", sm_count=132)
    found = row(checked(validate(ceilings, Match(shipped_sheets()["H200-SXM-141GB"], "given"), shipped_tolerances())), "fp32 vector")
    assert found.theoretical == pytest.approx(40.5504 * T)
    assert found.verdict == "above"
    assert "beyond the physical limit" in found.note


def socket(threads: int, *, is_virtual: bool = False) -> Row:
    ceilings = measured(
        {"DRAM": 400e9}, threads=threads, kind="cpu", name="AMD EPYC 9654 96-Core Processor", environment={"virtual_machine": is_virtual}
    )
    match = match_sheet(device_facts(ceilings.device), shipped_sheets().values())
    return row(checked(validate(ceilings, match, shipped_tolerances())), "DRAM bandwidth")


def test_a_sockets_number_is_held_only_against_a_whole_socket() -> None:
    assert (socket(96).verdict, socket(96).ratio) == ("pass", pytest.approx(400 / 460.8))
    assert socket(2).verdict == "unknown"
    assert "2 of its 96 cores ran" in socket(2).note
    assert "virtual machine" in socket(96, is_virtual=True).note


def test_a_doubtful_number_of_the_sheet_is_doubted_where_the_measurement_misses_it() -> None:
    ceilings = measured(peaks={("int8", "tensor"): 1000 * T, ("fp8", "tensor"): 1000 * T})
    validation = checked(validate(ceilings, Match(shipped_sheets()["H100-NVL-94GB"], "given"), shipped_tolerances()))
    assert "the sheet's number is unconfirmed: seen for the H200 NVL" in row(validation, "int8 tensor").note
    assert "unconfirmed" not in row(validation, "fp8 tensor").note


def test_a_number_for_a_board_of_unknown_devices_is_not_held_against_one() -> None:
    sheet = shipped_sheets()["MI250X"]
    board = replace(sheet, numbers=tuple(replace(number, devices=1) for number in sheet.numbers))
    validation = checked(validate(measured({"DRAM": 1.38 * T}), Match(board, "given by name"), shipped_tolerances()))
    assert row(validation, "DRAM bandwidth").verdict == "unknown"
    assert "whole board" in row(validation, "DRAM bandwidth").note


NOBODY = Match(None, "no sheet carries the name 'X'", None, ("A30",))


def test_without_a_sheet_the_theoretical_peak_is_the_judge() -> None:
    ceilings = measured(
        {"DRAM": 1.8 * T, "L1": 18 * T},
        {("fp32", "vector"): 19.4 * T, ("fp64", "vector"): 5 * T},
        clock_hz=1.41e9,
        compute_capability="8.0",
        sm_count=108,
        memory_clock_hz=1593e6,
        memory_bus_bits=5120,
    )
    validation = checked(validate(ceilings, NOBODY, shipped_tolerances()))
    assert (validation.spec, validation.candidates) == (None, ("A30",))
    assert row(validation, "fp32 vector").theoretical == pytest.approx(19491.84e9, rel=1e-9)
    assert row(validation, "fp32 vector").verdict == "pass"
    assert row(validation, "fp64 vector").verdict == "below"
    assert row(validation, "fp64 vector").note == "below the least, 90% of the theoretical peak"
    assert row(validation, "DRAM bandwidth").theoretical == pytest.approx(2039.04e9)
    assert row(validation, "L1 bandwidth").theoretical == pytest.approx(128 * 108 * 1.41e9)
    assert validation.verdict == "below"


def test_a_measurement_beyond_physics_is_above_and_called_a_bug() -> None:
    ceilings = measured(peaks={("fp32", "vector"): 25 * T}, clock_hz=1.41e9, compute_capability="8.0", sm_count=108)
    found = row(validate(ceilings, NOBODY, shipped_tolerances()), "fp32 vector")
    assert found.verdict == "above"
    assert "beyond the physical limit" in found.note


@pytest.mark.parametrize(
    ("device", "clock_hz", "word"),
    [
        ({"compute_capability": "99.9", "sm_count": 100}, 1e9, "unknown architecture"),
        ({"compute_capability": "8.0"}, 1e9, "sm_count"),
        ({"compute_capability": "8.0", "sm_count": 108}, None, "clock was not measured"),
        ({}, 1e9, "no limit"),
    ],
)
def test_a_theoretical_peak_that_cannot_be_known_has_a_reason(device: dict[str, Json], clock_hz: float | None, word: str) -> None:
    ceilings = measured(peaks={("fp32", "vector"): 1 * T}, clock_hz=clock_hz, **device)
    validation = checked(validate(ceilings, NOBODY, shipped_tolerances()))
    assert row(validation, "fp32 vector").verdict == "unknown"
    assert word in row(validation, "fp32 vector").note
    assert validation.verdict == "unknown"


def test_the_limit_in_the_file_goes_before_the_tables() -> None:
    ceiling = replace(measured(peaks={("fp32", "vector"): 1 * T}).compute_ceilings[0], limit=2 * T, limit_source="measured clock")
    assert theoretical_rate(ceiling, {"compute_capability": "8.0", "sm_count": 1}) == Limit(2 * T, "measured clock")


def test_a_cpu_gets_its_peak_from_family_model_and_vector_width() -> None:
    turin: dict[str, Json] = {"vendor": "AuthenticAMD", "family": 26, "model": 2, "name": "AMD EPYC", "vector_bytes": 64, "threads": 2}
    ceilings = measured({"L1": 1 * T}, {("fp64", "vector"): 0.26 * T}, clock_hz=4.2e9)
    rate = theoretical_rate(ceilings.compute_ceilings[0], turin)
    reads = theoretical_bandwidth(ceilings.bandwidth_ceilings[0], turin)
    assert isinstance(rate, Limit)
    assert isinstance(reads, Limit)
    assert rate.value == pytest.approx(2 * 32 * 4.2e9)
    assert reads.value == pytest.approx(2 * 128 * 4.2e9)


def test_dram_channels_give_a_cpu_its_theoretical_bandwidth() -> None:
    found = theoretical_dram({"dram_channels": 12, "dram_transfers_per_s": 4.8e9})
    assert isinstance(found, Limit)
    assert found.value == pytest.approx(460.8e9)
    assert isinstance(theoretical_dram({"dram_channels": 12}), NoLimit)


def test_rates_on_integers_are_in_operations() -> None:
    validation = checked(
        validate(measured(peaks={("int8", "tensor"): 500 * T}), Match(shipped_sheets()["A100-SXM4-80GB"], "given"), shipped_tolerances())
    )
    assert row(validation, "int8 tensor").unit == "op/s"


def test_integers_on_a_cpu_are_judged_by_a_tolerance_of_their_own() -> None:
    # What two threads of a Zen 3 guest reached of 32 operations per cycle and core: 164.9 of 207.4 G per second.
    ceilings = measured(peaks={("int32", "vector"): 0.1649 * T, ("fp32", "vector"): 0.1649 * T}, kind="cpu")
    ceilings = replace(ceilings, compute_ceilings=tuple(replace(c, limit=0.2074 * T) for c in ceilings.compute_ceilings))
    validation = checked(validate(ceilings, NOBODY, shipped_tolerances()))
    assert row(validation, "int32 vector").theoretical_ratio == pytest.approx(0.795, abs=1e-3)
    assert row(validation, "int32 vector").verdict == "pass"
    assert row(validation, "fp32 vector").verdict == "below"


def test_every_shipped_tolerance_has_a_reason() -> None:
    tolerances = shipped_tolerances()
    assert all(t.reason and t.least < t.most for t in tolerances.by_key.values())
    assert tolerances.of("sheet", "cuda", "dram").least == 0.88
    assert tolerances.of("sheet", "rocm", "dram") == tolerances.of("sheet", "cuda", "dram")


TOLERANCES = resources.files("ert.configs").joinpath("validate.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("least = 0.88", "least = 1.2", ["least", "below most"]),
        ("least = 0.88", "least = -1", ["least", "-1"]),
        ("least = 0.88", "", ["least", "missing"]),
        ("[sheet.cuda.dram]", "[sheet.cuda.hbm]", ["dram", "missing"]),
        ("[peak.cpu.tensor]", "[peak.npu.tensor]", ["npu", "unknown"]),
    ],
)
def test_a_sloppy_table_of_tolerances_is_refused_by_file_and_field(old: str, new: str, words: list[str]) -> None:
    assert old in TOLERANCES
    with pytest.raises(ConfigError) as refused:
        parse_tolerances(TOLERANCES.replace(old, new, 1), "validate.toml")
    assert all(word in str(refused.value) for word in ["validate.toml, line", *words]), str(refused.value)
