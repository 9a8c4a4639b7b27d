"""Choosing a compiler and an architecture, compiling, caching, and the words of a failure."""

import stat
from pathlib import Path

import pytest

from ert import nvcompile
from ert.doctor.cuda import compiler_fact
from ert.errors import KernelError
from ert.kernels import load_kernels, parse_kernel
from ert.nvcompile import Nvcc, Nvrtc, Target, choose_target, compile_kernel, entry_name, find_compiler, macros, unmet_requirement

KERNELS = load_kernels("cuda")
READ = KERNELS["read"]


@pytest.fixture
def compiler(tmp_path):
    """A compiler that notes each call and writes its options into the image."""
    script = tmp_path / "nvcc"
    script.write_text(
        '#!/bin/sh\necho run >> "$0.calls"\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; all="$all $1"; shift; done\n'
        'if [ -f "$0.fails" ]; then cat "$0.fails"; exit 2; fi\n[ -f "$0.warns" ] && cat "$0.warns" >&2\necho "$all" > "$out"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IEXEC)
    return Nvcc(script, "nvcc 1.0", ("sm_80", "sm_86", "sm_90", "sm_100"))


def calls(compiler):
    log = compiler.path.with_suffix(".calls")
    return len(log.read_text().splitlines()) if log.exists() else 0


def compile_read(compiler, folder, architecture="sm_90a", **parameters):
    return compile_kernel(READ, macros(READ, "fp32", parameters, 16), Target(architecture), compiler, folder)


@pytest.mark.parametrize(
    ("capability", "architecture"),
    [((8, 0), "sm_80"), ((9, 0), "sm_90a"), ((10, 0), "sm_100a"), ((8, 9), "sm_86"), ((10, 3), "sm_100"), ((12, 0), "compute_100")],
)
def test_the_target_is_the_devices_own_else_the_newest_that_runs_there(compiler, capability, architecture):
    target = choose_target(capability, compiler)
    assert target.architecture == architecture
    own = f"sm_{capability[0]}{capability[1]}"
    assert target.note is None if own in compiler.supported else own in target.note


def test_a_device_older_than_the_compiler_is_refused_with_what_it_knows(compiler):
    with pytest.raises(KernelError, match=r"cannot compile for sm_70; it knows sm_80, sm_86, sm_90, sm_100"):
        choose_target((7, 0), compiler)


def test_a_cubin_is_compiled_once_for_the_same_source_options_and_architecture(compiler, tmp_path):
    first = compile_read(compiler, tmp_path / "cache")
    assert compile_read(compiler, tmp_path / "cache") == first
    assert calls(compiler) == 1
    compile_read(compiler, tmp_path / "cache", ERT_UNROLL=8)
    compile_read(compiler, tmp_path / "cache", architecture="sm_80")
    assert calls(compiler) == 3


def test_another_version_of_the_compiler_compiles_again(compiler, tmp_path):
    compile_read(compiler, tmp_path / "cache")
    compile_read(Nvcc(compiler.path, "nvcc 2.0", compiler.supported), tmp_path / "cache")
    assert calls(compiler) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(compiler, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert compile_read(compiler, tmp_path / "file" / "cache")


def test_ptx_is_asked_for_where_only_the_driver_can_make_the_cubin(compiler, tmp_path):
    options = compile_read(compiler, tmp_path, architecture="compute_100").decode()
    assert "-ptx -arch=compute_100" in options
    assert "-cubin -gencode=arch=compute_90a,code=sm_90a" in compile_read(compiler, tmp_path).decode()


def test_a_failure_names_kernel_architecture_and_the_compilers_words(compiler, tmp_path):
    compiler.path.with_suffix(".fails").write_text("error: line 3: no such thing")
    with pytest.raises(KernelError, match=r"read\.cu did not compile for sm_90a\. nvcc 1\.0 said: error: line 3: no such thing"):
        compile_read(compiler, tmp_path)


@pytest.mark.parametrize(
    ("warning", "words"),
    [
        ("ptxas warning : Registers are spilled to local memory in function 'x'", "spills registers"),
        ("ptxas info : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized", "was serialised"),
    ],
)
def test_a_warning_that_ruins_the_measurement_fails_the_build(compiler, tmp_path, warning, words):
    compiler.path.with_suffix(".warns").write_text(warning)
    with pytest.raises(KernelError, match=words):
        compile_read(compiler, tmp_path)


def test_every_parameter_and_the_precision_reach_the_compiler():
    given = macros(READ, "fp32", {"ERT_UNROLL": 2}, 32)
    assert given["ERT_UNROLL"] == "2"
    assert given["ERT_THREADS"] == str(READ.parameters["ERT_THREADS"].default)
    assert (given["ERT_PRECISION"], given["ERT_VECTOR_BYTES"], given["ERT_KERNEL"]) == ("fp32", "32", "ert_read_fp32")


def test_nvcc_is_taken_from_the_environment(compiler, monkeypatch, tmp_path):
    told = tmp_path / "mine"
    told.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "release 13.0, V13.0.88" || echo "sm_80 sm_90"\n')
    told.chmod(0o755)
    monkeypatch.setenv("NVCC", str(told))
    found = find_compiler()
    assert (found.name, found.version, found.supported) == ("nvcc", "nvcc 13.0.88", ("sm_80", "sm_90"))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (None, "there is no such program"),
        ("#!/bin/sh\nexit 1\n", "does not answer like nvcc"),
        ("#!/bin/sh\necho hello\n", "does not answer like nvcc"),
        ("\x7fELF of another machine", "does not answer like nvcc"),
        ("#!/bin/sh\nprintf '\\377'\n", "does not answer like nvcc"),
    ],
)
def test_an_nvcc_that_was_chosen_and_does_not_work_is_named_and_no_other_compiler_taken(monkeypatch, tmp_path, body, problem):
    told = tmp_path / "mine"
    if body:
        told.write_text(body, encoding="latin-1")
        told.chmod(0o755)
    monkeypatch.setenv("NVCC", str(told))
    with pytest.raises(KernelError) as caught:
        find_compiler()
    assert str(caught.value).startswith(f"NVCC={told}: {problem}. Try: name an nvcc, or unset it")
    assert compiler_fact("problem").status == "problem"
    assert str(told) in compiler_fact("problem").text


@pytest.mark.parametrize(("driver_api", "taken"), [(13000, "nvcc"), (13020, "nvcc"), (12080, "nvrtc"), (None, "nvcc")])
def test_a_compiler_whose_images_the_driver_cannot_load_is_passed_by(monkeypatch, driver_api, taken):
    found = {"nvcc": Nvcc(Path("nvcc"), "nvcc 13.0.88", ("sm_90",)), "nvrtc": Nvrtc(None, "NVRTC 12.9", ("sm_90",))}
    monkeypatch.setattr(nvcompile, "_find_nvcc", lambda: found["nvcc"])
    monkeypatch.setattr(nvcompile, "_find_nvrtc", lambda: found["nvrtc"])
    assert find_compiler(driver_api=driver_api) is found[taken]


def test_without_a_compiler_that_the_driver_can_follow_the_way_to_one_is_said(monkeypatch):
    monkeypatch.setattr(nvcompile, "_find_nvcc", lambda: Nvcc(Path("nvcc"), "nvcc 13.0.88", ("sm_90",)))
    monkeypatch.setattr(nvcompile, "_find_nvrtc", lambda: None)
    with pytest.raises(KernelError) as caught:
        find_compiler(driver_api=12080)
    assert str(caught.value) == (
        "This driver is one of CUDA 12.8 and loads nothing that nvcc 13.0.88 compiles. "
        "Try: pip install nvidia-cuda-nvrtc-cu12, or install a newer driver."
    )


def test_without_nvcc_nvrtc_compiles(monkeypatch, tmp_path):
    monkeypatch.delenv("NVCC", raising=False)
    monkeypatch.setattr(nvcompile, "_find_nvcc", lambda: None)
    found = find_compiler()
    assert found.name == "nvrtc"
    assert "sm_90" in found.supported
    image = compile_read(found, tmp_path)
    assert image[:4] == b"\x7fELF"
    assert entry_name(READ, "fp32").encode() in image


def test_nvrtc_says_what_is_wrong_with_a_kernel(tmp_path):
    broken = parse_kernel("broken.cu", READ.source.replace("read_all_tiles<", "read_no_tiles<"), "cuda")
    with pytest.raises(KernelError, match=r"broken\.cu did not compile for sm_90a\. NVRTC \d+\.\d+ said: .*read_no_tiles"):
        compile_kernel(broken, macros(broken, "fp32", {}, 16), Target("sm_90a"), find_compiler("nvrtc"), tmp_path)


def test_an_unknown_compiler_is_refused():
    with pytest.raises(KernelError, match="'clang' is no CUDA compiler"):
        find_compiler("clang")


@pytest.mark.parametrize(
    ("name", "precision", "architecture", "words"),
    [
        ("wgmma", "bf16", "sm_80", "wgmma/bf16 needs sm_90a, this is sm_80"),
        ("fma", "bf16", "sm_75", "fma/bf16 needs compute capability 8.0, this is sm_75"),
        ("mma", "fp8", "sm_90a", "mma/fp8 needs sm_89 or sm_120a"),
        ("fma", "tf32", "sm_90a", "fma has no tf32"),
    ],
)
def test_what_a_device_lacks_is_said(name, precision, architecture, words):
    assert words in unmet_requirement(KERNELS[name], precision, Target(architecture))


def test_what_a_device_has_is_not_refused():
    assert unmet_requirement(KERNELS["fma"], "fp32", Target("sm_75")) is None
    assert unmet_requirement(KERNELS["wgmma"], "fp8", Target("sm_90a")) is None


def test_temporary_folders_are_gone_afterwards(compiler, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    compile_read(compiler, tmp_path / "cache")
    assert list((tmp_path / "scratch").iterdir()) == []
