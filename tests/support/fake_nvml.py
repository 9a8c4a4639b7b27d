# ruff: noqa: N802  (the names are NVML's)
"""A pynvml of two GPUs that supports half of the questions."""

from __future__ import annotations

from types import ModuleType


class FakeNvml(ModuleType):
    """Two GPUs in another order than CUDA's; half of the questions are not supported."""

    class NVMLError(Exception):
        pass

    UUIDS = ("GPU-aaaaaaaa-0000-0000-0000-000000000000", "GPU-bbbbbbbb-1111-1111-1111-111111111111")
    REASONS = (0x1, 0x4)

    def nvmlInit(self):
        pass

    def nvmlShutdown(self):
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid):
        if uuid.decode() not in self.UUIDS:
            raise self.NVMLError("Not Found")
        return self.UUIDS.index(uuid.decode())

    def nvmlDeviceGetHandleByPciBusId(self, pci):
        if pci != b"0000:b1:00.0":
            raise self.NVMLError("Not Found")
        return 1

    def nvmlDeviceGetClockInfo(self, handle, _kind):
        return (210, 1740)[handle]

    def nvmlDeviceGetTemperature(self, handle, _sensor):
        return (33, 71)[handle]

    def nvmlDeviceGetPowerUsage(self, _handle):
        raise self.NVMLError("Not Supported")

    def nvmlDeviceGetCurrentClocksEventReasons(self, _handle):
        raise self.NVMLError("old driver")

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
        return self.REASONS[handle]

    def nvmlSystemGetDriverVersion(self):
        return b"999.99"
