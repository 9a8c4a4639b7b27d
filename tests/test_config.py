"""ert.config: every slip in a sweep file is refused with the nearest valid name; whatever the file holds, no traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ert.config import SHIPPED, load_config, restrict
from ert.errors import ConfigError


def written(folder: Path, text: str) -> str:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def message(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(written(folder, text))
    return str(caught.value)


def test_every_shipped_sweep_loads_and_names_itself():
    assert [load_config(name).name for name in SHIPPED] == ["quick", "default", "full"]
    assert len({load_config(name).sha256 for name in SHIPPED}) == 3


def test_an_empty_file_is_the_default_sweep(tmp_path):
    own, default = load_config(written(tmp_path, "")), load_config("default")
    assert own.name == "own"
    assert own.sha256 == default.sha256


def test_a_file_changes_only_what_it_names(tmp_path):
    own, default = load_config(written(tmp_path, "[budget]\ntotal_s = 1.5\n")), load_config("default")
    assert own.budget_s == 1.5
    assert own.sampling == default.sampling
    assert own.curve == default.curve


def test_the_hash_ignores_name_and_summary_and_nothing_else(tmp_path):
    first = load_config(written(tmp_path, 'summary = "a"\n[sampling]\nseed = 7\n'))
    (tmp_path / "other.toml").write_text('summary = "b"\n[sampling]\nseed = 7\n')
    assert load_config(str(tmp_path / "other.toml")).sha256 == first.sha256
    assert load_config(written(tmp_path, "[sampling]\nseed = 8\n")).sha256 != first.sha256


def test_the_resolved_sweep_is_json_with_its_hash():
    config = load_config("quick")
    stored = json.loads(json.dumps(config.to_json()))
    assert stored["sha256"] == config.sha256
    assert stored["kernel_values"]["fma"] == {"ERT_CHAINS": [10]}


def test_a_kernel_may_be_named_without_values(tmp_path):
    assert load_config(written(tmp_path, "[kernels.tcgen05]\n")).kernel_values == {"tcgen05": {}}


@pytest.mark.parametrize(("text", "size"), [("2147483648", 2**31), ("4_294_967_297", 2**32 + 1), ("0x1_0000_0000", 2**32)])
def test_sizes_around_32_bits_are_read_to_the_byte_and_shown_so(tmp_path, text, size):
    config = load_config(written(tmp_path, f"[curve]\nlargest_bytes = {text}\n"))
    assert config.curve.largest_bytes == size
    assert f'"largest_bytes": {size}' in json.dumps(config.to_json())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sampling]\nmin_tim_s = 1\n", "[sampling] min_tim_s is unknown. Did you mean 'min_time_s'?"),
        ("[sampliing]\n", "[sampliing] is unknown. Did you mean 'sampling'?"),
        ('[precisions]\nonly = ["fp17"]\n', "[precisions] only = 'fp17' is unknown. Did you mean 'fp16'?"),
        ('[mixed]\nprecisions = ["fp46"]\n', "[mixed] precisions = 'fp46' is unknown. Did you mean 'fp64'?"),
        ('[levels]\nonly = ["DRM"]\n', "[levels] only = 'DRM' is unknown. Did you mean 'DRAM'?"),
        ("sampling = 3\n", "sampling must be a table, written [sampling]"),
        ("[kernels]\nfma = 3\n", "[kernels] fma must be a table, written [kernels.fma]"),
        ("[kernels.fma]\nERT_CHAINS = []\n", "[kernels.fma] ERT_CHAINS = [] must be a list of whole numbers"),
        ("[kernels.fma]\nERT_CHAINS = [true]\n", "[kernels.fma] ERT_CHAINS = [True] must be a list of whole numbers"),
        ("[budget]\ntotal_s = 0\n", "[budget] total_s = 0 must be a positive number"),
        ("[budget]\ntotal_s = nan\n", "[budget] total_s = nan must be a positive number"),
        ("[budget]\ntotal_s = true\n", "[budget] total_s = True must be a positive number"),
        ("[budget]\ntotal_s = 1" + "0" * 400 + "\n", "must be a positive number"),
        ("[sampling]\nsustain_s = -1\n", "[sampling] sustain_s = -1 must be a number from 0"),
        ("[sampling]\nsustain_s = true\n", "[sampling] sustain_s = True must be a number from 0"),
        ("[sampling]\nmin_samples = 0\n", "[sampling] min_samples = 0 must be a whole number from 1"),
        ("[sampling]\nper_visit = 1000000000000\n", "[sampling] per_visit = 1000000000000 must be a whole number from 1"),
        ("[sampling]\nmin_samples = 2.5\n", "min_samples = 2.5 must be a whole number"),
        ("[curve]\nkernels = []\n", "[curve] kernels = [] must be a list of at least one name"),
        ("[curve]\nsmallest_bytes_per_core = 3\n", "smallest_bytes_per_core = 3 must be a whole number of bytes from 64"),
        ("[curve]\nlargest_bytes = 0\n", "largest_bytes = 0 must be a whole number of bytes from 64"),
        ("[curve]\nlargest_bytes = -1\n", "largest_bytes = -1 must be a whole number of bytes from 64"),
        ('[curve]\nlargest_bytes = "4G"\n', "largest_bytes = '4G' must be a whole number of bytes from 64"),
        ("[curve]\nlargest_bytes = 1e9\n", "largest_bytes = 1000000000.0 must be a whole number of bytes from 64"),
        ("[levels]\npositions = [1.5]\n", "positions = [1.5] must be a list of numbers from 0 to 1"),
        ("[levels]\npositions = []\n", "positions = [] must be a list of numbers from 0 to 1"),
        ("[levels]\npositions = [true]\n", "positions = [True] must be a list of numbers from 0 to 1"),
        ("[sampling]\nmin_samples = 20\nmax_samples = 10\n", "max_samples = 10 is less than min_samples = 20"),
        ("[budget\n", "not valid TOML"),
        ("[sampling]\nseed = " + "9" * 5000 + "\n", "not valid TOML"),
        ("x = " + "[" * 5000 + "\n", "not valid TOML"),
    ],
)
def test_a_slip_is_refused_with_the_place_and_the_nearest_name(tmp_path, text, said):
    assert said in message(tmp_path, text)
    assert "own.toml" in message(tmp_path, text)


def test_a_largest_working_set_below_the_smallest_is_zero_working_sets(tmp_path):
    said = message(tmp_path, "[curve]\nlargest_bytes = 1024\nsmallest_bytes_per_core = 4096\n")
    assert "largest_bytes = 1024 is less than smallest_bytes_per_core = 4096: 0 working sets to measure" in said


def test_a_sweep_of_no_samples_is_refused_at_once(tmp_path):
    assert "max_samples = 0 must be a whole number from 1" in message(tmp_path, "[sampling]\nmax_samples = 0\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("quik", "--config quik: no such sweep. Did you mean 'quick'? Shipped: quick, default, full; or name a .toml file."),
        ("/nowhere/x.toml", "--config /nowhere/x.toml: cannot be read: No such file or directory."),
        ("/dev", "--config /dev is a folder: name a .toml file"),
        ("", "--config '': no such sweep."),
    ],
)
def test_a_sweep_that_is_not_there_names_the_option(name, said):
    with pytest.raises(ConfigError) as caught:
        load_config(name)
    assert said in str(caught.value)


def test_a_sweep_may_come_from_a_pipe_or_a_file_without_a_suffix(tmp_path):
    own = tmp_path / "mine"
    own.write_text("[budget]\ntotal_s = 9\n")
    assert (load_config(str(own)).name, load_config(str(own)).budget_s) == ("mine", 9)
    reader, writer = os.pipe()
    os.write(writer, own.read_bytes())
    os.close(writer)
    with os.fdopen(reader):
        assert load_config(f"/dev/fd/{reader}").budget_s == 9


def test_a_folder_and_a_binary_file_are_no_sweeps(tmp_path):
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name, problem in (("folder.toml", " is a folder: name a .toml file"), ("binary.toml", ": not UTF-8 text at byte 0")):
        with pytest.raises(ConfigError, match=f"--config .*{name}{problem}"):
            load_config(str(tmp_path / name))


def test_restricting_keeps_the_order_asked_for_and_changes_the_hash():
    default = load_config("default")
    some = restrict(default, precisions=["fp32", "fp64"], levels=["L2"])
    assert some.precisions == ("fp32", "fp64")
    assert some.levels == ("L2",)
    assert some.sha256 != default.sha256
    assert restrict(default) == default


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"precisions": ["fp23"]}, "--precision fp23: unknown. Did you mean 'fp32'? Known: fp64, fp32"),
        ({"levels": ["l2"]}, "--level l2: unknown. Did you mean 'L2'? Known: shared, L1, L2, L3, DRAM."),
        ({"levels": ["Dram"]}, "--level Dram: unknown. Did you mean 'DRAM'?"),
        ({"precisions": [""]}, "--precision : unknown."),
    ],
)
def test_an_unknown_precision_or_level_is_refused_with_the_nearest(asked, said):
    with pytest.raises(ConfigError) as caught:
        restrict(load_config("default"), **asked)
    assert said in str(caught.value)


SCALAR = st.one_of(
    st.booleans(), st.integers(), st.integers(-3, 10**13), st.floats(), st.text(max_size=5), st.sampled_from(["fp64", "L1", "DRAM", "read"])
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abx"), inner, max_size=2), max_leaves=6
)
SECTIONS = ["budget", "sampling", "curve", "levels", "precisions", "mixed", "kernels", "sampling2", "summary"]
KEYS = ["total_s", "per_visit", "min_samples", "max_samples", "seed", "kernels", "largest_bytes", "positions", "only", "fma", "precisions"]
DOCUMENT = st.dictionaries(
    st.sampled_from(SECTIONS), st.one_of(VALUE, st.dictionaries(st.sampled_from(KEYS), VALUE, max_size=3)), max_size=4
)


def to_toml(value: object) -> str:
    """Enough of TOML to write what hypothesis draws."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {to_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value)
    return repr(value)


@given(DOCUMENT)
@example({"kernels": {"fma": {"ERT_CHAINS": [True]}}})
def test_any_document_is_a_sweep_or_a_config_error(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "fuzzed.toml"
    path.write_text("".join(f"{key} = {to_toml(value)}\n" for key, value in document.items()), encoding="utf-8")
    try:
        config = load_config(str(path))
    except ConfigError as error:
        assert str(path) in str(error)
    else:
        assert config.sha256
        assert config.sampling.max_samples >= config.sampling.min_samples >= 1


@given(st.binary(max_size=60))
def test_any_bytes_are_a_sweep_or_a_config_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(content)
    try:
        load_config(str(path))
    except ConfigError as error:
        assert str(path) in str(error)
