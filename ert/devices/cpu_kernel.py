"""One variant of a CPU kernel: compiled, its assembly counted, its results held against NumPy, ready to be called."""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ert.asmcheck import check_trip
from ert.devices.pool import ARRAYS, CWork
from ert.errors import KernelError
from ert.hostcc import Compiler, compile_source
from ert.kernels import Kernel, TripFacts
from ert.precisions import PRECISIONS, Precision
from ert.references import REFERENCES, Array, Expected, Inputs, dot
from ert.variant import KernelVariant

OPERAND_VECTORS = 64
MAX_VECTOR_BYTES = 64
# Long enough to reach every vector of a trip and to wrap around, short enough to check in NumPy at once.
_VERIFIED_TRIPS = 4

Scale = Literal["minus one", "tiny"]
# Added to or multiplied with the arenas' numbers (1e-5 to 4 as float32; 1e-43 to 1e5 where a pair is read as one double),
# these change no bit of the sum and make no denormal.
TINY = {"float64": 2.0**-300, "float32": 2.0**-60, "float16": 2.0**-14}


@dataclass(frozen=True, slots=True)
class Variant(KernelVariant):
    """For the host CPU."""

    @property
    def chains(self) -> list[int]:
        return [value for name, value in self.parameters.items() if name.endswith("CHAINS")]


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """address of the entry point; the library object keeps it mapped."""

    variant: Variant
    facts: TripFacts
    address: int
    library: c.CDLL


def defines(variant: Variant, vector_bytes: int) -> dict[str, str]:
    """The -D macros of a variant."""
    element = PRECISIONS[variant.precision].c_type or "double"
    fixed = {"ERT_TYPE": element, "ERT_VECTOR_BYTES": str(vector_bytes), f"ERT_PRECISION_{variant.precision}": "1"}
    return fixed | {name: str(value) for name, value in variant.parameters.items()}


def why_unsupported(compiler: Compiler, kernel: Kernel, precision: str) -> str | None:
    """None if this CPU and compiler can run the kernel at this precision."""
    if precision not in kernel.precisions:
        return f"kernel {kernel.name} has no {precision} version"
    wanted = kernel.requires.get(precision, ())
    if wanted and not compiler.macros.intersection(wanted):
        names = " or ".join(w.strip("_") for w in wanted)
        return f"this CPU (or its compiler, {compiler.command[0]}) has no {precision} arithmetic: needs {names}"
    return None


def load_kernel(compiler: Compiler, variant: Variant) -> LoadedKernel:
    """Compile, count, load, verify. Raises KernelError naming the kernel and what is wrong with it."""
    precision = PRECISIONS[variant.precision]
    facts = variant.kernel.trip_facts(variant.parameters, element_bytes=precision.bytes, vector_bytes=compiler.vector_bytes)
    compiled = compile_source(compiler, variant.kernel.name, variant.kernel.source, defines(variant, compiler.vector_bytes))
    check_trip(variant.label, compiled.assembly, facts, element_bytes=precision.bytes, is_float=precision.is_float)
    try:
        library = c.CDLL(str(compiled.library))
        address = c.cast(library.ert_kernel, c.c_void_p).value or 0
    except (OSError, AttributeError) as error:
        raise KernelError(
            f"{variant.label}: the compiled kernel cannot be loaded: {error}. Delete {compiled.library} and try again."
        ) from error
    loaded = LoadedKernel(variant, facts, address, library)
    verify(loaded, compiler.vector_bytes)
    return loaded


def verify(loaded: LoadedKernel, vector_bytes: int, seed: int = 20) -> None:
    """Run the kernel on a little random data and compare everything it wrote with NumPy. Raises KernelError.

    Over one pass, and over two: a kernel that does not go over its arrays as often as it is told would look infinitely fast.
    """
    _check_shape(loaded)
    for passes in (1, 2):
        _verify_passes(loaded, vector_bytes, passes, seed)


def _check_shape(loaded: LoadedKernel) -> None:
    """Whether there is a reference for what the kernel says of itself."""
    variant, kernel = loaded.variant, loaded.variant.kernel
    reference = REFERENCES.get(kernel.op)
    if reference is None:
        raise KernelError(f"{variant.label}: nothing in NumPy proves op '{kernel.op}' of a CPU kernel. Known: {', '.join(REFERENCES)}.")
    arrays = kernel.arrays if loaded.facts.array_bytes else 0
    if arrays != reference.arrays or len(variant.chains) != reference.chains or any(chains < 1 for chains in variant.chains):
        raise KernelError(
            f"{variant.label}: op '{kernel.op}' works on {reference.arrays} arrays (array_bytes says how far a trip walks them) and "
            f"{reference.chains} parameters named ..._CHAINS; the facts header has {arrays} and {len(variant.chains)}."
        )


def _verify_passes(loaded: LoadedKernel, vector_bytes: int, passes: int, seed: int) -> None:
    label, array_bytes = loaded.variant.label, loaded.facts.array_bytes * _VERIFIED_TRIPS
    operands = _verify_operands(loaded.variant, vector_bytes, seed)
    arrays = _verify_arrays(loaded.variant, array_bytes, seed)
    result = aligned(OPERAND_VECTORS * MAX_VECTOR_BYTES)
    expected = _expected(loaded, operands, [a.copy() for a in arrays], vector_bytes, passes)
    wanted = passes * _VERIFIED_TRIPS
    addresses = [a.ctypes.data for a in arrays] + [0] * (ARRAYS - len(arrays))
    work = CWork((c.c_void_p * ARRAYS)(*addresses), array_bytes, passes if arrays else wanted, operands.ctypes.data, result.ctypes.data)
    trips = c.CFUNCTYPE(c.c_uint64, c.POINTER(CWork))(loaded.address)(c.byref(work))
    if trips != wanted:
        raise KernelError(f"{label}: ran {trips} trips instead of {wanted}: its loop does not do what it is told.")
    for number, (have, want) in enumerate(zip(arrays, expected.arrays, strict=True)):
        _compare(f"{label}: array {number}", have, want, expected.tolerance)
    if expected.result is not None:
        have = result[: expected.result.nbytes].view(expected.result.dtype)
        _compare(f"{label}: result", have, expected.result.ravel(), expected.tolerance)


def _expected(loaded: LoadedKernel, operands: NDArray[np.uint8], arrays: Sequence[Array], vector_bytes: int, passes: int) -> Expected:
    variant, facts = loaded.variant, loaded.facts
    precision = PRECISIONS[variant.precision]
    lanes, chains = vector_bytes // precision.bytes, variant.chains
    per_step = {"fma+add": 3}.get(variant.kernel.op, 2) * lanes * (chains[0] if chains else 1)
    steps = passes * _VERIFIED_TRIPS * facts.flops // per_step
    rows = operands.reshape(OPERAND_VECTORS, vector_bytes)
    if precision.c_type is None:
        return dot(rows, variant.precision, steps, chains[0])
    typed = operands.view(numpy_type(precision)).reshape(OPERAND_VECTORS, lanes)
    given = Inputs(arrays, typed, steps, chains, variant.parameters.get("ERT_FLOPS", 0))
    reference = REFERENCES[variant.kernel.op]
    return reference.passes(given, passes) if arrays else reference.compute(given)


def numpy_type(precision: Precision) -> np.dtype[np.generic]:
    """NumPy's type of the operands. Raises KernelError for a precision NumPy has none for."""
    if precision.numpy is None:
        raise KernelError(f"NumPy has no {precision.name}, so nothing proves a kernel that walks arrays of it.")
    return np.dtype(precision.numpy)


def _verify_operands(variant: Variant, vector_bytes: int, seed: int) -> NDArray[np.uint8]:
    """a just below 1, so that one multiply-add more or less shows in the result however long the chain is."""
    operands = make_operands(variant.precision, vector_bytes, seed, None)
    if PRECISIONS[variant.precision].is_float and PRECISIONS[variant.precision].c_type:
        typed = operands.view(numpy_type(PRECISIONS[variant.precision]))
        lanes = vector_bytes // typed.itemsize
        typed[:lanes] = np.random.default_rng(seed).uniform(0.995, 0.999, lanes)
    return operands


def make_operands(precision: str, vector_bytes: int, seed: int, scales: tuple[Scale, ...] | None = None) -> NDArray[np.uint8]:
    """OPERAND_VECTORS random vectors; the first few as ``scales`` say, or the first, a, below 1 in magnitude."""
    generator, row = np.random.default_rng(seed), PRECISIONS[precision]
    operands = aligned(OPERAND_VECTORS * vector_bytes)
    if row.numpy is None or not row.is_float:
        operands[:] = _random_narrow(precision, operands.size, generator)
        return operands
    typed = operands.view(row.numpy)
    lanes = vector_bytes // typed.itemsize
    typed[:] = generator.standard_normal(typed.size)
    if scales is None:
        typed[:lanes] = generator.uniform(0.3, 0.9, lanes)
    for number, scale in enumerate(scales or ()):
        vector = typed[number * lanes : (number + 1) * lanes]
        vector[:] = -1 if scale == "minus one" else vector * TINY[row.numpy]
    return operands


def _random_narrow(precision: str, size: int, generator: np.random.Generator) -> NDArray[np.uint8]:
    """Raw bytes: bf16 as truncated normal floats; integers below 128 per byte, which every signedness reads alike."""
    if precision == "bf16":
        floats = generator.standard_normal(size // 2).astype(np.float32)
        return (floats.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    return generator.integers(0, 128, size, dtype=np.uint8)


def _verify_arrays(variant: Variant, array_bytes: int, seed: int) -> list[Array]:
    if not array_bytes:
        return []
    generator = np.random.default_rng(seed + 1)
    arrays: list[Array] = []
    for _ in range(variant.kernel.arrays):
        typed = aligned(array_bytes).view(numpy_type(PRECISIONS[variant.precision]))
        typed[:] = generator.standard_normal(typed.size)
        arrays.append(typed)
    return arrays


def aligned(size: int) -> NDArray[np.uint8]:
    """Zeroed bytes at a 64-byte boundary."""
    raw = np.zeros(size + MAX_VECTOR_BYTES, np.uint8)
    start = -raw.ctypes.data % MAX_VECTOR_BYTES
    return raw[start : start + size]


def _compare(what: str, have: Array, want: Array, tolerance: float) -> None:
    same = np.isclose(have.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance) if tolerance else have == want
    if not np.all(same):
        where = int(np.argmin(same))
        raise KernelError(
            f"{what}[{where}] is {have.flat[where]} instead of {want.flat[where]}: the kernel does not compute what it declares."
        )
