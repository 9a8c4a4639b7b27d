"""The errors that ert explains to its user; the command line turns each into one message and an exit code."""

from __future__ import annotations


class ErtError(Exception):
    """Anything ert can explain: what went wrong, where, and what to try."""


class ConfigError(ErtError):
    """A sweep, spec sheet or option that cannot be used."""


class UsageError(ConfigError):
    """A word of the command line that is wrong whatever the files and the machine hold: exit code 2."""


class KernelError(ErtError):
    """A kernel that does not compile, does not verify, or lies about its facts."""


class DeviceError(ErtError):
    """A device that is absent, lost or out of memory."""


class BusyError(DeviceError):
    """A device that somebody else has, and may give back: exit code 4."""


class LostError(DeviceError):
    """A device that this process cannot use any more; a new one may."""


class MeasurementError(ErtError):
    """A sample that cannot be trusted."""


class UnsupportedError(ErtError):
    """Something this device does not have; becomes a row with status ``unsupported`` and this reason."""


class AnalysisError(ErtError):
    """Data that cannot be fitted or judged."""


class SchemaError(ErtError):
    """A file that is not what its schema says, or is newer than this program."""
