"""ert.ranks: one device for each process a launcher starts."""

from __future__ import annotations

import pytest

from ert.devices import Listed
from ert.errors import DeviceError
from ert.ranks import Rank, device_for_rank, local_rank

CPU = Listed("cpu", "a CPU")
GPUS = [Listed(f"cuda:{i}", f"GPU {i}") for i in range(4)]


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        ({"SLURM_PROCID": "9"}, None),
        ({"SLURM_LOCALID": "3", "SLURM_PROCID": "11"}, Rank(3, "SLURM_LOCALID")),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_RANK": "5"}, Rank(1, "OMPI_COMM_WORLD_LOCAL_RANK")),
        # mpirun inside an sbatch script: the script itself is SLURM_LOCALID 0.
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "2", "SLURM_LOCALID": "0"}, Rank(2, "OMPI_COMM_WORLD_LOCAL_RANK")),
        ({"MPI_LOCALRANKID": "2"}, Rank(2, "MPI_LOCALRANKID")),
    ],
)
def test_the_launcher_says_which_process_of_the_host_this_is(environment: dict[str, str], rank: Rank | None) -> None:
    assert local_rank(environment) == rank


@pytest.mark.parametrize("text", ["x", "", "-1", "²"])
def test_a_rank_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(DeviceError, match=f"SLURM_LOCALID={text}: not a rank"):
        local_rank({"SLURM_LOCALID": text})


def device(rank: int, listed: list[Listed], **environment: str) -> str:
    return device_for_rank(Rank(rank, "SLURM_LOCALID"), listed, environment).id


def test_each_rank_has_its_own_gpu_and_nobody_the_cpu() -> None:
    assert [device(rank, [*GPUS, CPU]) for rank in range(4)] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]


def test_a_gpu_that_cannot_be_used_is_skipped() -> None:
    listed = [GPUS[0], Listed("cuda:1", "GPU 1", "busy"), GPUS[2], CPU]
    assert [device(rank, listed) for rank in range(2)] == ["cuda:0", "cuda:2"]


def test_a_launcher_that_shows_each_rank_one_gpu_gives_it_that_one() -> None:
    assert device(3, [GPUS[0], CPU], CUDA_VISIBLE_DEVICES="0") == "cuda:0"


def test_several_visible_gpus_are_counted_among_themselves() -> None:
    assert device(1, [GPUS[0], GPUS[1], CPU], CUDA_VISIBLE_DEVICES="4,6") == "cuda:1"


def test_a_host_without_gpus_gives_its_cpu_to_the_first_rank() -> None:
    assert device(0, [Listed("cuda", "NVIDIA GPU", "no driver"), CPU]) == "cpu"


@pytest.mark.parametrize(("rank", "listed"), [(4, [*GPUS, CPU]), (1, [CPU]), (1, [GPUS[0], CPU])])
def test_more_ranks_than_devices_are_told_how_many_there_are(rank: int, listed: list[Listed]) -> None:
    with pytest.raises(DeviceError, match=rf"SLURM_LOCALID={rank}: no device is left.*Start at most {len(listed) - 1 or len(listed)}"):
        device(rank, listed)


def test_a_host_without_any_device_says_why() -> None:
    with pytest.raises(DeviceError, match=r"No device can be swept\. cuda: no driver"):
        device(0, [Listed("cuda", "NVIDIA GPU", "no driver")])
