"""``ert nightly`` as a program: on a planted machine, under a launcher, killed, and once on this machine's CPU."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import PROGRAM, check_schema, ert

from ert.ceilings import load
from ert.store import list_files

HERE = Path(__file__).parent
TINY = str(HERE / "data" / "history" / "tiny.toml")
FAKES = [sys.executable, str(HERE / "two_fakes.py")]


def fakes(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program that knows the devices fake:0 and fake:1."""
    return subprocess.run(
        [*FAKES, *arguments], capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **environment}, timeout=120
    )


def test_a_night_is_stored_judged_and_written_out(tmp_path: Path) -> None:
    arguments = ("--junit", "{host}-{device}.xml", "--prometheus", "ert.prom", "--events", "events.jsonl", "--json", "check.json")
    done = fakes("nightly", "--device", "fake:0", "--store", "store", "--config", TINY, *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (file,) = list_files(tmp_path / "store")
    assert f"wrote store/{file.path}" in done.stderr
    assert "not comparable: learning: night 1; judged after 10" in done.stdout
    check_schema(json.loads((tmp_path / "check.json").read_text()), "history")
    assert list(tmp_path.glob("*-fake-0.xml"))
    assert "ert_bandwidth_bytes_per_second" in (tmp_path / "ert.prom").read_text()
    assert (tmp_path / "events.jsonl").read_text() == ""


def test_several_devices_are_one_answer_each(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    done = fakes("nightly", "--device", "fake:0", "--device", "fake:1", "--store", store, "--config", TINY, "--json", "-")
    document = json.loads(done.stdout)
    assert [each["device"] for each in document["devices"]] == ["planted-0", "planted-1"]


def test_a_device_that_is_not_there_is_no_data_exit_1_and_the_others_are_measured(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    done = fakes("nightly", "--device", "fake:0", "--device", "GPU-beef", "--store", store, "--config", TINY, "--json", "-")
    assert done.returncode == 1
    assert "GPU-beef" in done.stderr
    assert [(event["device"], event["kind"]) for event in json.loads(done.stdout)["events"]] == [("GPU-beef", "no_data")]
    assert len(list_files(tmp_path / "store")) == 1


@pytest.mark.parametrize("variable", ["SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"])
def test_each_rank_takes_its_own_device_and_file(tmp_path: Path, variable: str) -> None:
    store = tmp_path / "store"
    ranks = [
        subprocess.Popen(
            [*FAKES, "nightly", "--store", str(store), "--config", TINY, "--prometheus", str(tmp_path / "{rank}.prom")],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, variable: str(rank)},
        )
        for rank in range(2)
    ]
    for rank, process in enumerate(ranks):
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        assert f"device: fake:{rank} (Planted), of {variable}={rank}" in stderr
    assert [file.device for file in list_files(store)] == ["planted-0", "planted-1"]
    assert [(tmp_path / f"{rank}.prom").exists() for rank in range(2)] == [True, True]


def test_a_rank_too_many_says_how_many_to_start(tmp_path: Path) -> None:
    done = fakes("nightly", "--store", str(tmp_path), SLURM_LOCALID="2")
    assert done.returncode == 1
    assert "SLURM_LOCALID=2: no device is left" in done.stderr
    assert "--ntasks-per-node=2" in done.stderr


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed: apt-get install openmpi-bin")
def test_mpirun_gives_each_rank_its_own_device(tmp_path: Path) -> None:
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    done = subprocess.run(
        [*command, *FAKES, "nightly", "--store", str(tmp_path), "--config", TINY], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert [file.device for file in list_files(tmp_path)] == ["planted-0", "planted-1"]


@dataclass(frozen=True, slots=True)
class Held:
    """A night that stands still in the middle of its sweep until ``let_go``."""

    process: subprocess.Popen[str]
    command: list[str]
    store: Path
    hold: Path

    def let_go(self) -> str:
        """Its stderr, when it has ended."""
        self.hold.unlink(missing_ok=True)
        return self.process.communicate(timeout=60)[1]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    hold, store = tmp_path / "hold", tmp_path / "store"
    hold.touch()
    command = [sys.executable, str(HERE / "fake_ert.py"), "nightly", "--device", "fake", "--store", str(store), "--config", TINY]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "FAKE_HOLD": f"150:{hold}"})
    try:
        for _ in range(1000):
            found = list(store.glob("*/.partial/*/*/*.points.jsonl"))
            if found and found[0].read_text().count("\n") >= 8:
                break
            time.sleep(0.02)
        # What it still measures before it stands still is on disk after this.
        time.sleep(0.3)
        yield Held(process, command, store, hold)
    finally:
        hold.unlink(missing_ok=True)
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_night_exits_with_the_signal_and_says_how_to_go_on(held: Held, number: signal.Signals) -> None:
    held.process.send_signal(number)
    stderr = held.let_go()
    assert held.process.returncode == 128 + number
    assert list_files(held.store) == []
    resume = stderr.partition("--resume ")[2].split()[0]
    done = subprocess.run([*held.command, "--resume", resume], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    (file,) = list_files(held.store)
    assert load(held.store / file.path).environment["resumed"]
    assert not Path(resume).exists()


def test_after_a_kill_the_next_night_runs_and_mentions_it(held: Held) -> None:
    held.process.kill()
    held.process.wait()
    done = subprocess.run(held.command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "a night that was stopped in the middle [interrupted_night]" in done.stderr
    assert len(list_files(held.store)) == 1


def test_two_nights_of_one_device_at_once_do_not_measure_each_other(held: Held) -> None:
    second = subprocess.run(held.command, capture_output=True, text=True, check=False, timeout=60)
    assert second.returncode == 1
    assert "is being measured already by process" in second.stderr
    held.let_go()
    assert held.process.returncode == 0
    assert len(list_files(held.store)) == 1


def test_a_read_only_store_stops_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    done = fakes("nightly", "--device", "fake:0", "--store", str(tmp_path / "store" / "under"), "--config", TINY)
    assert done.returncode == 1
    assert f"{tmp_path}/store/under" in done.stderr
    assert "cannot be written" in done.stderr
    assert "%" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nightly",), 2, "--store"),
        (("nightly", "--store", "s", "--config", "nope"), 2, "no such sweep"),
        (("nightly", "--store", "s", "--device", "fake:0", "--device", "fake:0"), 2, "--device fake:0 is given 2 times"),
        (("nightly", "--store", "s", "--device", "tpu"), 2, "'--device': tpu: unknown. Known: cpu, cuda:0"),
        (("nightly", "--store", "s", "--rules", "nope.toml"), 1, "nope.toml"),
        (("nightly", "--store", "s", "--resume", "gone.points.jsonl"), 1, "gone.points.jsonl"),
    ],
)
def test_wrong_calls_say_what_is_wrong(tmp_path: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = fakes(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_help_ends_with_an_example() -> None:
    done = ert("nightly", "--help")
    assert done.returncode == 0
    assert "ert nightly" in done.stdout.splitlines()[-1]
    assert "  nightly " in ert("--help").stdout


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_the_units_of_systemd_are_well_formed(tmp_path: Path) -> None:
    for path in (HERE.parent / "configs" / "systemd").iterdir():
        shutil.copy(path, tmp_path)
    units = [str(tmp_path / name) for name in ("ert-nightly@cpu.service", "ert-nightly@cpu.timer")]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_cpu_of_this_machine_gets_through_a_night(tmp_path: Path) -> None:
    sweep = tmp_path / "small.toml"
    sweep.write_text(Path(TINY).read_text().replace("total_s = 60", "total_s = 1") + '\n[precisions]\nonly = ["fp64"]\n')
    done = subprocess.run(
        [PROGRAM, "nightly", "--device", "cpu", "--store", str(tmp_path / "store"), "--config", str(sweep), "--json", "-"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    check_schema(document, "history")
    assert document["devices"][0]["device_id"] == "cpu"
    (night,) = list_files(tmp_path / "store")
    # Which of its points become ceilings is up to the machine.
    assert {point.kernel for point in load(tmp_path / "store" / night.path).points if point.samples_s} >= {"fma", "read"}
