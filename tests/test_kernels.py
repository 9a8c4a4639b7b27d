"""ert.kernels: the catalogue read from facts headers; whatever a header holds, it is a kernel or an error that names the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import KernelError
from ert.kernels import kernel_folder, kernel_names, load_kernels, parse_kernel, shared_sources, source_hashes

LIES = Path(__file__).parent / "data" / "kernels"
GOOD = """/*ert
summary = "x"
measures = "compute"
op = "fma"
precisions = ["fp64"]

[parameters]
ERT_CHAINS = { default = 8, values = [4, 8], only = { 4 = ["L1"] }, doc = "chains" }

[trip]
flops = "2 * ERT_CHAINS * lanes"
*/
"""


def kernel(text: str = GOOD):
    return parse_kernel("own.c", text, "cpu")


def facts(flops: str, **trip: str):
    rows = "".join(f"{key} = {json.dumps(value)}\n" for key, value in trip.items())
    return kernel(GOOD.replace('flops = "2 * ERT_CHAINS * lanes"', f"flops = {json.dumps(flops)}\n{rows}"))


def message(text: str) -> str:
    with pytest.raises(KernelError) as caught:
        kernel(text)
    return str(caught.value)


@pytest.fixture
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ERT_KERNELS_CPU", str(tmp_path))
    load_kernels.cache_clear()
    yield tmp_path
    load_kernels.cache_clear()


def test_the_shipped_kernels_measure_every_operation_of_the_contract():
    bandwidth = {k.op for k in load_kernels("cpu").values() if k.measures == "bandwidth"}
    assert bandwidth == {"read", "write", "copy", "triad", "update"}
    compute = {(p, k.op) for k in load_kernels("cpu").values() if k.measures == "compute" for p in k.precisions}
    assert {(p, "fma") for p in ("fp64", "fp32", "fp16", "bf16", "int32", "int16", "int8")} <= compute
    assert {(p, "fma+add") for p in ("fp64", "fp32")} <= compute


def test_the_mixed_kernel_goes_from_one_to_1024_operations_an_element():
    assert load_kernels("cpu")["mixed"].parameters["ERT_FLOPS"].values == tuple(2**n for n in range(11))


def test_trip_facts_of_the_triad_by_hand():
    # 16 vectors of 4 doubles: two loads, one store and two operations for each.
    trip = load_kernels("cpu")["triad"].trip_facts({}, element_bytes=8, vector_bytes=32)
    assert (trip.flops, trip.bytes_loaded, trip.bytes_stored, trip.array_bytes) == (128, 1024, 512, 512)
    assert trip.bytes == 1536


def test_parameters_fill_the_expressions_and_defaults_stand_in():
    assert kernel().trip_facts({"ERT_CHAINS": 4}, element_bytes=4, vector_bytes=64).flops == 2 * 4 * 16
    assert kernel().trip_facts({}, element_bytes=8, vector_bytes=16).flops == 2 * 8 * 2
    assert kernel().combinations() == [{"ERT_CHAINS": 4}, {"ERT_CHAINS": 8}]


def test_a_value_can_be_kept_to_some_levels():
    parameter = kernel().parameters["ERT_CHAINS"]
    assert parameter.fits(4, "L1")
    assert not parameter.fits(4, "L2")
    assert not parameter.fits(4, None)
    assert parameter.fits(8, "L2")


@pytest.mark.parametrize(
    ("expression", "value"), [("7", 7), ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("17 // 5", 3), ("17 % 5", 2), ("lanes - 1", 3)]
)
def test_expressions_are_whole_number_arithmetic(expression, value):
    assert facts(expression).trip_facts({}, element_bytes=8, vector_bytes=32).flops == value


@pytest.mark.parametrize(
    "expression",
    ["nope", "2 ** 8", "1 / 2", "lanes.real", "f(1)", "[1]", "1 // 0", "1 % 0", "", "1 +", "\x00", "(" * 500, "9" * 5000, "True", "1.5"],
)
def test_everything_else_in_an_expression_is_refused(expression):
    with pytest.raises(KernelError, match=r"own.c: "):
        facts(expression).trip_facts({}, element_bytes=8, vector_bytes=32)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int main;", "no facts header"),
        ("/*ert\nsummary = \n*/", "the facts header: not valid TOML"),
        ("/*ert\nsummary = 'x'\n*/", "missing measures, op, precisions, trip"),
        (GOOD.replace("[trip]", "[tripp]"), "missing trip"),
        (GOOD.replace("[trip]", "tripe = 1\n[trip]"), "parameter tripe: must be a table with a whole number as default"),
        (GOOD.replace("op =", "opp = 1\nop ="), "unknown key opp; known: arrays"),
        (GOOD.replace('"fma"', '"fuse"'), "op = 'fuse' is unknown; known: read"),
        (GOOD.replace('"compute"', '"speed"'), "measures = 'speed' is unknown"),
        (GOOD.replace('["fp64"]', '["fp46"]'), "precisions: 'fp46' is unknown"),
        (GOOD.replace('["fp64"]', '"fp64"'), "precisions = 'fp64' must be a list of names"),
        (GOOD.replace('summary = "x"', "summary = 3"), "summary = 3 must be text"),
        (GOOD.replace("op =", "arrays = 0\nop ="), "arrays = 0 must be a whole number from 1"),
        (GOOD.replace("op =", 'levels = ["L9"]\nop ='), "levels: 'L9' is unknown"),
        (GOOD.replace("default = 8, ", ""), "parameter ERT_CHAINS: must be a table with a whole number as default"),
        (GOOD.replace("values = [4, 8]", "values = []"), "parameter ERT_CHAINS: values = [] must be a list of whole numbers"),
        (GOOD.replace('4 = ["L1"]', '4 = ["L9"]'), "only = {'4': ['L9']} must name memory levels for a value"),
        (GOOD.replace('4 = ["L1"]', 'x = ["L1"]'), "only = {'x': ['L1']} must name memory levels for a value"),
        (GOOD.replace("doc =", "docs ="), "parameter ERT_CHAINS: unknown key docs; known: default, doc, only, values"),
    ],
)
def test_a_slip_in_a_header_is_refused_with_file_and_key(text, said):
    assert said in message(text)
    assert message(text).startswith("own.c: ")


VALUE = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["fp64", "L1", "fma", "compute", "lanes"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["default", "values", "only", "flops", "4"]), inner, max_size=2)
    ),
    max_leaves=5,
)
ANY = ("summary", "path", "levels", "arrays", "requires", "parameters", "trip", "instructions", "experimental", "unheard_of")
GOOD_HEADER = {"summary": "x", "measures": "compute", "op": "fma", "precisions": ["fp64"], "trip": {}}


def to_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {to_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    return json.dumps(value)


@given(st.dictionaries(st.sampled_from(ANY), VALUE, max_size=4))
def test_any_header_is_a_kernel_or_an_error_that_names_the_file(changes):
    text = "/*ert\n" + "".join(f"{key} = {to_toml(value)}\n" for key, value in {**GOOD_HEADER, **changes}.items()) + "*/\n"
    try:
        found = kernel(text)
        found.trip_facts({}, element_bytes=8, vector_bytes=32)
    except KernelError as error:
        assert "own.c" in str(error)
    else:
        assert found.name == "own"
        assert found.combinations()


@given(st.text(max_size=40))
def test_any_text_is_a_kernel_or_an_error_that_names_the_file(text):
    with pytest.raises(KernelError, match=r"own\.c"):
        kernel("/*ert\n" + text + "*/\n")


@given(st.text(alphabet="0123456789+-*/%() abcdelnsER_CHAINT", max_size=30))
def test_any_expression_is_a_number_or_an_error(expression):
    try:
        assert isinstance(facts(expression).trip_facts({}, element_bytes=8, vector_bytes=32).flops, int)
    except KernelError as error:
        assert "own.c" in str(error)


def test_a_folder_of_ones_own_stands_in_for_the_shipped_kernels_with_the_shipped_headers(own_folder):
    (own_folder / "mine.c").write_text(GOOD)
    assert list(load_kernels("cpu")) == ["mine"]
    assert {"ert.h", "store.h", "runtime.c", "runtime.h"} <= set(shared_sources("cpu"))
    assert set(source_hashes("cpu")) == {"mine", *shared_sources("cpu")}
    assert "fma" in kernel_names()
    assert "fma" in load_kernels("cuda")


def test_a_header_of_ones_own_replaces_the_shipped_one_and_shows_in_the_hashes(own_folder):
    (own_folder / "mine.c").write_text(GOOD)
    before = source_hashes("cpu")
    (own_folder / "store.h").write_text("/* nothing */\n")
    assert shared_sources("cpu")["store.h"] == "/* nothing */\n"
    assert {key for key, value in source_hashes("cpu").items() if before.get(key) != value} == {"store.h"}


def test_a_folder_that_is_not_there_or_holds_no_kernel_is_refused_naming_the_variable(own_folder, monkeypatch):
    with pytest.raises(KernelError, match=r"holds no kernel \(\*\.c\)"):
        load_kernels("cpu")
    monkeypatch.setenv("ERT_KERNELS_CPU", "/nowhere")
    with pytest.raises(KernelError, match="ERT_KERNELS_CPU=/nowhere: no such folder"):
        kernel_folder("cpu")


def test_a_kernel_file_that_is_no_text_is_refused(own_folder):
    (own_folder / "mine.c").write_bytes(b"\xff\xfe")
    with pytest.raises(KernelError, match=r"mine\.c: cannot be read"):
        load_kernels("cpu")


def test_every_planted_lie_has_a_header_that_reads_like_an_honest_one():
    lies = [parse_kernel(path.name, path.read_text(), "cpu") for path in sorted(LIES.glob("*.c"))]
    assert len(lies) == 8
    assert all(lie.summary.startswith("A lie: ") for lie in lies)
