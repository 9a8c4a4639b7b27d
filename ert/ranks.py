"""Which device is mine, where a launcher starts one process for each: srun, mpirun, mpiexec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ert.devices import Listed, choose_device, list_devices, usable_of
from ert.errors import DeviceError

# The number of this process on its host. mpirun inside an sbatch script also inherits SLURM_LOCALID=0 of that script, so Slurm's
# is the last one asked.
_LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "SLURM_LOCALID")
_VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Rank:
    """This process among those of its host, counted from 0, and who says so."""

    local: int
    source: str


def own_device(environment: Mapping[str, str]) -> tuple[Listed, str]:
    """The device of a process that was told none, and why it is this one: its rank's, else the first usable one.

    Raises DeviceError if there is none, or none is left for this rank.
    """
    rank = local_rank(environment)
    if rank is None:
        return choose_device(), "the first usable one; choose another with --device"
    return device_for_rank(rank, list_devices(), environment), f"of {rank.source}={rank.local}"


def local_rank(environment: Mapping[str, str]) -> Rank | None:
    """None outside of a launcher. Raises DeviceError if a variable is no number."""
    for name in _LOCAL_RANKS:
        text = environment.get(name)
        if text is not None:
            if not (text.isascii() and text.isdigit()):
                raise DeviceError(f"{name}={text}: not a rank. Unset it, or name a --device.")
            return Rank(int(text), name)
    return None


def device_for_rank(rank: Rank, listed: Sequence[Listed], environment: Mapping[str, str]) -> Listed:
    """The device of a rank: its own GPU where there are GPUs, else the host's CPU for the first rank.

    A launcher that gives every rank one GPU of its own shows each of them that one alone, as number 0.
    Raises DeviceError if there are more ranks than devices, or no device.
    """
    usable = usable_of(listed)
    gpus = [device for device in usable if device.id != "cpu"]
    choices = gpus or usable
    if len(gpus) == 1 and rank.local > 0 and _VISIBLE in environment:
        return gpus[0]
    if rank.local < len(choices):
        return choices[rank.local]
    here = ", ".join(device.id for device in choices)
    raise DeviceError(
        f"{rank.source}={rank.local}: no device is left for this process; here are: {here}. "
        f"Start at most {len(choices)} on this host (srun --ntasks-per-node={len(choices)}), or name a --device."
    )
