"""A kernel on the host CPU, ready to be timed: its share of memory laid out for every thread, its stamps made samples."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ert.devices.arena import ALIGNMENT_BYTES
from ert.devices.base import Sample
from ert.devices.cpu_kernel import LoadedKernel
from ert.devices.pool import Job
from ert.errors import MeasurementError

if TYPE_CHECKING:
    from ert.devices.cpu import CpuDevice

# Bigger shares are walked in chunks of one huge page per array, so that a sample can be short though a pass is long.
CHUNK_BYTES = ALIGNMENT_BYTES
# Nor does a chunk compute for longer than 0.1 to 0.2 ms: what another program takes of a core comes every few milliseconds.
_CHUNK_FLOPS = 2**23
# Arrays start at the same place in a page: then no load meets the low 12 address bits of an unfinished store, which costs the L1 triad
# up to half its rate on Zen 3 (46 to 80 of 96 byte per cycle at other distances).
PAGE_BYTES = 4096
# Times by core are kept up to this many: beyond it one sample in the journal would be a page long.
MOST_CORES_TOLD = 16
# So many passes over a cached working set go right before each sample: while it waits for a quiet moment neighbours take what they
# share with it. Over a shared cache four times the sample's own, so that passes that compute for long do not cost more than they give.
_PRIVATE_WARM_PASSES, _SHARED_WARM_PER_PASS, _MOST_WARM_PASSES = 1, 4, 16
# After work in memory, private caches take up to 2 ms of their own work until kernels that store run at full speed: of the quiet samples
# of L2 update beside a neighbour 42 to 71 % were slow at once, 60 to 79 % after 0.6 ms, 5 to 18 % after 2 ms (Zen 3).
_PRIVATE_SETTLE_S = 0.002
# Longer than 256 passes of the slowest reads and writes take, it is work that depends little on the state of a shared cache, or a huge
# cache. For the bandwidth of memory all of it is walked: what is left to be written back makes stores look up to twice as fast.
_MOST_SETTLE_S = 0.020


class PreparedCpu:
    """A verified kernel over one working set; see ``ert.devices.base.Prepared``."""

    # Stamps are taken inside the kernel's threads: no start is in a sample.
    least_time_s = 0.0

    def __init__(self, device: CpuDevice, loaded: LoadedKernel, working_set_bytes: int | None) -> None:
        self._device, self._loaded = device, loaded
        self._next_chunk = 0
        arrays = loaded.variant.kernel.arrays if loaded.facts.array_bytes else 0
        self._arrays = arrays
        self._chunk_bytes, self._chunks, trips = self._layout(working_set_bytes, arrays)
        self._trips_per_repeat = trips
        self.working_set_bytes = device.threads * arrays * self._chunk_bytes * self._chunks if arrays else None
        self._bytes_walked = device.threads * arrays * self._chunk_bytes
        self.flops_per_repeat = float(loaded.facts.flops * trips * device.threads)
        self.bytes_per_repeat = float(loaded.facts.bytes * trips * device.threads)
        self._spacing = -(-self._chunk_bytes * self._chunks // PAGE_BYTES) * PAGE_BYTES
        self._starts = device.arena_starts(loaded.variant, arrays * self._spacing) if arrays else [0] * device.threads
        self._operands = device.operands_for(loaded.variant)

    def _layout(self, working_set_bytes: int | None, arrays: int) -> tuple[int, int, int]:
        """Bytes of a chunk per array, number of chunks, and trips of one repeat (one chunk, or one pass over a small share)."""
        step = self._loaded.facts.array_bytes
        if not arrays:
            return 0, 1, 1
        if working_set_bytes is None:
            raise MeasurementError(f"{self._loaded.variant.label}: needs a working set.")
        share = working_set_bytes // self._device.threads // arrays
        whole, brief = max(1, share // step), max(1, _CHUNK_FLOPS // max(1, self._loaded.facts.flops))
        if self._device.is_private(working_set_bytes):
            trips = whole
        elif share <= 4 * CHUNK_BYTES:
            trips = whole // -(-whole // brief)
        else:
            trips = min(CHUNK_BYTES // step, brief)
        return trips * step, whole // trips, trips

    def sample(self, repeats: int, count: int, patience_s: float = 0.0) -> list[Sample]:
        stamps = self._device.run(self._loaded, self._jobs(repeats), count, patience_s)
        self._go_on(repeats * count)
        wanted = repeats * self._trips_per_repeat
        if not np.all(stamps["trips"] == wanted):
            raise MeasurementError(
                f"{self._loaded.variant.label}: ran {stamps['trips'].ravel()[0]} trips instead of {wanted} in a timed sample."
            )
        latency_s = self._device.core_latency_s()
        return [_to_sample(row, latency_s) for row in stamps]

    def warm_up(self) -> None:
        """Bring the caches into the state of steady use, from wherever the point before left them."""
        if self.working_set_bytes is None:
            return
        least_s, most_s = self._settle_s(self.working_set_bytes)
        wanted, start_s = self._device.repeats_to_warm(self.working_set_bytes, self._bytes_walked), time.monotonic()
        walked, worked_s = 0, 0.0
        while (walked < wanted or worked_s < least_s) and worked_s < most_s:
            still = wanted - walked if walked < wanted else walked
            walked += self._walk(max(1, min(walked, still)))
            worked_s = time.monotonic() - start_s

    def _settle_s(self, working_set_bytes: int) -> tuple[float, float]:
        """The least and the most seconds to warm up for."""
        if self._device.is_private(working_set_bytes):
            return _PRIVATE_SETTLE_S, math.inf
        is_streamed = self._loaded.variant.kernel.measures == "bandwidth" and not self._device.is_cached(working_set_bytes)
        return 0.0, math.inf if is_streamed else _MOST_SETTLE_S

    def _walk(self, repeats: int) -> int:
        """So many untimed repeats, which it returns."""
        self._device.run(self._loaded, self._jobs(repeats), 1, 0.0)
        self._go_on(repeats)
        return repeats

    def _go_on(self, repeats: int) -> None:
        """The next call walks on where this one ended, so that nothing is met in a cache again."""
        self._next_chunk = (self._next_chunk + repeats) % self._chunks

    def _warm_passes(self, repeats: int) -> int:
        if self.working_set_bytes is None or self._chunks > 1:
            return 0
        if self._device.is_private(self.working_set_bytes):
            return _PRIVATE_WARM_PASSES
        return min(_SHARED_WARM_PER_PASS * repeats, _MOST_WARM_PASSES)

    def _jobs(self, repeats: int) -> list[Job]:
        is_chunked = self._chunks > 1
        return [
            Job(
                arrays=[start + a * self._spacing for a in range(self._arrays)],
                chunk_bytes=self._chunk_bytes,
                passes=1 if is_chunked else repeats,
                operands=self._operands.ctypes.data,
                result=self._device.result_address(thread),
                calls=repeats if is_chunked else 1,
                first_chunk=self._next_chunk,
                chunks=self._chunks,
                warm_passes=self._warm_passes(repeats),
            )
            for thread, start in enumerate(self._starts)
        ]

    def close(self) -> None:
        """Nothing to give back: memory and code belong to the device."""


def _to_sample(row: NDArray[np.void], core_latency_s: float | None) -> Sample:
    """One sample from the stamps of all threads: first start to last stop, the cores' mean clock, the narrowest core.

    Of the clocks before and after, the higher: a disturbance only makes the chain look slow.
    """
    clocks = np.maximum(row["clock_before_hz"], row["clock_after_hz"])
    widths = np.minimum(row["width_before"], row["width_after"])
    time_s = float(row["stop_s"].max() - row["start_s"].min())
    sample = Sample(time_s=time_s, clock_hz=float(clocks.mean()), issue_width=float(widths.min()), core_latency_s=core_latency_s)
    if not 1 < row.size <= MOST_CORES_TOLD:
        return sample
    times_s = row["stop_s"] - row["start_s"]
    return replace(sample, core_times_s=tuple(times_s.tolist()), core_widths=tuple(widths.tolist()), core_clocks_hz=tuple(clocks.tolist()))
