/*ert
summary = "The ERT kernel: load every element, do ERT_FLOPS operations on it, store it in place."
measures = "mixed"
op = "mixed"
precisions = ["fp64", "fp32", "fp16"]
levels = ["L1", "L2", "L3", "DRAM"]
arrays = 1

[requires]
fp16 = ["__AVX512FP16__", "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC"]

[parameters]
ERT_FLOPS = { default = 2, values = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], doc = "operations per element, all in multiply-adds; where odd, the last one goes to every other vector" }

[trip]
array_bytes = "8 * vector_bytes"
flops = "8 * lanes * ERT_FLOPS"
bytes_loaded = "8 * vector_bytes"
bytes_stored = "8 * vector_bytes"
*/
#include "ert.h"

enum { VECTORS = 8, STEPS = ERT_FLOPS / 2, UNROLLED = STEPS < 32 ? STEPS : 32, ROUNDS = UNROLLED ? STEPS / UNROLLED : 0 };

/* One instruction mix for every ERT_FLOPS: a lone multiply for an odd one would be another kernel, with another peak.
 *
 * Operands: a and b of x = x * a + b. Timed with a = -1 and a b too small to change a bit: the data stay random and finite for ever. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t bytes = work->bytes, trips = work->passes * (bytes / (VECTORS * ERT_VECTOR_BYTES));
    char *array = work->array[0];
    ert_vec a = ERT_OPERAND(0), b = ERT_OPERAND(1);
    ERT_IN_REGISTER(a);
    ERT_IN_REGISTER(b);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0, at = 0; trip < trips; trip++, at = ert_wrap(at + VECTORS * ERT_VECTOR_BYTES, bytes)) {
        ERT_TRIP;
        char *here = array + at;
        ert_vec x[VECTORS];
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) {
            x[v] = ERT_AT(const ert_vec, here, v);
            /* A vector that is stored as it was loaded would not be stored at all. */
            if (STEPS == 0) ERT_IN_REGISTER(x[v]);
        }
        if (ERT_FLOPS % 2)
            ERT_UNROLL_FULLY
            for (int v = 0; v < VECTORS; v += 2) x[v] = x[v] * a + b;
        ERT_KEEP_ROLLED
        for (int round = 0; round < ROUNDS; round++) {
            if (ROUNDS > 1) ERT_REPEAT(ROUNDS);
            ERT_UNROLL_FULLY
            for (int step = 0; step < UNROLLED; step++)
                ERT_UNROLL_FULLY
                for (int v = 0; v < VECTORS; v++) x[v] = x[v] * a + b;
        }
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) ERT_AT(ert_vec, here, v) = x[v];
    }
    return trips;
}
