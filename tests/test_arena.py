"""ert.devices.arena: memory that is random everywhere, grows on demand and never moves."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

from ert.devices.arena import ALIGNMENT_BYTES, Arena, random_table
from ert.devices.cpu_facts import usable_cpus
from ert.devices.pool import Pool
from ert.errors import DeviceError
from ert.hostcc import compile_runtime, find_compiler

MIB = 2**20


@pytest.fixture(scope="module")
def pool():
    runtime = compile_runtime(find_compiler())
    pool = Pool(runtime.library, usable_cpus())
    yield pool
    pool.close()


@pytest.fixture
def arena(pool):
    arena = Arena(pool, 16 * MIB, "float32", seed=5)
    yield arena
    arena.close()


def memory(start: int, size: int, dtype: str = "float32") -> np.ndarray:
    return np.frombuffer((ctypes.c_char * size).from_address(start), dtype=dtype).copy()


def test_every_thread_has_its_own_aligned_range(arena, pool):
    starts = arena.reserve(4096)
    assert len(starts) == pool.threads
    assert all(start % ALIGNMENT_BYTES == 0 for start in starts)
    assert all(abs(a - b) >= 16 * MIB for a in starts for b in starts if a != b)


def test_the_data_are_normal_numbers_without_zeros_or_repeated_lines(arena):
    for start in arena.reserve(4 * MIB):
        values = memory(start, 4 * MIB)
        assert np.isfinite(values).all()
        assert abs(values.mean()) < 0.01
        assert abs(values.std() - 1) < 0.01
        assert np.count_nonzero(values == 0) == 0
        lines = values.view(np.uint64).reshape(-1, 8)
        assert len(np.unique(lines, axis=0)) == len(lines)


def test_threads_hold_different_data_and_a_seed_repeats_them(pool):
    first, again, other = (Arena(pool, MIB, "float32", seed=seed) for seed in (1, 1, 2))
    content = [[memory(start, MIB) for start in arena.reserve(MIB)] for arena in (first, again, other)]
    for a, b, c in zip(*content, strict=True):
        assert (a == b).all()
        assert (a != c).any()
    if pool.threads > 1:
        assert (content[0][0] != content[0][1]).any()
    for arena in (first, again, other):
        arena.close()


def test_a_larger_reservation_keeps_what_was_there(arena):
    before = [memory(start, MIB) for start in arena.reserve(MIB)]
    starts = arena.reserve(9 * MIB)
    assert all((memory(start, MIB) == old).all() for start, old in zip(starts, before, strict=True))
    assert all(np.count_nonzero(memory(start + 8 * MIB, MIB) == 0) == 0 for start in starts)


def test_more_than_was_reserved_is_refused(arena):
    with pytest.raises(DeviceError, match=r"bytes per thread asked for, \d+ reserved. Ask for a smaller working set"):
        arena.reserve(64 * MIB)


def test_memory_that_cannot_be_had_is_an_error(pool):
    with pytest.raises(DeviceError, match=r"bytes of memory cannot be had: .*Ask for a smaller working set"):
        Arena(pool, 2**62, "float32", seed=1)


def test_a_system_without_huge_pages_serves_small_ones(pool, monkeypatch):
    class Plain(mmap.mmap):
        def madvise(self, *_arguments):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr("ert.devices.arena.mmap.mmap", Plain)
    arena = Arena(pool, MIB, "float32", seed=1)
    assert np.count_nonzero(memory(arena.reserve(MIB)[0], MIB) == 0) == 0
    arena.close()


@pytest.mark.parametrize("element", ["float16", "float32", "float64"])
def test_a_table_cell_is_eight_bytes_of_its_element(element):
    table = random_table(element, seed=1)
    assert table.dtype == np.float64
    assert abs(float(table.view(element).astype(np.float64).std()) - 1) < 0.02
