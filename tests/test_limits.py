"""The physical limits: numbers of the published tables, and the loader that refuses a sloppy one."""

from __future__ import annotations

import pytest

from ert.errors import ConfigError
from ert.limits import (
    CpuIdentity,
    Limit,
    NoLimit,
    cpu_limits,
    gpu_limits,
    parse_cpu_limits,
    parse_gpu_limits,
    why_no_cpu_limits,
)

TURIN = CpuIdentity("AuthenticAMD", 0x1A, 0x02, 1, "AMD EPYC 9B45")
MILAN = CpuIdentity("AuthenticAMD", 0x19, 0x01, 1, "AMD EPYC")
GENOA = CpuIdentity("AuthenticAMD", 0x19, 0x11, 1, "AMD EPYC 9654 96-Core Processor")
STRIX = CpuIdentity("AuthenticAMD", 0x1A, 0x24, 0, "AMD Ryzen AI 9 HX 370")
CASCADE_GOLD = CpuIdentity("GenuineIntel", 6, 85, 7, "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz")
CASCADE_SILVER = CpuIdentity("GenuineIntel", 6, 85, 7, "Intel(R) Xeon(R) Silver 4214 CPU @ 2.20GHz")
SAPPHIRE = CpuIdentity("GenuineIntel", 6, 143, 8, "Intel(R) Xeon(R) Platinum 8480+")
HASWELL = CpuIdentity("GenuineIntel", 6, 63, 2, "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz")
GRACE = CpuIdentity("0x41", 8, 0xD4F, 0, "")
GRAVITON3 = CpuIdentity("0x41", 8, 0xD40, 1, "")


def flop(identity: CpuIdentity, op: str, precision: str, vector_bytes: int) -> float:
    limits = cpu_limits(identity)
    assert limits is not None
    found = limits.flop_per_cycle(op, precision, vector_bytes)
    assert isinstance(found, Limit), found
    return found.value


def l1(identity: CpuIdentity, op: str, vector_bytes: int) -> float:
    limits = cpu_limits(identity)
    assert limits is not None
    found = limits.bytes_per_cycle("L1", op, vector_bytes)
    assert isinstance(found, Limit), found
    return found.value


@pytest.mark.parametrize(
    ("op", "precision", "expected"),
    [
        ("fma", "fp64", 32),
        ("fma", "fp32", 64),
        ("fma+add", "fp64", 48),
        ("fma+add", "fp32", 96),
        ("fma", "bf16", 128),
        ("fma", "int8", 256),
        ("fma", "int16", 128),
    ],
)
def test_zen5_server_computes_what_was_measured_on_it(op: str, precision: str, expected: float) -> None:
    assert flop(TURIN, op, precision, 64) == expected


@pytest.mark.parametrize(("op", "expected"), [("read", 128), ("write", 64), ("triad", 192), ("copy", 128), ("update", 128)])
def test_zen5_server_moves_what_was_measured_in_l1(op: str, expected: float) -> None:
    assert l1(TURIN, op, 64) == expected


def test_zen5_server_reads_64_bytes_from_l2_and_32_from_l3() -> None:
    limits = cpu_limits(TURIN)
    assert limits is not None
    l2, l3 = limits.bytes_per_cycle("L2", "read", 64), limits.bytes_per_cycle("L3", "read", 64)
    assert isinstance(l2, Limit)
    assert isinstance(l3, Limit)
    assert (l2.value, l3.value) == (64, 32)


def test_zen3_has_half_of_zen5_because_its_pipes_are_256_bits_wide() -> None:
    assert [flop(MILAN, op, "fp64", 32) for op in ("fma", "fma+add", "add", "mul")] == [16, 24, 8, 8]
    assert [l1(MILAN, op, 32) for op in ("read", "write", "triad", "copy")] == [64, 32, 96, 64]


def test_zen4_runs_512_bit_vectors_at_the_rate_of_256_bit_ones() -> None:
    for op, precision in (("fma", "fp64"), ("fma+add", "fp32"), ("fma", "int8"), ("fma", "bf16")):
        assert flop(GENOA, op, precision, 64) == flop(GENOA, op, precision, 32)
    assert l1(GENOA, "triad", 64) == l1(GENOA, "triad", 32) == 96


def test_mobile_zen5_has_half_the_rate_of_server_zen5_at_512_bits() -> None:
    assert flop(STRIX, "fma", "fp64", 64) * 2 == flop(TURIN, "fma", "fp64", 64)


def test_the_product_name_decides_between_one_and_two_avx512_units() -> None:
    assert flop(CASCADE_GOLD, "fma", "fp64", 64) == 32
    assert flop(CASCADE_SILVER, "fma", "fp64", 64) == 16
    assert flop(CASCADE_SILVER, "fma", "fp64", 32) == 16


def test_published_flops_per_cycle_of_other_cores() -> None:
    assert flop(HASWELL, "fma", "fp64", 32) == 16
    assert flop(HASWELL, "add", "fp64", 32) == 4  # one adder: the well-known oddity of Haswell
    assert flop(SAPPHIRE, "fma", "fp64", 64) == 32
    assert flop(SAPPHIRE, "fma", "fp16", 64) == 128
    assert flop(GRACE, "fma", "fp64", 16) == 16
    assert flop(GRAVITON3, "fma", "fp64", 16) == flop(GRAVITON3, "fma", "fp64", 32) == 16


def test_skylake_server_moves_what_its_manual_prints() -> None:
    assert [l1(CASCADE_GOLD, op, 64) for op in ("read", "write", "triad")] == [128, 64, 192]


def test_an_unknown_cpu_has_no_limits_and_a_reason_that_names_it() -> None:
    stranger = CpuIdentity("HygonGenuine", 24, 1, 1, "Hygon C86 7185")
    assert cpu_limits(stranger) is None
    assert "Hygon C86 7185" in why_no_cpu_limits(stranger)


@pytest.mark.parametrize(
    ("op", "precision", "vector_bytes", "word"),
    [
        ("fma", "fp64", 64, "64-byte"),
        ("fma", "bf16", 32, "dot_bf16"),
        ("mma", "fp16", 32, "mma"),
        ("fma+add", "int8", 32, "fma+add"),
        ("add", "int32", 32, "add"),
    ],
)
def test_what_the_core_lacks_has_a_reason(op: str, precision: str, vector_bytes: int, word: str) -> None:
    limits = cpu_limits(MILAN)
    assert limits is not None
    found = limits.flop_per_cycle(op, precision, vector_bytes)
    assert isinstance(found, NoLimit)
    assert word in found.reason


@pytest.mark.parametrize(("level", "op"), [("L2", "write"), ("L3", "copy"), ("DRAM", "read"), ("L1", "chase")])
def test_levels_and_operations_without_a_source_have_a_reason(level: str, op: str) -> None:
    limits = cpu_limits(MILAN)
    assert limits is not None
    assert isinstance(limits.bytes_per_cycle(level, op, 32), NoLimit)


def gpu_fma(capability: str, path: str, precision: str) -> float:
    limits = gpu_limits(capability)
    assert limits is not None
    found = limits.flop_per_cycle(precision, path)
    assert isinstance(found, Limit)
    return found.value / 2


def test_fp32_lanes_per_sm_are_those_of_the_programming_guide() -> None:
    lanes = {"7.0": 64, "7.2": 64, "7.5": 64, "8.0": 64, "8.6": 128, "8.7": 128, "8.9": 128, "9.0": 128, "10.0": 128, "12.0": 128}
    assert {capability: gpu_fma(capability, "vector", "fp32") for capability in lanes} == lanes


@pytest.mark.parametrize(
    ("capability", "sms", "clock_hz", "gflops"),
    [("8.0", 108, 1.410e9, 19491.84), ("9.0", 132, 1.830e9, 61839.36), ("7.5", 68, 1.545e9, 13447.68)],
)
def test_fp32_peak_of_known_cards(capability: str, sms: int, clock_hz: float, gflops: float) -> None:
    assert 2 * gpu_fma(capability, "vector", "fp32") * sms * clock_hz == pytest.approx(gflops * 1e9, rel=1e-9)


def test_an_unknown_capability_has_no_limits() -> None:
    assert gpu_limits("99.9") is None


# product, capability, SMs, boost Hz, path, precision, FLOP/s on the vendor's sheet, sold as GeForce
SHEETS = [
    ("V100 SXM2", "7.0", 80, 1.53e9, "vector", "fp64", 7.8e12, False),
    ("V100 SXM2", "7.0", 80, 1.53e9, "tensor", "fp16", 125e12, False),
    ("T4", "7.5", 40, 1.59e9, "tensor", "fp16", 65e12, False),
    ("T4", "7.5", 40, 1.59e9, "tensor", "int8", 130e12, False),
    ("A100", "8.0", 108, 1.41e9, "vector", "fp16", 78e12, False),
    ("A100", "8.0", 108, 1.41e9, "vector", "bf16", 39e12, False),
    ("A100", "8.0", 108, 1.41e9, "tensor", "tf32", 156e12, False),
    ("A100", "8.0", 108, 1.41e9, "tensor", "fp64", 19.5e12, False),
    ("A40", "8.6", 84, 1.74e9, "tensor", "fp16", 149.7e12, False),
    ("RTX 3090", "8.6", 82, 1.695e9, "tensor", "fp16", 71e12, True),
    ("RTX 3090", "8.6", 82, 1.695e9, "tensor", "int8", 284e12, True),
    ("RTX 4090", "8.9", 128, 2.52e9, "tensor", "fp8", 330.3e12, True),
    ("RTX 4090", "8.9", 128, 2.52e9, "vector", "fp64", 1.29e12, True),
    ("L40S", "8.9", 142, 2.52e9, "tensor", "fp8", 733e12, False),
    ("H100 SXM", "9.0", 132, 1.98e9, "vector", "fp64", 33.5e12, False),
    ("H100 SXM", "9.0", 132, 1.83e9, "tensor", "bf16", 989.4e12, False),
    ("B200", "10.0", 148, 1.85e9, "tensor", "fp8", 4500e12, False),
    ("RTX 5090", "12.0", 170, 2.407e9, "tensor", "fp16", 209.5e12, True),
    ("RTX 5090", "12.0", 170, 2.407e9, "vector", "int32", 104.8e12, True),
]


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: f"{sheet[0]} {sheet[4]} {sheet[5]}")
def test_rates_reproduce_the_peaks_of_the_sheets(sheet: tuple[str, str, int, float, str, str, float, bool]) -> None:
    _, capability, sms, clock_hz, path, precision, expected, is_geforce = sheet
    limits = gpu_limits(capability)
    assert limits is not None
    found = limits.flop_per_cycle(precision, path, is_geforce=is_geforce)
    assert isinstance(found, Limit)
    assert found.value * sms * clock_hz == pytest.approx(expected, rel=0.03)


def test_turing_moves_half_of_what_volta_moves_in_l1() -> None:
    turing, volta = gpu_limits("7.5"), gpu_limits("7.0")
    assert turing is not None
    assert volta is not None
    half, full = turing.bytes_per_cycle("shared"), volta.bytes_per_cycle("shared")
    assert isinstance(half, Limit)
    assert isinstance(full, Limit)
    assert half.value * 2 == full.value == 128


def test_a_unit_that_is_not_there_has_a_reason() -> None:
    volta = gpu_limits("7.0")
    assert volta is not None
    for found in (volta.flop_per_cycle("bf16", "tensor"), volta.bytes_per_cycle("DRAM")):
        assert isinstance(found, NoLimit)
        assert "7.0" in found.reason


GOOD_CPU = """
[sources]
guide = "a guide, page 1"
[[microarchitecture]]
name = "Core"
vendor = "V"
models = [[1, 2]]
widths = [16]
fma = { per_cycle = [2], source = "guide" }
l2_read = { bytes = 32, source = "guide" }
"""
GOOD_GPU = """
[sources]
guide = "a guide, page 1"
[[capability]]
capability = "1.0"
name = "Chip"
vector.fp32 = { fma = 8, source = "guide" }
l1 = { bytes = 4, source = "guide" }
geforce_half = { precisions = ["fp16"], source = "guide" }
"""


def test_a_sound_table_loads() -> None:
    assert parse_cpu_limits(GOOD_CPU, "f.toml")[0].name == "Core"
    assert list(parse_gpu_limits(GOOD_GPU, "f.toml")) == ["1.0"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (', source = "guide" }\nl2', " }\nl2", ["Core", "fma", "source"]),
        ('source = "guide" }\nl2', 'source = "other" }\nl2', ["fma", "source", "other"]),
        ("per_cycle = [2]", "per_cycle = [-2]", ["fma", "per_cycle", "-2"]),
        ("per_cycle = [2]", "per_cycle = [inf]", ["per_cycle", "inf"]),
        ("per_cycle = [2]", "per_cycle = [2, 2]", ["per_cycle", "2 numbers for 1 widths"]),
        ("per_cycle = [2]", 'per_cycle = "2"', ["per_cycle", "list"]),
        ("bytes = 32", "bytes = true", ["l2_read", "bytes", "True"]),
        ("bytes = 32", "bites = 32", ["l2_read", "bytes", "missing"]),
        ("fma =", "fmaa =", ["fmaa", "unknown"]),
        ("models = [[1, 2]]", "models = [[2, 1]]", ["models", "[2, 1]"]),
        ("models = [[1, 2]]", "", ["models", "missing"]),
        ('vendor = "V"', 'vendor = "V"\nname_pattern = "("', ["name_pattern", "regular expression"]),
        ('name = "Core"', "name = 1", ["name", "text"]),
        ("l2_read = {", "fma = {", ["f.toml", "line 10"]),
        ("[sources]", "[source]", ["sources", "missing"]),
        ("[[microarchitecture]]", "[microarchitecture]", ["microarchitecture", "list"]),
    ],
)
def test_a_sloppy_cpu_table_is_refused_by_file_and_field(old: str, new: str, words: list[str]) -> None:
    assert old in GOOD_CPU
    with pytest.raises(ConfigError) as refused:
        parse_cpu_limits(GOOD_CPU.replace(old, new, 1), "f.toml")
    assert all(word in str(refused.value) for word in ["f.toml", *words]), str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("fma = 8", "fma = 0", ["vector", "fp32", "fma", "0"]),
        ("vector.fp32", "vector.fp17", ["vector", "fp17", "unknown"]),
        ("vector.fp32 = { fma = 8", "vector = { fma = 8", ["vector", "unknown"]),
        ('["fp16"]', '["fp17"]', ["geforce_half", "fp17"]),
        ("bytes = 4", "bytes = nan", ["l1", "bytes", "nan"]),
    ],
)
def test_a_sloppy_gpu_table_is_refused_by_file_and_field(old: str, new: str, words: list[str]) -> None:
    assert old in GOOD_GPU
    with pytest.raises(ConfigError) as refused:
        parse_gpu_limits(GOOD_GPU.replace(old, new, 1), "f.toml")
    assert all(word in str(refused.value) for word in ["f.toml", *words]), str(refused.value)


def test_a_complaint_names_the_line() -> None:
    with pytest.raises(ConfigError, match=r"f\.toml, line 9: microarchitecture 'Core': fma: per_cycle"):
        parse_cpu_limits(GOOD_CPU.replace("per_cycle = [2]", "per_cycle = [0]"), "f.toml")


def test_two_entries_for_one_processor_are_refused() -> None:
    entry = GOOD_CPU.split("[[microarchitecture]]")[1]
    twin = entry.replace("Core", "Twin").replace("[[1, 2]]", "[[2, 5]]")
    with pytest.raises(ConfigError, match="'Twin' and 'Core'"):
        parse_cpu_limits(GOOD_CPU + "[[microarchitecture]]" + twin, "f.toml")
    with pytest.raises(ConfigError, match=r"1\.0 stands twice"):
        parse_gpu_limits(GOOD_GPU + "[[capability]]" + GOOD_GPU.split("[[capability]]")[1], "f.toml")
