"""A kernel on a GPU, ready to be timed: launched with its buffers between events, NVML asked beside every sample."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ert.devices.base import Operands, Sample
from ert.devices.cuda_chase import LINE_BYTES, Cycle
from ert.devices.cuda_kernel import Grid, LoadedKernel
from ert.devices.cuda_monitor import Reading
from ert.errors import DeviceError, MeasurementError

if TYPE_CHECKING:
    from ert.devices.cuda import CudaDevice

_POISON = 0xFF
# As much of the results as is looked at after each sample.
_RECEIPT_BYTES = 1024
_WRITING_OPS = ("write", "copy", "triad", "update", "mixed")


class PreparedCuda:
    """A verified kernel over one working set; see ``ert.devices.base.Prepared``.

    A sample is one launch: the repeats lie inside of the kernel, so that starting it costs a small working set no more than a
    large one. CUDA graphs, which make many short launches cheaper, have nothing to add to that.
    """

    # Some 500 times what starting a kernel costs, and far above the half microsecond that events resolve.
    least_time_s = 1e-3

    def __init__(self, device: CudaDevice, loaded: LoadedKernel, grid: Grid, operands: Operands) -> None:
        self._device, self._loaded, self._grid = device, loaded, grid
        variant, facts = loaded.variant, loaded.variant.facts
        threads = grid.blocks * variant.threads
        self.working_set_bytes = grid.working_set_bytes
        self.flops_per_repeat = float(facts.flops * grid.trips * threads)
        self.bytes_per_repeat = float(facts.bytes * grid.trips * threads)
        self._operands = device.operands(variant, operands)
        self._results = device.memory.results(max(threads * variant.result_bytes_per_thread, _RECEIPT_BYTES))
        self._cycle: Cycle | None = None
        self._arrays = self._place_arrays()

    def _place_arrays(self) -> list[int]:
        kernel, size = self._loaded.variant.kernel, self._grid.array_bytes
        if not size:
            return []
        start = self._device.memory.arrays(size * kernel.arrays, self._loaded.variant.precision)
        if kernel.op == "chase":
            self._cycle = Cycle(size, np.random.default_rng(1))
            for offset, part in self._cycle.parts():
                self._device.driver.memcpy_htod(start + offset, part)
        return [start + size * index for index in range(kernel.arrays)]

    def warm_up(self) -> None:
        with self._failing_in_words():
            self._launch(1 if self._cycle is None else self._repeats_to_warm(self._cycle))
            self._device.driver.Context.synchronize()

    def _repeats_to_warm(self, cycle: Cycle) -> int:
        """All of a cycle, so that it is where its size belongs; of one beyond L2 enough to leave nothing in L2 that comes soon."""
        lines = min(cycle.size_bytes, 2 * self._device.gpu.l2_bytes) // LINE_BYTES
        return -(-lines // self._loaded.variant.hops)

    def sample(self, repeats: int, count: int, patience_s: float = 0.0) -> list[Sample]:
        """All samples are given to the device at once, so that it never idles between them; NVML is asked while each one runs."""
        driver = self._device.driver
        with self._failing_in_words():
            driver.memset_d8(self._results, _POISON, _RECEIPT_BYTES)
            events = [driver.Event() for _ in range(count + 1)]
            events[0].record()
            for event in events[1:]:
                self._launch(repeats)
                event.record()
            readings = self._readings(events[1:])
            times = [1e-3 * after.time_since(before) for before, after in pairwise(events)]
            receipt = np.empty(_RECEIPT_BYTES, np.uint8)
            driver.memcpy_dtoh(receipt, self._results)
        self._check(receipt, repeats)
        return [_to_sample(time_s, reading) for time_s, reading in zip(times, readings, strict=True)]

    def _readings(self, ends: Sequence[Any]) -> list[Reading]:
        """What NVML said while each sample ran: up to its end event.

        The launches wait in the device's queue, so that a reading costs the samples nothing. One that takes longer than a sample
        (NVML answers within about a millisecond) stands for the next sample, too: it was under way while that one ran.
        """
        readings: list[Reading] = []
        for end in ends:
            if not readings or not end.query():
                reading = self._device.read_monitor()
                end.synchronize()
            readings.append(reading)
        return readings

    def _launch(self, repeats: int) -> None:
        arrays = self._arrays
        if self._cycle is not None:
            # A second walk over the same lines would find them in a faster level.
            arrays = [*arrays, self._cycle.walk(repeats * self._loaded.variant.hops)]
        self._loaded.launch(self._grid, repeats, self._operands, self._results, arrays)
        if self._loaded.variant.kernel.op in (*_WRITING_OPS, "chase"):
            self._device.memory.soil()

    def _check(self, receipt: NDArray[np.uint8], repeats: int) -> None:
        """A launch that did not run leaves no receipt (and takes no time, which would look like the best result ever)."""
        kernel = self._loaded.variant.kernel
        if kernel.op == "empty":
            return
        is_signed = kernel.op in _WRITING_OPS and kernel.name not in ("write_shared", "copy_shared", "mixed_read")
        first = int(receipt[:8].view(np.uint64)[0])
        if (receipt == _POISON).all() or (is_signed and first != repeats):
            raise MeasurementError(f"{self._device.id}: {self._loaded.variant.label}: the launch did not run to its end.")

    def _failing_in_words(self) -> _Failing:
        return _Failing(self._device, self._loaded.variant.label)

    def close(self) -> None:
        """Nothing to give back: memory and code belong to the device."""


class _Failing:
    """Turns a driver error inside ``with`` into a DeviceError, and tells the device of it."""

    def __init__(self, device: CudaDevice, label: str) -> None:
        self._device, self._label = device, label

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._device.driver.Error):
            self._device.fail(error)
            raise DeviceError(f"{self._device.id}: {self._label}: {error}") from error


def _to_sample(time_s: float, reading: Reading) -> Sample:
    return Sample(
        time_s=time_s,
        clock_hz=reading.clock_hz,
        memory_clock_hz=reading.memory_clock_hz,
        power_w=reading.power_w,
        temperature_c=reading.temperature_c,
        throttled=reading.throttled,
    )
