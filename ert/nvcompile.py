"""CUDA C to a cubin for one architecture: nvcc where there is one, else NVRTC; each cubin is compiled once and cached."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ert.cuda_parts import folders_of_wheels
from ert.errors import KernelError
from ert.kernels import Kernel, shared_sources

FLAGS = ("-std=c++17", "-Xptxas", "-warn-spills")
# ptxas serialises wgmma when it cannot prove the pipeline safe (C7514 and its kin): right results at a fraction of the speed.
_SERIALISED = re.compile(r"C75\d\d|serializ", re.IGNORECASE)
_SPILLED = re.compile(r"spill", re.IGNORECASE)
_LONGEST_LOG = 2000
# Families whose own instructions (wgmma, tcgen05) exist only under the name with an ``a``.
_SPECIFIC = ("90", "100", "103", "110", "120", "121")


@dataclass(frozen=True, slots=True)
class Target:
    """What one image is for: ``sm_90a`` for a cubin, ``compute_120`` for PTX that the driver compiles.

    note  why it is not the device's own architecture, None if it is
    """

    architecture: str
    note: str | None = None

    @property
    def is_ptx(self) -> bool:
        return self.architecture.startswith("compute_")


# Of each compiler: its name, its version in its own words, and the architectures it makes cubins for, oldest first;
# run() compiles and returns whether that worked and what the compiler said.
@dataclass(frozen=True, slots=True)
class Nvcc:
    """nvcc as a program."""

    path: Path
    version: str
    supported: tuple[str, ...]
    name: str = "nvcc"

    def run(self, source: Path, target: Target, options: list[str], image: Path) -> tuple[bool, str]:
        virtual = target.architecture.replace("sm_", "compute_")
        kind = ["-ptx", f"-arch={virtual}"] if target.is_ptx else ["-cubin", f"-gencode=arch={virtual},code={target.architecture}"]
        done = subprocess.run([str(self.path), *kind, *options, "-o", str(image), str(source)], capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True, slots=True)
class Nvrtc:
    """NVRTC as a library, through ctypes."""

    library: ctypes.CDLL
    version: str
    supported: tuple[str, ...]
    name: str = "nvrtc"

    def run(self, source: Path, target: Target, options: list[str], image: Path) -> tuple[bool, str]:
        program = ctypes.c_void_p()
        self._call("nvrtcCreateProgram", ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
        try:
            words = [option.encode() for option in (f"--gpu-architecture={target.architecture}", *options)]
            works = self.library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words)) == 0
            log = self._bytes(program, "nvrtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
            if works:
                image.write_bytes(self._bytes(program, "nvrtcGetPTX" if target.is_ptx else "nvrtcGetCUBIN"))
            return works, log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, program: ctypes.c_void_p, getter: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"{getter}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(getter, program, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: object) -> None:
        if code := getattr(self.library, function)(*arguments):
            raise KernelError(f"NVRTC: {function} failed with code {code}.")


Compiler = Nvcc | Nvrtc


def find_compiler(name: str | None = None, driver_api: int | None = None) -> Compiler:
    """The compiler asked for by name, else nvcc, else NVRTC.

    driver_api  the CUDA version of the driver that has to load the images, such as 12080: a compiler of a newer major version is passed
                by (CUDA Compatibility, "Minor Version Compatibility")

    nvcc is $NVCC alone if that is set, else looked for on PATH, in $CUDA_HOME/bin and /usr/local/cuda/bin; NVRTC is looked for in the
    wheel, then in the toolkit.
    Raises KernelError with the way to get one.
    """
    found: dict[str, Callable[[], Compiler | None]] = {"nvcc": _find_nvcc, "nvrtc": _find_nvrtc}
    too_new: list[str] = []
    for candidate in [name] if name else list(found):
        if candidate not in found:
            raise KernelError(f"'{candidate}' is no CUDA compiler. Known: {', '.join(found)}.")
        compiler = found[candidate]()
        if compiler and not _is_too_new(compiler, driver_api):
            return compiler
        too_new += [compiler.version] if compiler else []
    if too_new and driver_api:
        major, minor = driver_api // 1000, driver_api % 1000 // 10
        raise KernelError(
            f"This driver is one of CUDA {major}.{minor} and loads nothing that {' or '.join(too_new)} compiles. "
            f"Try: pip install nvidia-cuda-nvrtc-cu{major}, or install a newer driver."
        )
    raise KernelError(
        f"No CUDA compiler ({name or 'neither nvcc nor NVRTC'}). Try: pip install nvidia-cuda-nvrtc, or install a CUDA toolkit."
    )


def _is_too_new(compiler: Compiler, driver_api: int | None) -> bool:
    major = re.search(r"(\d+)\.", compiler.version)
    return bool(driver_api and major and int(major[1]) > driver_api // 1000)


def _find_nvcc() -> Compiler | None:
    folders = [os.environ.get("PATH", ""), str(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin"), "/usr/local/cuda/bin"]
    chosen = os.environ.get("NVCC")
    path = shutil.which(chosen or "nvcc", path=os.pathsep.join(folders))
    found = _nvcc_at(path) if path else None
    if chosen and found is None:
        problem = "does not answer like nvcc" if path else "there is no such program"
        raise KernelError(f"NVCC={chosen}: {problem}. Try: name an nvcc, or unset it and nvcc is looked for, then NVRTC.")
    return found


@cache
def _nvcc_at(path: str) -> Compiler | None:
    version, listing = _words_of(path, "--version"), _words_of(path, "--list-gpu-code")
    architectures = _in_order(re.findall(r"sm_\d+", listing or ""))
    if version is None or not architectures:
        return None
    number = re.search(r"\bV(\d\S*)", version)
    return Nvcc(Path(path), f"nvcc {number[1] if number else 'of unknown version'}", architectures)


def _words_of(*command: str) -> str | None:
    """What a program says; None if it does not run to its end."""
    with suppress(OSError):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        return None if done.returncode else done.stdout
    return None


@cache
def _find_nvrtc() -> Compiler | None:
    wheels = [path for folder in folders_of_wheels("lib") for path in sorted(folder.glob("libnvrtc.so.*[0-9]"), reverse=True)]
    for candidate in [*(str(wheel) for wheel in wheels), "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"]:
        try:
            # NVRTC 13.0 does not find its own builtins, so they come first.
            for builtins in Path(candidate).parent.glob("libnvrtc-builtins.so*"):
                ctypes.CDLL(str(builtins))
            library = ctypes.CDLL(candidate)
        except OSError:
            continue
        return Nvrtc(library, _nvrtc_version(library), _nvrtc_supported(library))
    return None


def _nvrtc_version(library: ctypes.CDLL) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def _nvrtc_supported(library: ctypes.CDLL) -> tuple[str, ...]:
    count = ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(numbers)
    return _in_order(f"sm_{number}" for number in numbers)


def _in_order(architectures: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(architectures), key=_capability))


def choose_target(capability: tuple[int, int], compiler: Compiler) -> Target:
    """The architecture to compile for on a device of this compute capability.

    Its own where the compiler knows it (with the ``a`` that unlocks its own instructions), else the newest older one: its cubins
    run within one major version, its PTX on everything newer. Raises KernelError where nothing this compiler makes can run.
    """
    own = f"sm_{capability[0]}{capability[1]}"
    if own in compiler.supported:
        return Target(own + ("a" if own.removeprefix("sm_") in _SPECIFIC else ""))
    older = [name for name in compiler.supported if _capability(name) < capability]
    if not older:
        known = ", ".join(compiler.supported)
        raise KernelError(f"{compiler.version} cannot compile for {own}; it knows {known}. Install a CUDA version that does.")
    same_major = _capability(older[-1])[0] == capability[0]
    chosen = older[-1] if same_major else older[-1].replace("sm_", "compute_")
    return Target(chosen, f"{compiler.version} does not know {own}: compiled for {chosen}, without the instructions that {own} adds")


def _capability(architecture: str) -> tuple[int, int]:
    digits = re.sub(r"\D", "", architecture)
    return int(digits[:-1]), int(digits[-1])


def unmet_requirement(kernel: Kernel, precision: str, target: Target) -> str | None:
    """Why this kernel cannot run at this precision on this target; None if it can.

    The [requires] table of the facts header knows ``arch`` (a list of names) and ``min_cc``; ``bf16:min_cc`` speaks of one precision.
    """
    if precision not in kernel.precisions:
        return f"{kernel.name} has no {precision}; it knows {', '.join(kernel.precisions)}"

    def asked(feature: str) -> tuple[str, ...]:
        return kernel.requires.get(f"{precision}:{feature}") or kernel.requires.get(feature, ())

    names, least = asked("arch"), asked("min_cc")
    if names and target.architecture not in names:
        return f"{kernel.name}/{precision} needs {' or '.join(names)}, this is {target.architecture}"
    if least and _capability(target.architecture) < _capability(least[0]):
        return f"{kernel.name}/{precision} needs compute capability {least[0]}, this is {target.architecture}"
    return None


def entry_name(kernel: Kernel, precision: str) -> str:
    """The name of the compiled entry, as profilers show it."""
    return f"ert_{kernel.name}_{precision}"


def macros(kernel: Kernel, precision: str, parameters: Mapping[str, int], vector_bytes: int) -> dict[str, str]:
    """Every -D of one variant of a kernel."""
    return {
        "ERT_KERNEL": entry_name(kernel, precision),
        "ERT_PRECISION": precision,
        "ERT_VECTOR_BYTES": str(vector_bytes),
        **{name: str(value) for name, value in {**kernel.defaults(), **parameters}.items()},
    }


def compile_kernel(kernel: Kernel, definitions: Mapping[str, str], target: Target, compiler: Compiler, cache_folder: Path) -> bytes:
    """The image of one variant of a kernel (see ``macros``), compiled or taken from the cache.

    Raises KernelError with the compiler's words if it does not compile, if registers spill, or if ptxas serialised the tensor cores.
    """
    options = [*FLAGS, *(f"-D{name}={value}" for name, value in sorted(definitions.items()))]
    cached = cache_folder / f"{_key(kernel, options, target, compiler)}.cubin"
    if cached.is_file():
        return cached.read_bytes()
    image = _compile(kernel, options, target, compiler)
    _keep(cached, image)
    return image


def _key(kernel: Kernel, options: list[str], target: Target, compiler: Compiler) -> str:
    flags_of_nvcc = [os.environ.get(name, "") for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")]
    parts = [compiler.name, compiler.version, target.architecture, *options, *flags_of_nvcc, kernel.source]
    parts += [text for pair in shared_sources("cuda").items() for text in pair]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _compile(kernel: Kernel, options: list[str], target: Target, compiler: Compiler) -> bytes:
    with tempfile.TemporaryDirectory(prefix="ert-") as name:
        folder = Path(name)
        for header, text in shared_sources("cuda").items():
            (folder / header).write_text(text, encoding="utf-8")
        source, image = folder / kernel.file_name, folder / "image"
        source.write_text(kernel.source, encoding="utf-8")
        works, log = compiler.run(source, target, [*options, f"-I{folder}"], image)
        problem = None if works else "did not compile"
        problem = problem or ("spills registers" if _SPILLED.search(log) else None)
        problem = problem or ("was serialised: its tensor core instructions wait for each other" if _SERIALISED.search(log) else None)
        if problem:
            words = log.replace(f"{folder}/", "").strip()[:_LONGEST_LOG] or "nothing"
            raise KernelError(f"{kernel.file_name} {problem} for {target.architecture}. {compiler.version} said: {words}")
        return image.read_bytes()


def _keep(path: Path, image: bytes) -> None:
    """Put an image into the cache, whole or not at all. A cache that is full costs time, nothing else."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(image)
        Path(file.name).replace(path)
