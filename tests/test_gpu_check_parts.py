"""The parts of ``make gpu-check``: programs with a limit, steps that crash or hang, what is expected of a device, the witnesses."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from gpucheck import programs as programs_module
from gpucheck import witnesses
from gpucheck.expected import judge
from gpucheck.points import point_lines, tensor_rows
from gpucheck.programs import Done, Programs
from gpucheck.steps import run_apart
from gpucheck.table import Row, guarded
from gpucheck.witnesses import Timed, copy_rows, gemm_rows, time_of

from ert.ceilings.kinds import BandwidthCeiling
from ert.ceilings.point import Point
from ert.devices.cuda_monitor import Reading
from ert.diagnostics import Burst
from ert.errors import ErtError

BENCH = Path(__file__).parent.parent / "bench"
STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('begun', flush=True); time.sleep(60)"


@pytest.fixture
def programs(tmp_path):
    return Programs(tmp_path / "deep" / "log")


def test_a_program_that_ends_in_time_is_told_with_its_words_and_its_errors_are_in_the_log(programs, tmp_path):
    done = programs.run([sys.executable, "-c", "import sys; print('out'); sys.exit('err')"], 30)
    assert (done.status, done.stdout, done.complaint) == (1, "out\n", "err")
    assert "err\n" in (tmp_path / "deep" / "log").read_text()


def test_a_program_that_takes_too_long_is_ended_and_keeps_what_it_printed(programs, monkeypatch):
    monkeypatch.setattr(programs_module, "GRACE_S", 0.3)
    start_s = time.monotonic()
    done = programs.run([sys.executable, "-c", STUBBORN], 2)
    assert (done.status, done.stdout) == (None, "begun\n")
    assert time.monotonic() - start_s < 20


def test_a_look_at_what_is_not_there_is_a_line_of_the_log(programs, tmp_path):
    programs.look(["/no/such/program"], 5)
    assert "/no/such/program: No such file or directory" in (tmp_path / "deep" / "log").read_text()


def test_where_no_cache_can_be_kept_all_programs_share_one_for_the_run(tmp_path):
    (tmp_path / "file").touch()
    given = {**os.environ, "ERT_CACHE_DIR": str(tmp_path / "file" / "cache"), "PYTHONPATH": str(BENCH), "TMPDIR": str(tmp_path)}
    code = "import os; from gpucheck.programs import environment; print(environment(os.environ)['ERT_CACHE_DIR'])"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).parent == tmp_path


class Ended:
    """Programs of which each ends like this."""

    def __init__(self, status, stdout=""):
        self._done = Done(status, stdout, 1.0)

    def run(self, _command, _limit_s):
        return self._done


@pytest.mark.parametrize(
    ("status", "words"), [(-11, "ended with status -11: nothing was said"), (None, "was not done after 7 s and was ended")]
)
def test_a_step_whose_process_crashes_or_hangs_keeps_its_rows_and_fails(status, words):
    line = '{"what": "device", "found": "one", "expected": "", "good": null, "fate": "done"}\nnoise\n'
    rows = list(guarded("device", run_apart(Ended(status, line), "machine", "cuda:0", None, 7.0)))
    assert rows == [Row("device", "one"), Row("device", words, fate="failed")]


def test_an_error_nobody_expects_is_a_row_with_the_name_of_its_class(capsys):
    def broken():
        yield Row("first", "found")
        raise RuntimeError("the copy\nbroke off")

    assert list(guarded("copy", broken()))[-1] == Row("copy", "RuntimeError: the copy broke off", fate="failed")
    assert "Traceback" in capsys.readouterr().err


def ceiling(value, **more):
    return BandwidthCeiling(level="DRAM", op="read", value=value, ci95=None, roof=True, kernel="read", limit=4.8e12, **more)


@pytest.mark.parametrize(("value", "good"), [(4.36e12, True), (4.34e12, False)])
def test_a_known_device_is_held_against_what_others_measured(value, good):
    verdict = judge("DRAM read", ceiling(value), "B/s", {"name": "NVIDIA H200"})
    assert (verdict.expected, verdict.good) == (">= 4.35 TB/s", good)


def test_the_first_seconds_are_what_others_measured():
    sustained = ceiling(4.1e12, burst=Burst(4.4e12))
    assert judge("DRAM read", sustained, "B/s", {"name": "NVIDIA H200"}).good is True


@pytest.mark.parametrize("device", [{"name": "NVIDIA H200 MIG 1g.18gb", "is_mig": True}, {"name": "NVIDIA Next"}])
def test_a_slice_or_an_unknown_device_is_held_against_shares_of_its_limit(device):
    verdict = judge("DRAM read", ceiling(0.86 * 4.8e12), "B/s", device)
    assert (verdict.expected, verdict.good) == (">= 85% of the limit", True)


def tensor_point(kernel, time_s, **more):
    """8e12 FLOP in so many seconds."""
    known = {"id": f"{kernel}/bf16", "measures": "compute", "op": "mma", "precision": "bf16", "path": "tensor", "samples_s": (time_s,)}
    return Point(kernel=kernel, flops=8e12, repeats=1, **{**known, **more})


def test_each_tensor_kernel_has_a_row_with_its_best_parameters():
    points = (
        tensor_point("wgmma", 0.02, parameters={"ERT_N": 128}),
        tensor_point("wgmma", 0.01, parameters={"ERT_N": 256}, clock_hz=(1.7e9,), power_w=(690.0,), throttled=((),)),
        tensor_point("wgmma", 0.008, operands="zeros"),
        tensor_point("mma", 0.0125),
        tensor_point("mma", 1.0, status="error", reason="lost", samples_s=()),
    )
    rows = list(tensor_rows(SimpleNamespace(points=points)))
    assert rows == [Row("bf16 tensor, mma", "640 TFLOP/s"), Row("bf16 tensor, wgmma", "800 TFLOP/s n=256 1700 MHz 690 W")]


def test_the_log_has_a_line_on_every_point():
    slow = {"clock_hz": (1.2e9, None), "temperature_c": (70.0, 81.0), "throttled": (("SwPowerCap",), ())}
    points = (
        tensor_point("mma", 0.0125, samples_s=(0.0125, 0.0125), **slow),
        tensor_point("wgmma", 1.0, samples_s=(), status="error", reason="launch failure"),
    )
    assert list(point_lines(SimpleNamespace(points=points))) == [
        "mma/bf16: 640 TFLOP/s, 2 samples 1200 MHz 81 C 1 throttled (SwPowerCap)",
        "wgmma/bf16: error: launch failure",
    ]


class FakeEvent:
    """Time as the device counts it: 2 ms for each run since the one before."""

    clock_s = 0.0

    def record(self):
        self.at_s = FakeEvent.clock_s

    def synchronize(self):
        pass

    def time_since(self, other):
        return 1e3 * (self.at_s - other.at_s)


def fake_device():
    def copy(*_):
        FakeEvent.clock_s += 2e-3

    return SimpleNamespace(
        driver=SimpleNamespace(Event=FakeEvent, memcpy_dtod=copy),
        memory=SimpleNamespace(budget_bytes=80 << 30, arrays=lambda _size, _precision: 0, soil=lambda: None),
        read_monitor=lambda: Reading(clock_hz=1.98e9, power_w=650.0),
    )


def test_the_time_of_one_run_is_that_of_a_batch_shared_out():
    device = fake_device()
    timed = time_of(device, device.driver.memcpy_dtod)
    assert timed.time_s == pytest.approx(2e-3)
    assert str(timed) == " 1980 MHz 650 W"


# 4 GiB read and 4 GiB written in 2 ms are 4.295 TB/s.
@pytest.mark.parametrize(("reached", "good"), [(4.3e12, True), (4.0e12, False), (None, None)])
def test_the_copy_of_the_driver_counts_both_ways_and_must_not_be_faster_than_the_ceiling(reached, good):
    (row,) = copy_rows(fake_device(), {"DRAM copy": reached} if reached else {})
    assert row.found.startswith("4.295 TB/s")
    assert row.good is good


class FakeCublas:
    name = "cuBLAS 13.0"

    def close(self):
        pass


# 2 * 8192**3 FLOP in 1.5 ms are 733.0 TFLOP/s.
@pytest.mark.parametrize(
    ("precision", "measured", "good"),
    [
        ("bf16", {"bf16 tensor": 810e12}, True),
        ("bf16", {"bf16 tensor": 700e12, "bf16 vector": 120e12}, False),
        ("fp32", {"fp32 tensor": 900e12, "fp32 vector": 60e12}, False),
        ("fp64", {}, None),
    ],
)
def test_a_product_of_cublas_must_not_be_faster_than_the_ceiling_of_its_path(monkeypatch, precision, measured, good):
    monkeypatch.setattr(witnesses, "Cublas", FakeCublas)
    monkeypatch.setattr(witnesses, "time_of", lambda *_: Timed(1.5e-3, Reading()))
    (row,) = gemm_rows(fake_device(), precision, measured)
    assert row.found == "733 TFLOP/s cuBLAS 13.0"
    assert row.good is good


def test_cublas_that_fails_is_a_row_of_a_step_that_fails(monkeypatch):
    def broken(*_):
        raise ErtError("cublasGemmEx failed with status 13.")

    monkeypatch.setattr(witnesses, "Cublas", FakeCublas)
    monkeypatch.setattr(witnesses, "time_of", broken)
    assert list(guarded("cuBLAS", gemm_rows(fake_device(), "bf16", {}))) == [
        Row("cuBLAS", "cublasGemmEx failed with status 13.", fate="failed")
    ]


def test_results_that_cannot_be_written_are_named_before_anything_is_measured():
    command = [sys.executable, BENCH / "gpu_check.py", "--out", "/dev/null/nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: /dev/null/nowhere")
