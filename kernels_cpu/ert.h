/* What every CPU kernel shares: the vector type, the work description, and the marks that let the compiled code be checked.
 *
 * -D macros given at compile time: ERT_TYPE, the element type; ERT_VECTOR_BYTES, the widest vector of the target (GNU vector types of
 * this size become one instruction each); ERT_PRECISION_<name>; and the parameters of the kernel's facts header.
 */
#ifndef ERT_H
#define ERT_H

#include <stddef.h>
#include <stdint.h>

typedef ERT_TYPE ert_scalar;
typedef ert_scalar ert_vec __attribute__((vector_size(ERT_VECTOR_BYTES), aligned(ERT_VECTOR_BYTES), may_alias));
typedef uint64_t ert_bits __attribute__((vector_size(ERT_VECTOR_BYTES), aligned(ERT_VECTOR_BYTES), may_alias));

/* One thread's share of one call.
 * array     start of each array, aligned to 64 bytes
 * bytes     per array, a multiple of what one trip touches
 * passes    how often the arrays are walked (or, in registers, how many trips)
 * operands  ERT_VECTOR_BYTES-aligned random vectors for kernels that need constants
 * result    where a kernel leaves what it computed, for the check against NumPy
 */
typedef struct {
    char *array[3];
    uint64_t bytes;
    uint64_t passes;
    const char *operands;
    char *result;
} ert_work;

/* A kernel returns the number of trips it ran. */
typedef uint64_t ert_kernel_function(const ert_work *);
ert_kernel_function ert_kernel;

/* Marks one trip of the hot loop in the assembly: the checker counts the instructions between such marks' loop and its branch.
 * volatile: it may be neither dropped nor merged; it emits no instruction. */
#define ERT_TRIP __asm__ volatile("/*ert-trip*/")

/* Marks a loop inside a trip that runs a fixed number of times. */
#define ERT_REPEAT(count) __asm__ volatile("/*ert-repeat %c0*/" : : "i"(count))

/* Back to 0 at the end, without a branch: a mispredicted end of pass would cost 5 % of an L1-sized pass. */
static inline uint64_t ert_wrap(uint64_t at, uint64_t end) {
#if defined(__x86_64__)
    uint64_t zero = 0;
    __asm__("cmp %2, %0\n\tcmove %1, %0" : "+r"(at) : "r"(zero), "r"(end) : "cc");
#else
    __asm__("cmp %0, %1\n\tcsel %0, xzr, %0, eq" : "+r"(at) : "r"(end) : "cc");
#endif
    return at;
}

/* The value lives in a vector register here: the compiler can neither fold nor spill it into the loop. */
#if defined(__x86_64__)
#define ERT_IN_REGISTER(v) __asm__ volatile("" : "+x"(v))
#else
#define ERT_IN_REGISTER(v) __asm__ volatile("" : "+w"(v))
#endif

#if defined(__clang__)
#define ERT_UNROLL_FULLY _Pragma("clang loop unroll(full)")
#else
#define ERT_UNROLL_FULLY _Pragma("GCC unroll 1024")
#endif
#if defined(__clang__)
#define ERT_KEEP_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ERT_KEEP_ROLLED _Pragma("GCC unroll 1")
#endif

#define ERT_AT(type, base, index) (*(type *)((base) + (size_t)(index) * ERT_VECTOR_BYTES))
#define ERT_OPERAND(index) ERT_AT(const ert_vec, work->operands, index)

#endif
