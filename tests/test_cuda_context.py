"""The GPU device as a guest in somebody else's process: their context comes back, their memory is theirs, a fork is refused."""

import json
import subprocess
import sys

import pytest
from softcuda.devices import A100_LIKE, environment

MEASURE = """
from ert.devices.base import Task
from ert.devices.cuda import CudaDevice
from ert.errors import ErtError
from ert.kernels import load_kernels

def measure(device):
    for name, size in (("read", 64 << 20), ("fma", None), ("chase", 1 << 20)):
        kernel = load_kernels("cuda")[name]
        prepared = device.prepare(Task(kernel, kernel.precisions[0], None, size))
        prepared.warm_up()
        assert prepared.sample(3, 2)[0].time_s > 0
"""
HOLDING = (
    MEASURE
    + """
import json
import pycuda.driver as driver
from ert.devices.cuda_driver import current_context

driver.init()
own = driver.Device(0).make_context()
before, (free, _) = current_context(), driver.mem_get_info()
said = None
device = CudaDevice(0)
try:
    measure(device)
except ErtError as error:
    said = str(error)
held = current_context() != before
device.close()
print(json.dumps({"error": said, "held": held, "back": current_context() == before, "lost_bytes": free - driver.mem_get_info()[0]}))
own.pop()
"""
)
FORKING = (
    MEASURE
    + """
import os, sys
device = CudaDevice(0)
child = os.fork()
if not child:
    try:
        CudaDevice(0)
    except ErtError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
measure(device)
device.close()
print("the parent goes on")
"""
)


def run(program, **options):
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment([A100_LIKE], **options), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_context_that_was_current_is_current_again_and_nothing_of_the_memory_is_kept():
    assert json.loads(run(HOLDING)) == {"error": None, "held": True, "back": True, "lost_bytes": 0}


@pytest.mark.parametrize("fault", ["oom@2-3", "oom@5-6", "refused@2", "failed@3"])
def test_so_it_is_after_a_failure(fault):
    # PyCUDA collects garbage and asks a second time when memory runs out.
    found = json.loads(run(HOLDING, faults=fault))
    assert found["error"]
    assert found["back"]
    assert found["lost_bytes"] == 0


def test_a_forked_child_is_told_what_is_wrong_and_the_parent_goes_on():
    said = run(FORKING)
    assert "CUDA was initialised before this process was forked" in said
    assert "the parent goes on" in said
