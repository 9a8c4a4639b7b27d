"""PyCUDA, imported when it is needed, and the few driver calls it lacks; every failure becomes words."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from ert.errors import BusyError, DeviceError

_REMEDY = "`ert doctor` says what is there; `pip install 'ert-roofline[cuda]'` brings PyCUDA where a CUDA toolkit is."
_UUID_BYTES = 16
# How the driver puts CUDA_ERROR_DEVICE_UNAVAILABLE; PyCUDA hands on the words alone.
_BUSY = "busy or unavailable"
# The process in which CUDA was initialised; a child forked afterwards cannot use it.
_initialised_in: list[int] = []


def load_driver() -> ModuleType:
    """pycuda.driver, initialised. Raises DeviceError with what is missing, hidden or broken, and what to try."""
    try:
        driver = importlib.import_module("pycuda.driver")
    except ModuleNotFoundError as error:
        raise DeviceError(f"No GPU can be used: PyCUDA is not installed ({error}). {_REMEDY}") from error
    except ImportError as error:
        raise DeviceError(f"No GPU can be used: PyCUDA finds no NVIDIA driver ({error}). Install the driver, or sweep the CPU.") from error
    if _initialised_in and os.getpid() not in _initialised_in:
        raise DeviceError("CUDA was initialised before this process was forked, and cannot be used in it. Start the process with 'spawn'.")
    try:
        driver.init()
    except driver.Error as error:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        cause = f" CUDA_VISIBLE_DEVICES is '{hidden}'." if hidden is not None else ""
        raise DeviceError(f"No GPU can be used: {error}.{cause} `nvidia-smi` lists the devices of this machine.") from error
    _initialised_in[:] = [os.getpid()]
    return driver


@contextmanager
def in_words(driver: ModuleType, where: str) -> Iterator[None]:
    """Failures of the driver as DeviceError with the device and what was being done; as BusyError where another program has it."""
    try:
        yield
    except driver.Error as error:
        kind, remedy = _reading(driver, error)
        raise kind(f"{where}: {str(error).strip()}. {remedy}") from error


def _reading(driver: ModuleType, error: Exception) -> tuple[type[DeviceError], str]:
    """What kind of failure it is, and what to try."""
    if isinstance(error, driver.MemoryError):
        return BusyError, "Another program may hold the memory: see `nvidia-smi`."
    if _BUSY in str(error):
        return BusyError, "It is in exclusive use by another program, or prohibited to all (`nvidia-smi` tells): wait, or choose another."
    return DeviceError, "`ert devices` lists what is here, `ert doctor` looks closer."


def uuid_of(index: int) -> str:
    """The UUID of a visible device as 8-4-4-4-12 digits. Of a MIG slice: that of the slice.

    Raises DeviceError if the driver does not tell.
    """
    raw = (ctypes.c_ubyte * _UUID_BYTES)()
    library = _library()
    call = getattr(library, "cuDeviceGetUuid_v2", library.cuDeviceGetUuid)
    if code := call(raw, index):
        raise DeviceError(f"cuda:{index}: the driver does not tell its UUID (code {code}).")
    digits = bytes(raw).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def reset_primary_context(index: int) -> bool:
    """Throw away everything in the primary context, errors included; whether that worked."""
    library = _library()
    reset = getattr(library, "cuDevicePrimaryCtxReset_v2", None) or library.cuDevicePrimaryCtxReset
    return bool(reset(index) == 0)


def current_context() -> int | None:
    """The handle of the context that is current in this thread, None for none."""
    handle = ctypes.c_void_p()
    _library().cuCtxGetCurrent(ctypes.byref(handle))
    return handle.value


def pop_contexts_above(handle: int | None) -> None:
    """Make ``handle`` current again: PyCUDA leaves a primary context on the driver's stack when it lets go of it."""
    dropped = ctypes.c_void_p()
    while (now := current_context()) is not None and now != handle:
        if _library().cuCtxPopCurrent_v2(ctypes.byref(dropped)):
            return


def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")
