"""``ert nightly`` under a real Slurm of one node, started for the test: each task of srun takes its own device and writes its own file."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from ert.ceilings import load
from ert.store import list_files

HERE = Path(__file__).parent
TINY = str(HERE / "data" / "history" / "tiny.toml")
FAKES = [sys.executable, str(HERE / "two_fakes.py")]
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")
CONFIGURATION = """
ClusterName=t
SlurmctldHost={host}
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName={host} CPUs={cpus} State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Why Slurm cannot be started here, None if it may be tried."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"{', '.join(missing)} not installed: apt-get install slurmctld slurmd slurm-client munge"
    if os.geteuid() != 0:
        return "slurmd starts tasks for others and needs root"
    return "fewer than 2 CPUs for 2 tasks" if (os.cpu_count() or 1) < 2 else None


pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


@dataclass(frozen=True, slots=True)
class Slurm:
    """A running node."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=self.environment, cwd=self.folder)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    """Everything of it lies in one folder with a short name (a socket's path has a limit); the system's own settings are not touched."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    folder.chmod(0o755)
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    host = socket.gethostname().partition(".")[0]
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(host=host, folder=folder, cpus=os.cpu_count(), controller_port=free_port(), node_port=free_port())
    )
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(secrets.token_bytes(1024))
    (folder / "munge.key").chmod(0o400)
    files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
    try:
        start(["munged", "--force", *(f"--{option}={folder / name}" for option, name in files.items())], environment)
        start(["slurmctld", "-f", str(folder / "slurm.conf")], environment)
        start(["slurmd", "-f", str(folder / "slurm.conf")], environment)
        node = Slurm(folder, environment)
        wait_until_idle(node)
        yield node
    finally:
        for name in ("slurmd.pid", "slurmctld.pid", "munge.pid"):
            with suppress(FileNotFoundError, ProcessLookupError, ValueError):
                os.kill(int((folder / name).read_text()), signal.SIGTERM)
        time.sleep(1)
        shutil.rmtree(folder, ignore_errors=True)


def start(command: list[str], environment: dict[str, str]) -> None:
    """Start a daemon, which goes to the background by itself; skip with its words if it does not."""
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=30, env=environment)
    if done.returncode != 0:
        pytest.skip(f"{command[0]} does not start here: {done.stderr.strip() or f'exit code {done.returncode}'}")


def wait_until_idle(node: Slurm) -> None:
    for _ in range(60):
        if node.run("sinfo", "-h", "-o", "%T").stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join((node.folder / name).read_text()[-1000:] for name in ("slurmctld.log", "slurmd.log") if (node.folder / name).exists())
    pytest.skip(f"the Slurm node does not become idle here:\n{logs}")


def test_each_task_of_srun_takes_its_own_device_and_writes_its_own_file(slurm: Slurm, tmp_path: Path) -> None:
    store = tmp_path / "store"
    done = slurm.run(
        "srun", "-n2", *FAKES, "nightly", "--store", str(store), "--config", TINY, "--junit", str(tmp_path / "ert-{host}-{rank}.xml")
    )
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        assert f"device: fake:{rank} (Planted), of SLURM_LOCALID={rank}" in done.stderr
    files = list_files(store)
    assert [file.device for file in files] == ["planted-0", "planted-1"]
    assert all(load(store / file.path).all_ceilings for file in files)
    assert [path.name for path in sorted(tmp_path.glob("*.xml"))] == [f"ert-{socket.gethostname()}-{rank}.xml" for rank in range(2)]


def test_a_task_too_many_fails_alone_and_says_why(slurm: Slurm, tmp_path: Path) -> None:
    done = slurm.run("srun", "--overcommit", "-n3", "--kill-on-bad-exit=0", *FAKES, "nightly", "--store", str(tmp_path), "--config", TINY)
    assert done.returncode == 1
    assert "SLURM_LOCALID=2: no device is left" in done.stderr
    assert [file.device for file in list_files(tmp_path)] == ["planted-0", "planted-1"]


def test_a_batch_script_measures_the_first_device(slurm: Slurm, tmp_path: Path) -> None:
    script = tmp_path / "night.sh"
    script.write_text(f"#!/bin/sh\nexec {' '.join(FAKES)} nightly --store {tmp_path}/store --config {TINY}\n")
    done = slurm.run("sbatch", "--wait", "-o", str(tmp_path / "out.txt"), str(script))
    assert done.returncode == 0, done.stderr + (tmp_path / "out.txt").read_text()
    assert [file.device for file in list_files(tmp_path / "store")] == ["planted-0"]
