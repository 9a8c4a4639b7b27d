"""The parts of the GPU device that need no driver: how work is spread, what NVML's answers mean, and the physical limits."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_nvml import FakeNvml

from ert.devices import cuda_facts
from ert.devices.base import CeilingKey
from ert.devices.cuda_chase import Cycle
from ert.devices.cuda_facts import GpuFacts, levels_of, limit_of, memory_budget_bytes
from ert.devices.cuda_kernel import CudaVariant, lay_out
from ert.devices.cuda_monitor import THROTTLING, Monitor, Reading, reason_names
from ert.errors import UnsupportedError
from ert.kernels import load_kernels
from ert.limits import Limit, NoLimit

KERNELS = load_kernels("cuda")
SMS = 132
H200 = GpuFacts(
    index=0,
    name="NVIDIA H200",
    uuid="aaaaaaaa-0000-0000-0000-000000000000",
    pci_bus_id="0000:65:00.0",
    capability=(9, 0),
    sms=SMS,
    threads_per_sm=2048,
    clock_hz=1.98e9,
    memory_clock_hz=3.201e9,
    memory_bus_bits=6144,
    memory_bytes=141 * 10**9,
    l2_bytes=60 << 20,
    shared_per_sm_bytes=228 << 10,
    l1_per_sm_bytes=256 << 10,
    has_ecc=True,
    driver_api=13000,
)


def variant(name, precision="fp32", **parameters):
    kernel = KERNELS[name]
    return CudaVariant(kernel, precision, {**kernel.defaults(), **parameters}, 16)


@given(name=st.sampled_from(["read", "copy", "triad", "update", "mixed", "read_l2_shared"]), size=st.integers(1 << 24, 1 << 37))
def test_a_working_set_is_rounded_down_to_whole_trips_of_every_block(name, size):
    wanted = variant(name)
    grid = lay_out(wanted, SMS, size)
    assert grid.working_set_bytes <= size
    assert grid.array_bytes * wanted.kernel.arrays == grid.working_set_bytes
    covering = 1 if name == "read_l2_shared" else grid.blocks
    assert grid.array_bytes == covering * grid.trips * wanted.tile_bytes
    assert grid.blocks % SMS == 0


@given(size=st.integers(1 << 24, 1 << 37))
def test_rounding_loses_less_than_one_trip_of_one_block_per_sm(size):
    wanted = variant("read")
    assert size - lay_out(wanted, SMS, size).working_set_bytes < SMS * wanted.tile_bytes * wanted.blocks_per_sm


def test_a_small_working_set_keeps_every_sm_busy_with_fewer_blocks():
    tile = variant("read").tile_bytes
    assert lay_out(variant("read"), SMS, SMS * tile).blocks == SMS
    assert lay_out(variant("read"), SMS, 3 * SMS * tile).blocks == 3 * SMS
    assert lay_out(variant("read"), SMS, 8 * SMS * tile).blocks == 4 * SMS


@pytest.mark.parametrize(("tiles", "blocks", "trips"), [(5, 4, 1), (7, 3, 2), (11, 3, 3), (13, 4, 3)])
def test_a_working_set_of_odd_size_gives_up_less_than_a_quarter_to_keep_several_blocks_per_sm(tiles, blocks, trips):
    grid = lay_out(variant("read"), SMS, tiles * SMS * variant("read").tile_bytes)
    assert (grid.blocks, grid.trips) == (blocks * SMS, trips)
    assert grid.working_set_bytes > 0.75 * tiles * SMS * variant("read").tile_bytes


def test_a_working_set_smaller_than_one_trip_is_unsupported_with_the_least_that_is():
    with pytest.raises(UnsupportedError, match=f"at least {SMS * variant('read').tile_bytes} bytes"):
        lay_out(variant("read"), SMS, SMS * variant("read").tile_bytes - 1)


@pytest.mark.parametrize("name", ["read", "copy", "triad", "mixed", "read_l2", "read_l2_shared", "chase"])
def test_the_least_working_set_can_be_had_and_a_byte_less_cannot(name):
    least = variant(name).least_bytes(SMS)
    assert lay_out(variant(name), SMS, least).working_set_bytes == least
    with pytest.raises(UnsupportedError, match=f"at least {least} bytes"):
        lay_out(variant(name), SMS, least - 1)


def test_every_sm_or_one_block_has_a_share_of_the_least_working_set():
    # 4 loads of 16 bytes by each of 256 threads.
    assert variant("read", ERT_UNROLL=4, ERT_THREADS=256).least_bytes(SMS) == SMS * 16 * 1024
    # Here every block reads all of it.
    assert variant("read_l2_shared", ERT_UNROLL=4, ERT_THREADS=256).least_bytes(SMS) == 16 * 1024
    assert variant("fma").least_bytes(SMS) == 0


def test_kernels_in_registers_fill_the_device():
    grid = lay_out(variant("fma"), SMS, None)
    assert (grid.blocks, grid.trips, grid.working_set_bytes) == (4 * SMS, 1, None)


def test_shared_memory_is_walked_in_whole_rotations():
    grid = lay_out(variant("read_shared"), SMS, None)
    assert grid.trips * 32 == variant("read_shared").threads
    assert grid.working_set_bytes == grid.blocks * 4 * 256 * 16


def test_a_chase_visits_every_line_once_before_it_comes_home():
    words = Cycle(64 * 128, np.random.default_rng(3)).lines().view(np.uint32)
    at, seen = 0, []
    for _ in range(64):
        seen.append(at)
        at = int(words[at // 4])
    assert at == 0
    assert sorted(seen) == list(range(0, 64 * 128, 128))


def test_a_cycle_of_many_parts_is_the_same_as_in_one_piece():
    size = 3 * (8 << 20) + 128 * 5
    cycle = Cycle(size, np.random.default_rng(3))
    whole = np.full(size, 0xFF, np.uint8)
    for offset, part in cycle.parts():
        whole[offset : offset + len(part)] = part
    assert (whole == cycle.lines()).all()
    assert sorted(whole.view(np.uint32)[::32]) == list(range(0, size, 128))
    assert not whole.view(np.uint32).reshape(-1, 32)[:, 1:].any()


def test_a_walk_goes_on_where_the_one_before_ended():
    cycle = Cycle(64 * 128, np.random.default_rng(3))
    words = cycle.lines().view(np.uint32)
    at = 0
    for hops in (3, 1, 64, 200):
        assert cycle.walk(hops) == at
        for _ in range(hops):
            at = int(words[at // 4])


def test_the_memory_budget_leaves_a_tenth_and_at_least_the_margin():
    assert memory_budget_bytes(100 * 10**9) == 90 * 10**9
    assert memory_budget_bytes(10**9) == 10**9 - (256 << 20)
    assert memory_budget_bytes(1000) == 0


def test_levels_are_those_of_all_sms_together():
    assert [(f.name, f.capacity_bytes) for f in levels_of(H200, 10**9)] == [("L1", SMS * (256 << 10)), ("L2", 60 << 20), ("DRAM", 10**9)]


def test_an_unknown_family_has_no_l1_size_and_no_limits():
    unknown = replace(H200, capability=(13, 0), l1_per_sm_bytes=None)
    assert levels_of(unknown, 1)[0].capacity_bytes is None
    assert isinstance(limit_of(unknown, CeilingKey("fma", precision="fp32"), 1e9), NoLimit)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (CeilingKey("read", level="DRAM"), 2 * 3.201e9 * 6144 / 8),  # 4.92 TB/s
        (CeilingKey("read", level="L1"), 128 * SMS * 1.5e9),
        (CeilingKey("fma", precision="fp32"), 128 * 2 * SMS * 1.5e9),
        (CeilingKey("add", precision="fp32"), 128 * SMS * 1.5e9),
        (CeilingKey("fma", precision="fp64"), 64 * 2 * SMS * 1.5e9),
        (CeilingKey("mma", precision="bf16", path="tensor"), 2048 * 2 * SMS * 1.5e9),
    ],
)
def test_limits_are_units_per_sm_times_sms_times_the_measured_clock(key, value):
    limit = limit_of(H200, key, 1.5e9)
    assert isinstance(limit, Limit)
    assert limit.value == pytest.approx(value)


def test_without_a_measured_clock_the_highest_one_bounds_and_the_source_says_so():
    limit = limit_of(H200, CeilingKey("fma", precision="fp32"), None)
    assert limit.value == pytest.approx(128 * 2 * SMS * 1.98e9)
    assert "highest clock" in limit.source


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (0x0, ()),
        (0x1, ("GpuIdle",)),
        (0x2, ("ApplicationsClocksSetting",)),
        (0x4, ("SwPowerCap",)),
        (0x24, ("SwPowerCap", "SwThermalSlowdown")),
        (0x48, ("HwSlowdown", "HwThermalSlowdown")),
        (0x84, ("SwPowerCap", "HwPowerBrakeSlowdown")),
        (0x100, ("DisplayClockSetting",)),
        (0x4000, ("unknown:0x4000",)),
        (0x4004, ("SwPowerCap", "unknown:0x4000")),
    ],
)
def test_reason_masks_are_read_bit_by_bit(mask, names):
    assert reason_names(mask) == names


@pytest.mark.parametrize(("mask", "counts"), [(0x1, False), (0x2, False), (0x10, False), (0x100, False), (0x4000, False)])
def test_what_is_no_throttling_does_not_flag_a_sample(mask, counts):
    assert bool(Reading(reasons=mask).throttled) is counts


@pytest.mark.parametrize("bit", [0x4, 0x8, 0x20, 0x40, 0x80])
def test_what_is_throttling_flags_a_sample(bit):
    assert Reading(reasons=bit | 0x1).throttled == reason_names(bit)
    assert bit & THROTTLING


@pytest.mark.parametrize(
    ("mask", "held"),
    [
        (0x0, ()),
        (0x1, ()),
        (0x4, ()),
        (0x2, ("ApplicationsClocksSetting",)),
        (0x14, ("SyncBoost",)),
        (0x100, ("DisplayClockSetting",)),
        (0x4001, ("unknown:0x4000",)),
    ],
)
def test_clocks_held_by_somebody_s_order_are_told_apart_from_throttling(mask, held):
    assert Reading(reasons=mask).held == held


@pytest.fixture
def nvml(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml("pynvml"))


def monitor(uuid, pci="0000:00:00.0"):
    return Monitor(uuid, pci, own_pid=1)


def test_a_device_is_found_by_its_uuid_and_read(nvml):
    reading = monitor("bbbbbbbb-1111-1111-1111-111111111111").read()
    assert (reading.clock_hz, reading.temperature_c, reading.throttled) == (1740e6, 71.0, ("SwPowerCap",))


def test_what_is_not_supported_is_none_and_the_rest_still_there(nvml):
    assert monitor("bbbbbbbb-1111-1111-1111-111111111111").read().power_w is None


def test_the_clock_of_an_idle_device_is_nobodys_clock(nvml):
    assert monitor("aaaaaaaa-0000-0000-0000-000000000000").read().clock_hz is None


def test_a_slice_is_found_by_the_address_of_its_parent_and_says_so(nvml):
    found = monitor("cccccccc-0000-0000-0000-000000000000", "0000:b1:00.0")
    assert found.is_parent
    assert found.missing is None


def test_a_device_nvml_does_not_know_leaves_a_reason_and_no_numbers(nvml):
    lost = monitor("cccccccc-0000-0000-0000-000000000000")
    assert lost.missing == "NVML does not know the device: Not Found"
    assert lost.read() == Reading()
    lost.close()


def test_without_the_package_the_reason_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "pip install nvidia-ml-py" in monitor("x").missing


def test_names_from_older_bindings_are_bytes(nvml):
    assert monitor("aaaaaaaa-0000-0000-0000-000000000000").state().driver_version == "999.99"


def test_what_nvml_does_not_say_has_its_reason_beside_it(nvml):
    asked = monitor("bbbbbbbb-1111-1111-1111-111111111111")
    assert asked.read().clock_hz == 1740e6
    state = asked.state()
    assert (state.power_limit_w, state.compute_mode, state.other_processes) == (None, None, None)
    assert asked.untold["power_w"] == "not available on this device: Not Supported"
    assert asked.untold["power_limit_w"].startswith("not known to this nvidia-ml-py: ")
    # Older drivers answer the older of two questions: that is an answer.
    assert not {"clock_hz", "temperature_c", "reasons", "driver"} & set(asked.untold)


@pytest.mark.parametrize("answer", [0, 2**32 - 1, -1])
def test_numbers_that_stand_for_none_are_none_with_a_reason(nvml, monkeypatch, answer):
    questions = ("ClockInfo", "Temperature", "PowerUsage", "EnforcedPowerLimit")
    for question in questions:
        monkeypatch.setattr(FakeNvml, f"nvmlDeviceGet{question}", lambda *_: answer, raising=False)
    asked = monitor("bbbbbbbb-1111-1111-1111-111111111111")
    reading = asked.read()
    assert (reading.clock_hz, reading.memory_clock_hz, reading.power_w, reading.temperature_c) == (None,) * 4
    assert asked.state().power_limit_w is None
    for what in ("clock_hz", "memory_clock_hz", "power_w", "temperature_c", "power_limit_w"):
        assert asked.untold[what] == f"not available on this device: NVML answers {answer}"


def test_an_answer_that_comes_later_takes_the_reason_away(nvml, monkeypatch):
    asked = monitor("bbbbbbbb-1111-1111-1111-111111111111")
    asked.read()
    assert "power_w" in asked.untold
    monkeypatch.setattr(FakeNvml, "nvmlDeviceGetPowerUsage", lambda *_: 345_000)
    assert asked.read().power_w == 345
    assert "power_w" not in asked.untold


class GoneError(Exception):
    """An attribute that the driver does not know."""


def old_or_new_driver(attributes):
    """A pycuda.driver with one device; what is not in ``attributes`` it refuses to tell."""

    def get_attribute(name):
        if name not in attributes:
            raise GoneError(name)
        return attributes[name]

    device = SimpleNamespace(
        compute_capability=lambda: (9, 0),
        name=lambda: "Example GPU X",
        pci_bus_id=lambda: "0000:65:00.0",
        total_memory=lambda: 10**10,
        get_attribute=get_attribute,
    )
    names = SimpleNamespace(**{name: name for name in (*attributes, "CLOCK_RATE", "MEMORY_CLOCK_RATE")})
    return SimpleNamespace(Device=lambda _index: device, Error=GoneError, device_attribute=names, get_driver_version=lambda: 13000)


ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": SMS,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "L2_CACHE_SIZE": 60 << 20,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 228 << 10,
    "ECC_ENABLED": 1,
    "COMPUTE_MODE": 0,
}
CLOCKS = {"CLOCK_RATE": 1_980_000, "MEMORY_CLOCK_RATE": 3_201_000, "GLOBAL_MEMORY_BUS_WIDTH": 6144}


def test_clocks_are_read_as_attributes_in_kilohertz(monkeypatch):
    monkeypatch.setattr(cuda_facts, "uuid_of", lambda _index: H200.uuid)
    facts = cuda_facts.read_facts(old_or_new_driver(ATTRIBUTES | CLOCKS), 0)
    assert (facts.clock_hz, facts.memory_clock_hz, facts.memory_bus_bits) == (1.98e9, 3.201e9, 6144)


def test_a_driver_that_dropped_the_clocks_costs_the_limits_and_no_more(monkeypatch):
    monkeypatch.setattr(cuda_facts, "uuid_of", lambda _index: H200.uuid)
    facts = cuda_facts.read_facts(old_or_new_driver(ATTRIBUTES), 0)
    assert (facts.sms, facts.clock_hz, facts.memory_clock_hz, facts.memory_bus_bits) == (SMS, 0, 0, 0)
    fp32, dram = CeilingKey("fma", precision="fp32"), CeilingKey("read", level="DRAM")
    assert limit_of(facts, fp32, None) == NoLimit("neither the driver nor NVML tells a clock")
    assert limit_of(facts, fp32, 1.5e9).value == pytest.approx(128 * 2 * SMS * 1.5e9)
    assert limit_of(facts, dram, 1.5e9) == NoLimit("the driver tells no memory clock or bus width")
