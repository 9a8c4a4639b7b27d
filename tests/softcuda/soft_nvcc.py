"""Looks like nvcc to its caller and makes images of the soft driver with g++.

Knows ``--version``, ``--list-gpu-code`` and ``-cubin -gencode=arch=compute_90a,code=sm_90a [-D...] [-I...] -o IMAGE FILE.cu``.
"""

from __future__ import annotations

import hashlib
import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHITECTURES = (75, 80, 86, 87, 89, 90, 100, 103, 120)
COMMON = ("-std=c++17", "-x", "c++", "-w")
# Every access is instrumented, and its alignment is checked; vectorised code would join several into one.
CODE = ("-O1", "-fsanitize=thread,alignment", "-fno-tree-vectorize", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-exceptions")
# Else every FMA and every conversion to half is a call into a library.
X86 = ("-mfma", "-mf16c") if platform.machine() == "x86_64" else ()
# -fno-gnu-unique: else dlopen would give every image the variables of the first.
LINK = ("-fPIC", "-shared", "-fvisibility=hidden", "-fno-gnu-unique")
# CUDA C++ that is rewritten: what may stand before the type of an array, an array's sizes, and how variables are declared.
ALIGNMENT = r"alignas\s*\([^)]*\)|__attribute__\s*\(\(\w+\s*\([^)]*\)\)\)"
SIZES = r"\s*(?:\[[^\]]*\]\s*)*"
DECLARATOR = rf"(\w+)({SIZES})"
DECLARATION = rf"([^=]+?)\s+((?:\w+{SIZES},\s*)*\w+{SIZES})"
# A variable of shared memory becomes a reference to where the driver puts it, found by the address of a key.
PLACE = (
    "static char soft_key_{name}; typedef {kind} soft_type_{name}{sizes}; soft_type_{name} &{name} = "
    "*(soft_type_{name} *)__soft_state.shared(&soft_key_{name}, sizeof(soft_type_{name}), alignof(soft_type_{name}));"
)
DESCRIPTION = """
extern "C" { __attribute__((visibility("default"))) soft_kernel __soft_kernel_%s = soft_describe("%s", &%s); }"""


def digest() -> str:
    """Of all that decides what an image is: part of the version, and so of every cache key."""
    sources = [Path(__file__), *sorted((HERE / "include").iterdir())]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def for_host_compiler(preprocessed: str) -> str:
    """CUDA C++ after preprocessing -> C++, with a description of every kernel at the end."""
    text = re.sub(r"\bextern\s+__shared__\s+([^;]+?)\s+(\w+)\s*\[\s*\]\s*;", _dynamic, preprocessed)
    text = re.sub(r"\b__shared__\s+([^;]+);", _placed, text)
    kernels = dict.fromkeys(re.findall(r"\b__global__\s+void\s+(\w+)\s*\(", text))
    text = text.replace("__global__", "")
    return text + "".join(DESCRIPTION % (name, name, name) for name in kernels)


def _dynamic(found: re.Match[str]) -> str:
    """The dynamic array begins a page, which is as aligned as anybody asks for."""
    kind = re.sub(ALIGNMENT, "", found[1]).strip()
    return f"{kind} *const {found[2]} = ({kind} *)__soft_state.dynamic_shared;"


def _placed(found: re.Match[str]) -> str:
    declaration = re.fullmatch(DECLARATION, found[1].strip())
    if not declaration:
        sys.exit(f"softcuda cannot place '{found[0]}': write a type, and names with sizes in brackets.")
    kind, names = declaration.groups()
    return " ".join(PLACE.format(kind=kind, name=name, sizes=sizes) for name, sizes in re.findall(DECLARATOR, names))


def compile_image(source: str, image: str, architecture: int, options: list[str]) -> None:
    defines = [f"-D__CUDA_ARCH__={architecture}0", *options]
    shim = ["-I", str(HERE / "include"), "-include", "softcuda.h"]
    preprocessed = run(["g++", *COMMON, *defines, *shim, "-E", source])
    run(["g++", *COMMON, *CODE, *X86, *LINK, "-c", "-o", f"{image}.o", "-"], preprocessed_input=for_host_compiler(preprocessed))
    run(["g++", *LINK, "-o", image, f"{image}.o"])
    Path(f"{image}.o").unlink()


def run(command: list[str], preprocessed_input: str | None = None) -> str:
    done = subprocess.run(command, input=preprocessed_input, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def main(arguments: list[str]) -> None:
    if "--version" in arguments:
        print(f"nvcc: soft CUDA compiler driver\nCuda compilation tools, release 13.0, V13.0.0-soft-{digest()}")
    elif "--list-gpu-code" in arguments:
        print("\n".join(f"sm_{a}" for a in ARCHITECTURES))
    else:
        generate = next(a for a in arguments if a.startswith("-gencode="))
        options = [a for a in arguments if a.startswith(("-D", "-I"))]
        compile_image(arguments[-1], arguments[arguments.index("-o") + 1], int(re.findall(r"code=sm_(\d+)", generate)[0]), options)


if __name__ == "__main__":
    main(sys.argv[1:])
