"""The ``ert`` program with the planted machine as one more device, for tests that start, stop and kill it."""

from __future__ import annotations

import ert.cli
import ert.devices

if __name__ == "__main__":
    ert.devices.BACKENDS = {"fake": ("fake_device", None), **ert.devices.BACKENDS}
    ert.cli.main()
