"""ert.store: whole files, never over another one, whatever happens around them."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from history_store import a_run, usual

from ert.ceilings import load
from ert.errors import ErtError
from ert.store import add_run, check_writable, list_files

HERE = str(Path(__file__).parent)
ADD = f"""
import sys; sys.path.insert(0, {HERE!r})
from pathlib import Path
from history_store import a_run, usual
from ert.errors import ErtError
from ert.store import add_run
"""


def names(store: Path) -> list[str]:
    return [file.path for file in list_files(store)]


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_run_lies_under_host_device_and_time_and_comes_back(tmp_path: Path) -> None:
    run = a_run(0, usual())
    added = add_run(tmp_path, run)
    assert names(tmp_path) == ["node1/GPU-1111/20250101T020000Z.json"]
    assert load(added.path) == run
    assert added.findings == ()
    assert everything_below(tmp_path) == names(tmp_path)


def test_two_runs_of_one_second_are_both_kept(tmp_path: Path) -> None:
    first, second = add_run(tmp_path, a_run(0, usual())), add_run(tmp_path, a_run(0, usual(0.5)))
    assert [first.path.name, second.path.name] == ["20250101T020000Z.json", "20250101T020000Z-2.json"]
    assert load(first.path).bandwidth("DRAM") == 2 * load(second.path).bandwidth("DRAM")


def test_a_clock_that_was_set_back_is_said_and_the_run_is_kept(tmp_path: Path) -> None:
    add_run(tmp_path, a_run(5, usual()))
    added = add_run(tmp_path, a_run(2, usual()))
    assert [finding.code for finding in added.findings] == ["clock_set_back"]
    assert "20250106T020000Z" in added.findings[0].message
    assert len(names(tmp_path)) == 2


def test_hosts_and_devices_with_odd_names_have_folders_of_their_own(tmp_path: Path) -> None:
    add_run(tmp_path, a_run(0, usual(), host="../etc", uuid="MIG-GPU-1/2/0"))
    assert names(tmp_path) == ["_etc/MIG-GPU-1_2_0/20250101T020000Z.json"]
    assert names(tmp_path) == [file.path for file in list_files(tmp_path, "../etc", "MIG-GPU-1/2/0")]


def test_only_runs_are_listed(tmp_path: Path) -> None:
    add_run(tmp_path, a_run(0, usual()))
    folder = tmp_path / "node1" / "GPU-1111"
    (folder / ".20250102T020000Z-abc.new").write_text("{")
    (folder / "notes.txt").write_text("x")
    (folder / "baselines").mkdir()
    (tmp_path / ".index").mkdir()
    assert len(names(tmp_path)) == 1
    assert list_files(tmp_path, "elsewhere") == []


def test_a_store_that_is_not_there_is_an_error_that_helps(tmp_path: Path) -> None:
    with pytest.raises(ErtError, match=r"no such folder. `ert nightly --store"):
        list_files(tmp_path / "gone")


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_links_serves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def link(_source: object, _target: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    paths = [add_run(tmp_path, a_run(0, usual())).path.name for _ in range(3)]
    assert paths == ["20250101T020000Z.json", "20250101T020000Z-2.json", "20250101T020000Z-3.json"]
    assert everything_below(tmp_path) == names(tmp_path)


def test_a_full_disk_is_an_error_with_the_path_and_leaves_nothing(tmp_path: Path) -> None:
    add_run(tmp_path, a_run(0, usual()))
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    program = ADD + (  # a limit on the file size stands in for the full disk
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: add_run(Path(sys.argv[1]), a_run(1, usual()))\n"
        "except ErtError as error: print(error); sys.exit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert str(tmp_path / "node1" / "GPU-1111") in done.stdout
    assert "File too large" in done.stdout
    assert {name: (tmp_path / name).read_bytes() for name in everything_below(tmp_path)} == before


def test_a_store_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "node1").write_text("a file where the folder should be")
    with pytest.raises(ErtError, match=r"node1.*cannot be written"):
        check_writable(tmp_path, "node1")
    check_writable(tmp_path, "node2")
    assert everything_below(tmp_path) == ["node1"]


def test_a_hundred_writers_at_once_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    program = ADD + (
        "import os, time\n"
        "children = []\n"
        "for number in range(100):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        time.sleep(max(0, float(sys.argv[2]) - time.time()))\n"
        "        add_run(Path(sys.argv[1]), a_run(0, usual(1 + number / 1000)))\n"
        "        os._exit(0)\n"
        "    children.append(child)\n"
        "sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path), str(time.time() + 3)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    values = {round(load(tmp_path / name).bandwidth("DRAM") / 2e12, 3) for name in names(tmp_path)}
    assert values == {round(1 + number / 1000, 3) for number in range(100)}
    assert everything_below(tmp_path) == names(tmp_path)
    assert len(names(tmp_path)) == 100


def test_a_writer_killed_at_any_moment_leaves_whole_files_only(tmp_path: Path) -> None:
    program = ADD + "for night in range(100000): add_run(Path(sys.argv[1]), a_run(night % 3000, usual()))\n"
    for wait_s in (0.0, 0.02, 0.05):
        child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
        while not (tmp_path / "node1").exists():
            time.sleep(0.01)
        time.sleep(wait_s)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        for name in names(tmp_path):
            assert json.loads((tmp_path / name).read_text())["schema"] == "ert.ceilings"
    add_run(tmp_path, a_run(0, usual()))
