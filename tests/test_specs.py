"""Spec sheets: the shipped ones are sound, own ones are read strictly, devices are matched by name and never by a part of one."""

from __future__ import annotations

import contextlib
import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import ConfigError
from ert.limits import Limit, gpu_limits
from ert.spec_match import Facts, Match, device_facts, given_sheet, match_sheet
from ert.spec_sheet import Sheet, SheetNumber
from ert.spec_units import binary_reading, parse_amount, parse_unit
from ert.specs import by_name, find_sheet, parse_sheet, read_sheet, shipped_sheets

DATA = Path(__file__).parent / "data" / "specs"
FULL = (DATA / "full.toml").read_text(encoding="utf-8")


def number(sheet: Sheet, what: str) -> SheetNumber:
    found = sheet.number(what)
    assert found is not None, what
    return found


@pytest.mark.parametrize("sheet", shipped_sheets().values(), ids=lambda sheet: sheet.name)
def test_every_shipped_number_has_a_source_with_address_and_date(sheet: Sheet) -> None:
    for found in sheet.numbers:
        assert found.source.title
        assert found.source.where.startswith("https://")
        assert re.fullmatch(r"20\d\d-\d\d|not stated", found.source.date)
        assert found.amount.value > 0


@pytest.mark.parametrize("sheet", shipped_sheets().values(), ids=lambda sheet: sheet.name)
def test_every_shipped_number_was_checked_or_says_that_it_is_unconfirmed(sheet: Sheet) -> None:
    for found in sheet.numbers:
        assert found.unconfirmed or (found.source.checked and found.source.seen), found.what


@pytest.mark.parametrize("sheet", shipped_sheets().values(), ids=lambda sheet: sheet.name)
def test_every_shipped_product_has_the_year_it_was_announced_in(sheet: Sheet) -> None:
    assert sheet.announced is not None
    assert 2017 <= sheet.announced <= 2026


# What a chip can do in one clock cycle, times the printed clock, is the printed rate, but for rounding.
# The L40's sheet prints half of the tensor rates of the L40S, the same chip; its note says so.
HALVED = {("L40", "tensor")}


@pytest.mark.parametrize("sheet", [s for s in shipped_sheets().values() if s.kind == "cuda"], ids=lambda sheet: sheet.name)
def test_a_printed_rate_is_what_the_chip_does_per_cycle_times_the_printed_clock(sheet: Sheet) -> None:
    limits = gpu_limits(sheet.identity.compute_capability or "")
    assert limits
    for found in sheet.numbers:
        if not (found.precision and found.path and found.clock_hz and sheet.identity.sm_count):
            continue
        per_cycle = limits.flop_per_cycle(found.precision, found.path, is_geforce="GeForce" in sheet.product)
        assert isinstance(per_cycle, Limit)
        expected = per_cycle.value * sheet.identity.sm_count * found.clock_hz
        expected /= 2 if (sheet.name, found.path) in HALVED else 1
        assert found.dense_value == pytest.approx(expected, rel=0.02), found.what


@pytest.mark.parametrize("sheet", shipped_sheets().values(), ids=lambda sheet: sheet.name)
def test_every_shipped_sheet_can_be_matched_and_has_a_dram_bandwidth(sheet: Sheet) -> None:
    assert sheet.identity.names or sheet.identity.pattern
    assert sheet.number("DRAM bandwidth")


def test_the_products_of_the_field_are_there() -> None:
    expected = [
        "V100-SXM2-16GB",
        "V100-PCIe-16GB",
        "T4",
        "A10",
        "A30",
        "A40",
        "L4",
        "L40",
        "L40S",
        "B200",
        "GB200",
        "MI210",
        "MI250X",
        "MI300X",
    ]
    expected += [
        "A100-SXM4-40GB",
        "A100-SXM4-80GB",
        "A100-PCIe-40GB",
        "A100-PCIe-80GB",
        "H100-SXM5-80GB",
        "H100-PCIe-80GB",
        "H100-NVL-94GB",
    ]
    expected += ["H200-SXM-141GB", "H200-NVL-141GB", "GH200-96GB", "GH200-144GB", "RTX 3090", "RTX 4090", "RTX 5090", "RTX 6000 Ada"]
    expected += ["EPYC 9004", "EPYC 9005", "Xeon 4th generation", "Xeon 5th generation", "Xeon 6900P"]
    assert set(expected) <= set(shipped_sheets())


# What the vendors print for one device, dense, in T: looked up apart from the sheets.
PUBLISHED = [
    ("V100-SXM2-16GB", "fp64 vector", 7.8),
    ("A100-SXM4-80GB", "DRAM bandwidth", 2.039),
    ("A100-SXM4-80GB", "fp16 tensor", 312),
    ("H100-SXM5-80GB", "fp16 tensor", 989.5),
    ("H100-SXM5-80GB", "DRAM bandwidth", 3.35),
    ("H200-SXM-141GB", "DRAM bandwidth", 4.8),
    ("H200-SXM-141GB", "fp8 tensor", 1979),
    ("L4", "fp16 tensor", 121),
    ("L40S", "fp8 tensor", 733),
    ("B200", "DRAM bandwidth", 7.7),
    ("B200", "fp32 vector", 75),
    ("GB200", "DRAM bandwidth", 8),
    ("GB200", "fp64 vector", 40),
    ("H100-NVL-94GB", "DRAM bandwidth", 3.938),
    ("MI250X", "fp64 vector", 23.95),
    ("B200", "fp16 tensor", 2250),
    ("GB200", "fp16 tensor", 2500),
    ("RTX 4090", "fp8 tensor", 330.3),
    ("RTX 5090", "DRAM bandwidth", 1.792),
    ("MI300X", "bf16 tensor", 1307.4),
    ("EPYC 9004", "DRAM bandwidth", 0.4608),
    ("EPYC 9005", "DRAM bandwidth", 0.576),
]


@pytest.mark.parametrize(("name", "what", "tera"), PUBLISHED)
def test_dense_numbers_per_device_are_the_published_ones(name: str, what: str, tera: float) -> None:
    assert number(shipped_sheets()[name], what).dense_value == pytest.approx(tera * 1e12, rel=1e-9)


def expected_name(words: str) -> str | None:
    """The names.csv of the case: "L40S, not L40 and not L4" means L40S, "unknown or H800, never H100" may be unknown."""
    return None if words.startswith(("unknown", "GH200-96GB-or")) else words.partition(",")[0]


@pytest.mark.parametrize("row", list(csv.DictReader((DATA / "names.csv").read_text().splitlines())), ids=lambda row: row["cuda_name"])
def test_device_names_find_their_own_sheet(row: dict[str, str]) -> None:
    assert match_sheet(Facts(row["cuda_name"]), shipped_sheets().values()).name == expected_name(row["expected_spec"])


@pytest.mark.parametrize(
    ("device", "sheet"),
    [
        ("A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("GeForce RTX 3090", "RTX 3090"),
        ("AMD EPYC 9654 96-Core Processor", "EPYC 9004"),
        ("AMD EPYC 9B45", "EPYC 9005"),
        ("Intel(R) Xeon(R) Platinum 8480+", "Xeon 4th generation"),
        ("INTEL(R) XEON(R) PLATINUM 8592+", "Xeon 5th generation"),
        ("Intel(R) Xeon(R) Platinum 8558", None),
        ("Intel(R) Xeon(R) Platinum 8558P", "Xeon 5th generation"),
        ("Intel(R) Xeon(R) Gold 6430", None),
        ("Intel(R) Xeon(R) 6980P", "Xeon 6900P"),
        ("AMD EPYC", None),
        ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", None),
        ("NVIDIA H100", None),
        ("", None),
    ],
)
def test_older_drivers_and_cpus_are_matched_whole_too(device: str, sheet: str | None) -> None:
    assert match_sheet(Facts(device), shipped_sheets().values()).name == sheet


@given(st.text(alphabet="ABHL 0123456789GX-", max_size=20), st.sampled_from(["NVIDIA H200", "NVIDIA A100-SXM4-80GB", "NVIDIA L4"]))
def test_no_name_with_something_added_finds_the_sheet_of_the_shorter_one(more: str, name: str) -> None:
    known = {n for sheet in shipped_sheets().values() for n in sheet.identity.names}
    longer = f"{name}{more}x"
    assert longer in known or match_sheet(Facts(longer), shipped_sheets().values()).sheet is None


def test_memory_size_tells_two_products_of_one_name_apart() -> None:
    both = match_sheet(Facts("NVIDIA GH200 480GB"), shipped_sheets().values())
    assert both.sheet is None
    assert set(both.candidates) == {"GH200-96GB", "GH200-144GB"}
    assert match_sheet(Facts("NVIDIA GH200 480GB", memory_bytes=97871 * 2**20), shipped_sheets().values()).name == "GH200-96GB"
    assert match_sheet(Facts("NVIDIA GH200 480GB", memory_bytes=146831 * 2**20), shipped_sheets().values()).name == "GH200-144GB"


def test_facts_that_fit_make_a_candidate_but_no_match() -> None:
    found = match_sheet(Facts("NVIDIA H800", "9.0", 132, 81559 * 2**20, 5120), shipped_sheets().values())
    assert found.sheet is None
    assert "H100-SXM5-80GB" in found.candidates
    assert "H800" in found.reason


def test_facts_alone_decide_where_the_driver_has_no_name() -> None:
    facts = Facts("NVIDIA Graphics Device", "9.0", 132, 143771 * 2**20, 6144)
    assert match_sheet(facts, [shipped_sheets()["H200-SXM-141GB"], shipped_sheets()["A30"]]).name == "H200-SXM-141GB"
    # The sheets of the NVL and of the superchip leave the bus out, and nothing they state is different.
    assert match_sheet(facts, shipped_sheets().values()).candidates == ("GH200-144GB", "H200-NVL-141GB", "H200-SXM-141GB")


def test_a_name_that_its_facts_contradict_is_no_match() -> None:
    found = match_sheet(Facts("NVIDIA A30", "8.0", 108), shipped_sheets().values())
    assert found.sheet is None
    assert "SM count is 108, not 56" in found.reason
    assert found.candidates == ("A30",)


@pytest.mark.parametrize(
    ("device", "sm_count", "compute", "memory"),
    [
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", None, 3 / 7, 4 / 8),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 42, 42 / 108, 4 / 8),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None, 1 / 7, 1 / 8),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", None, 1 / 7, 1 / 8),
        ("NVIDIA H200 MIG 1g.18gb", None, 1 / 7, 1 / 8),
        ("NVIDIA A30 MIG 2g.12gb", None, 2 / 4, 4 / 8),
        ("NVIDIA A100-SXM4-80GB MIG 1c.3g.40gb", None, 1 / 7, 4 / 8),
    ],
)
def test_a_mig_slice_holds_its_share_of_the_card(device: str, sm_count: int | None, compute: float, memory: float) -> None:
    found = match_sheet(Facts(device, sm_count=sm_count), shipped_sheets().values())
    assert found.mig is not None
    assert (found.mig.compute, found.mig.memory) == pytest.approx((compute, memory))
    assert found.name is not None
    assert found.name.endswith(device[device.index("MIG") :])


def test_a_slice_of_an_unknown_card_has_no_sheet() -> None:
    assert match_sheet(Facts("NVIDIA Unheard-of MIG 1g.5gb"), shipped_sheets().values()).name is None


def test_a_sheet_given_by_name_is_taken_and_a_foreign_one_says_so() -> None:
    sheet = shipped_sheets()["H100-SXM5-80GB"]
    assert given_sheet(sheet, Facts("NVIDIA H100 80GB HBM3")) == Match(sheet, "given by name")
    assert "NVIDIA H200" in given_sheet(sheet, Facts("NVIDIA H200")).reason
    assert given_sheet(sheet, Facts("NVIDIA H100 80GB HBM3 MIG 1g.10gb")).name == "H100-SXM5-80GB/MIG 1g.10gb"


def test_device_facts_take_only_sensible_values() -> None:
    assert device_facts({"name": "X", "sm_count": 0, "memory_bytes": True, "compute_capability": 9.0}) == Facts("X")
    assert device_facts({}) == Facts("")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.35 TB/s", 3.35e12),
        ("2,000 GB/s", 2e12),
        ("16000 Gbit/s", 2e12),
        ("16000 Gb/s", 2e12),
        ("1862.645149 GiB/s", 1862.645149 * 2**30),
        ("19.5 TFLOPS", 19.5e12),
        ("19.5 TFLOP/s", 19.5e12),
        ("624 TOPS", 624e12),
        ("40 MB", 40e6),
        ("40960 KiB", 40960 * 1024),
        ("1410 MHz", 1.41e9),
        ("3.35e3 GB/s", 3.35e12),
        ("2PFLOP/s", 2e15),
    ],
)
def test_units_as_vendors_print_them(text: str, value: float) -> None:
    assert parse_amount(text).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["3.35e3", "n/a", "", "-5 GB/s", "0 GB/s", "1,5 TB/s", "12,34 GB/s", "5 XB/s", "5 mB/s", "5 GB/h", "nan GB/s", "1e999 B"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_amount(text)


@given(st.floats(1e-3, 1e6), st.sampled_from(["GB/s", "Gbit/s", "TFLOP/s", "MiB", "GHz"]))
def test_an_amount_prints_and_reads_back(value: float, unit: str) -> None:
    factor, quantity = parse_unit(unit)
    found = parse_amount(f"{value!r} {unit}")
    assert found.quantity == quantity
    assert found.value == pytest.approx(value * factor)


@given(st.text(max_size=30))
def test_no_text_makes_the_reader_of_amounts_fail_otherwise(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert parse_amount(text).value > 0


def test_a_sheets_megabyte_of_cache_may_be_a_mebibyte() -> None:
    assert binary_reading(parse_amount("40 MB")) == pytest.approx(1.048576)
    assert binary_reading(parse_amount("40960 KiB")) == 1.0


def test_the_full_form_reads_scope_sparsity_and_clock() -> None:
    sheet = parse_sheet(FULL, "full.toml")
    assert number(sheet, "DRAM bandwidth").dense_value == 2e12  # 16 TB/s for a node of 8
    assert number(sheet, "fp16 tensor").dense_value == 320e12  # half of the sparse number
    assert number(sheet, "fp32 vector").clock_hz == 1.41e9
    assert number(sheet, "L2 capacity").source.title == "Example data sheet"
    assert number(sheet, "L2 capacity").source.checked == "2026-11-30"
    assert number(sheet, "L2 capacity").source.seen == ("https://example.com/sheet",)
    assert number(sheet, "fp16 tensor").unconfirmed == "no page shows it"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('value = "20 TFLOP/s"', 'value = "20"', 9, ["compute 1", "value", "no unit"]),
        ('value = "20 TFLOP/s"', 'value = "20 TFLOP/h"', 9, ["compute 1", "value", "unit"]),
        ('value = "20 TFLOP/s"', 'value = "-20 TFLOP/s"', 9, ["compute 1", "value", "above 0"]),
        ('value = "20 TFLOP/s"', 'value = "20 TB/s"', 9, ["compute 1", "value", "bandwidth", "rate"]),
        ('value = "20 TFLOP/s"', "value = 20", 9, ["compute 1", "value", "text"]),
        ('value = "20 TFLOP/s", ', "", 9, ["compute 1", "value", "missing"]),
        (', source = "sheet" },\n  { precision = "fp16"', ' },\n  { precision = "fp16"', 9, ["compute 1", "source", "missing"]),
        ('density = "sparse", ', "", 10, ["compute 2", "density", "missing"]),
        ('density = "sparse"', 'density = "thick"', 10, ["compute 2", "density", "thick"]),
        ('precision = "fp16"', 'precision = "fp17"', 10, ["compute 2", "precision", "fp17", "fp16"]),
        ('precision = "fp16", path = "tensor"', 'precision = "fp32", path = "vector"', 10, ["compute 2", "fp32 vector", "twice"]),
        ('clock = "boost", source', 'clock = "turbo", source', 10, ["compute 2", "clock", "turbo"]),
        ('level = "DRAM", value = "16 TB/s"', 'level = "HBM", value = "16 TB/s"', 13, ["bandwidth 1", "level", "HBM"]),
        ("devices = 8", "devices = 0", 13, ["bandwidth 1", "devices"]),
        ("devices = 8", "device = 8", 13, ["bandwidth 1", "device", "unknown"]),
        ('value = "40 MB"', 'value = "40 MB/s"', 23, ["capacity 2", "value"]),
        ('source = "sheet"\n\n[match]', 'source = "book"\n\n[match]', 24, ["capacity 2", "source", "book"]),
        ('kind = "cuda"', 'kind = "gpu"', 4, ["kind", "gpu"]),
        ("sm_count = 100", "sm_count = 1.5", 29, ["match", "sm_count"]),
        ("sm_count = 100", "sm_count = 1" + "0" * 400, 29, ["match", "sm_count", "must be a positive number"]),
        ('date = "2026-01"', "", 32, ["sources", "sheet", "date", "missing"]),
        ('checked = "2026-11-30"\n', "", 32, ["sources", "sheet", "checked", "missing"]),
        ('seen = ["https://example.com/sheet"]', "", 32, ["sources", "sheet", "seen", "missing"]),
        ('seen = ["https://example.com/sheet"]', "seen = []", 37, ["sources", "sheet", "seen", "list"]),
        ('checked = "2026-11-30"', 'checked = "yesterday"', 36, ["sources", "sheet", "checked", "2026-11-30", "yesterday"]),
        ('name = "Example-80GB"', "", 1, ["name", "missing"]),
        ('vendor = "Example"', 'vendor = "Example"\nvendor = "Twice"', 4, ["not valid TOML", 'vendor = "Twice"']),
        ('vendor = "Example"', 'vendor = "Example"\nannounced = 20.5', 4, ["announced", "whole number"]),
    ],
)
def test_a_sloppy_sheet_is_refused_with_file_line_and_field(old: str, new: str, line: int, words: list[str]) -> None:
    assert old in FULL
    with pytest.raises(ConfigError) as refused:
        parse_sheet(FULL.replace(old, new, 1), "own/sheet.toml")
    message = str(refused.value)
    assert "own/sheet.toml" in message
    assert f"line {line}" in message, message
    assert all(word in message for word in words), message


@pytest.mark.parametrize("text", ["x = " + "9" * 5000, "x = " + "[" * 5000])
def test_a_sheet_that_no_parser_holds_is_refused_without_a_traceback(text: str) -> None:
    with pytest.raises(ConfigError, match=r"own/sheet\.toml: not valid TOML"):
        parse_sheet(text, "own/sheet.toml")


def test_two_sheets_of_one_name_are_refused() -> None:
    sheet = parse_sheet(FULL, "one.toml")
    with pytest.raises(ConfigError, match=r"two\.toml: name: 'Example-80GB' is also the name of one\.toml"):
        by_name([sheet, replace(sheet, file="two.toml")])


def test_the_short_form_needs_a_few_lines_only() -> None:
    sheet = read_sheet(str(DATA / "own.toml"))
    assert sheet.name == "My accelerator"
    assert number(sheet, "DRAM bandwidth").dense_value == 2e12
    assert number(sheet, "L2 capacity").amount.value == 40e6
    assert number(sheet, "fp32 vector").dense_value == 19.5e12
    assert number(sheet, "fp16 tensor").dense_value == 312e12
    assert {n.clock_hz for n in sheet.numbers if n.precision} == {1.41e9}


def test_a_footnote_about_sparsity_counts_and_a_tensor_rate_without_a_word_is_refused() -> None:
    assert number(read_sheet(str(DATA / "sparse_footnote.json")), "fp16 tensor").dense_value == 989.5e12
    assert number(read_sheet(str(DATA / "dense.json")), "fp16 tensor").dense_value == 989.5e12
    with pytest.raises(ConfigError, match="sparsity: is missing"):
        parse_sheet('device = "X"\nfp16_tensor = "100 TFLOP/s"', "x.toml")


def test_every_wrong_field_of_a_short_sheet_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        read_sheet(str(DATA / "unit_typo.json"))
    lines = str(refused.value).splitlines()
    assert [field for field in ("fp32", "fp64", "fp16", "tf32") if any(f": {field}: " in line for line in lines)] == [
        "fp32",
        "fp64",
        "fp16",
        "tf32",
    ]
    assert [f"line {n}" in line for n, line in zip((4, 5, 6, 7), lines, strict=True)] == [True] * 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('device = "X"', ["no number"]),
        ('dram = "1 TB/s"', ["device", "is missing"]),
        ("", ["line 1", "device", "is missing"]),
        ('device = "X"\ndram = "1 TB/s"\ndramm = "1 TB/s"', ["dramm", "unknown"]),
        ('device = "X"\nfp32_TFLOPS = "n/a"', ["fp32_TFLOPS", "plain number"]),
        ('device = "X"\nfp32 = "1 TB/s"', ["fp32", "bandwidth", "rate"]),
        ('device = "X"\nfp32 = "1,5 TFLOP/s"', ["fp32", "a comma separates thousands only"]),
        ('device = "X"\ndram = 5', ["dram", "no unit"]),
        ('device = "X"\ndram_GBps = "5"', ["dram_GBps", "plain number"]),
        ('device = "X"\ndram_GBps = -5', ["dram_GBps", "above 0"]),
        ('device = "X"\ndram = true', ["dram", "True"]),
        ('device = "X"\ndram = [1]', ["dram", "[1]"]),
        ('device = "X"\ndram = { value = 1, unit = "TB/s", per = "s" }', ["dram"]),
        ('device = "X"\ndram = "1 TB/s"\ndram_GBps = 5', ["dram_GBps", "twice"]),
        ('device = "X"\ndram = "1 TB/s"\nsparsity = "yes"', ["sparsity", "true or false"]),
    ],
)
def test_a_sloppy_short_sheet_is_refused_by_field(text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_sheet(text, "short.toml")
    assert all(word in str(refused.value) for word in ["short.toml", *words]), str(refused.value)


def test_a_sheet_is_found_by_name_in_any_case_or_as_a_file() -> None:
    assert find_sheet("h100-sxm5-80gb").name == "H100-SXM5-80GB"
    assert find_sheet(str(DATA / "own.toml")).name == "My accelerator"
    with pytest.raises(ConfigError, match=r"Near: .*H100-SXM5-80GB"):
        find_sheet("H100-SXM-80GB")
    with pytest.raises(ConfigError, match=r"'H200', and it is no file\. Near: H200-NVL-141GB, H200-SXM-141GB\."):
        find_sheet("H200")
    with pytest.raises(ConfigError, match="no spec sheet is called ''"):
        find_sheet("")


def test_json_that_is_no_object_is_no_sheet() -> None:
    with pytest.raises(ConfigError, match="an object, not list"):
        parse_sheet("[1]", "x.json")
