/*ert
summary = "Multiply-add in registers: independent chains of x = x * a + b."
measures = "compute"
op = "fma"
precisions = ["fp64", "fp32", "fp16", "int32"]

[requires]
fp16 = ["__AVX512FP16__", "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC"]
int32 = ["__SSE4_1__", "__ARM_NEON"]

[parameters]
ERT_CHAINS = { default = 12, values = [4, 8, 10, 12], doc = "independent chains; latency times pipes must fit" }

[trip]
flops = "2 * 8 * ERT_CHAINS * lanes"
*/
#include "ert.h"

enum { STEPS = 8 };

/* Operands: vector 0 is a, 1 is b, then one start value per chain. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t trips = work->passes;
    ert_vec a = ERT_OPERAND(0), b = ERT_OPERAND(1), x[ERT_CHAINS];
    ERT_IN_REGISTER(a);
    ERT_IN_REGISTER(b);
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_CHAINS; c++) x[c] = ERT_OPERAND(2 + c);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0; trip < trips; trip++) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int step = 0; step < STEPS; step++)
            ERT_UNROLL_FULLY
            for (int c = 0; c < ERT_CHAINS; c++) x[c] = x[c] * a + b;
    }
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_CHAINS; c++) ERT_AT(ert_vec, work->result, c) = x[c];
    return trips;
}
