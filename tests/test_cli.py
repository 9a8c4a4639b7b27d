"""The program as a whole: quick to start, every outcome an exit code, and everything offline without a GPU stack or a home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from make_ceilings import DATA
from programs import PROGRAM

import ert
from ert.cli import COMMANDS, cli, execute
from ert.errors import BusyError, DeviceError, ErtError

CPU = str(DATA / "cpu.json")


def program(*arguments: str, without: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed program, with or without parts of this environment."""
    kept = {key: value for key, value in os.environ.items() if key not in without}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False, env={**kept, **environment}, timeout=120)


def test_the_version_is_the_packages():
    assert program("--version").stdout.strip().endswith(ert.__version__)


def test_help_lists_every_command_and_imports_none_of_them():
    code = (
        "import sys; from ert.cli import cli, execute; execute(cli, ['--help']); "
        "print(sorted(m for m in sys.modules if m.startswith('ert.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert line.split(",")[0][:20] in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_takes_no_numeric_library():
    code = (
        "import sys; from ert.cli import cli, execute; execute(cli, ['--help']); "
        "print({'numpy', 'scipy', 'matplotlib', 'rich'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_commands_help_ends_with_an_example_of_itself(name):
    done = CliRunner().invoke(cli, [name, "--help"], prog_name="ert")
    assert done.exit_code == 0
    assert "Example" in done.output
    assert f"ert {name}" in done.output.rstrip().split("Example", 1)[1]


def test_a_command_that_is_not_there_is_answered_with_the_nearest(capsys):
    assert execute(cli, ["sweap"]) == 2
    assert "No such command 'sweap'. Did you mean 'sweep'? `ert --help` lists them." in capsys.readouterr().err
    assert execute(cli, ["history", "lst"]) == 2
    assert "No such command 'lst'. Did you mean 'list'? `ert history --help` lists them." in capsys.readouterr().err


def outcome(error: BaseException) -> click.Command:
    @click.command()
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ErtError("x.json: broken"), 1, "Error: x.json: broken\n"),
        (DeviceError("cuda:0: gone"), 1, "Error: cuda:0: gone\n"),
        (BusyError("cuda:0: in use"), 4, "Error: cuda:0: in use\n"),
        (click.UsageError("no such option"), 2, "no such option"),
        (click.exceptions.Exit(3), 3, ""),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (click.Abort(), 130, "Interrupted.\n"),
        (FileNotFoundError(2, "No such file or directory", "x.json"), 1, "Error: x.json: No such file or directory. Name another place."),
        (MemoryError(), 1, "Error: the system gives no memory. See `ulimit -v`"),
        (RuntimeError("can't start new thread"), 1, "Error: the system gives no threads. See"),
    ],
)
def test_every_outcome_is_one_exit_code_and_at_most_one_message(capsys, error, code, said):
    assert execute(outcome(error), []) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_where_an_error_arose_is_shown_with_debug_alone():
    plain, debugged = program("show", __file__), program("--debug", "show", __file__)
    assert plain.returncode == debugged.returncode == 1
    assert plain.stderr.count("\n") == 1
    assert debugged.stderr.startswith("Traceback (most recent call last):\n")
    assert debugged.stderr.endswith(plain.stderr)


def test_no_command_takes_the_name_of_something_else_in_the_package():
    """An imported submodule becomes an attribute of its package, in place of whatever had that name."""
    assert not {name for name in COMMANDS if callable(vars(ert.cli).get(name))}


@pytest.mark.parametrize("fault", [ZeroDivisionError(), RuntimeError("dictionary changed size during iteration")])
def test_a_fault_of_the_program_itself_is_not_hidden(fault):
    with pytest.raises(type(fault)):
        execute(outcome(fault), [])


@pytest.mark.parametrize("option", ["", "--plot"])
def test_a_reader_that_leaves_early_is_no_error(option):
    command = f"'{PROGRAM}' show '{CPU}' {option} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def no_gpu_stack(tmp_path: Path) -> dict[str, str]:
    """Modules of the GPU stack that break as they are imported, as half-installed ones do."""
    for name in ("pycuda", "pynvml", "cuda"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise ImportError('lib{name}.so.1: cannot open shared object file')\n")
    return {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "CUDA_HOME": "", "CUDA_PATH": ""}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("show", CPU),
        ("specs",),
        ("analyze", CPU, "--flops", "1G", "--bytes", "1GB"),
        ("validate", CPU),
        ("compare", CPU, "points.csv"),
        ("plot", CPU, "points.csv", "-o", "roof.png"),
        ("fit", CPU),
        ("export", CPU, "--to", "csv"),
        ("devices",),
        ("doctor",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_everything_offline_works_without_a_gpu_stack(no_gpu_stack, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    Path("points.csv").write_text(
        "name,time_s,precision,flops,dram_bytes,l3_bytes,l2_bytes,l1_bytes\naxpy,1,fp64,2e9,12e9,12e9,12e9,12e9\n"
    )
    done = program(*arguments, **no_gpu_stack)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_tells_a_broken_part_of_the_stack_from_a_missing_one(no_gpu_stack):
    said = program("doctor", **no_gpu_stack, COLUMNS="200").stdout
    for module in ("pycuda", "pynvml"):
        assert f"Python module {module} is there and cannot be imported: lib{module}.so.1" in said


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("ImportError('libcuda.so.1: cannot open shared object file')", "Install the driver, or sweep the CPU."),
        ("ModuleNotFoundError(\"No module named 'pycuda'\", name='pycuda')", "pip install 'ert-roofline[cuda]'"),
    ],
    ids=["no driver", "no PyCUDA"],
)
def test_sweeping_a_gpu_without_its_stack_says_in_one_line_what_is_missing_and_how_to_get_it(no_gpu_stack, tmp_path, error, remedy):
    (tmp_path / "pycuda" / "__init__.py").write_text(f"raise {error}\n")
    done = program("sweep", "--device", "0", "--out", str(tmp_path / "out"), **no_gpu_stack)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "PyCUDA" in done.stderr
    assert remedy in done.stderr
    assert not (tmp_path / "out").exists()


CACHES = ("ERT_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")


@pytest.mark.parametrize(
    ("home", "arguments"),
    [
        ("/dev/null", ("show", CPU)),
        ("/proc", ("show", CPU)),
        ("/proc", ("devices",)),
        ("/dev/null", ("plot", CPU, "-o", "x.png")),
        ("not/there", ("plot", CPU, "-o", "x.png")),
    ],
    ids=["show, a file", "show, read-only", "devices", "plot", "plot, missing"],
)
def test_everything_offline_works_without_a_home_and_writes_only_where_it_was_told(tmp_path, home, arguments):
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    kept = {key: value for key, value in os.environ.items() if key not in CACHES}
    environment = {**kept, "HOME": str(tmp_path / home), "TMPDIR": str(scratch)}
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"tmp", "x.png"}


def test_without_the_variable_at_all_it_works_too():
    assert program("show", CPU, without=("HOME", *CACHES)).returncode == 0
