"""Launches one kernel on device 0, on all of its SMs, and prints its time and declared work: KERNEL PRECISION TRIPS REPEATS."""

from __future__ import annotations

import json
import sys

from ert.devices.base import Task
from ert.devices.cuda import CudaDevice
from ert.kernels import load_kernels


def main(name: str, precision: str, trips: str, repeats: str) -> None:
    device = CudaDevice(0)
    kernel = load_kernels("cuda")[name]
    variant = device.variant(Task(kernel, precision))
    size = variant.tile_bytes * variant.blocks_per_sm * device.gpu.sms * int(trips) * kernel.arrays
    prepared = device.prepare(Task(kernel, precision, None, size or None))
    prepared.warm_up()
    (sample,) = prepared.sample(int(repeats), 1)
    work = {"flops": prepared.flops_per_repeat * int(repeats), "bytes": prepared.bytes_per_repeat * int(repeats)}
    print(json.dumps({"time_s": sample.time_s, **work}))
    device.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
