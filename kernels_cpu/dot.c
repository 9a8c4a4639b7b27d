/*ert
summary = "Dot products of narrow numbers into wide sums, in registers: the instruction that matrix libraries use for this type."
measures = "compute"
op = "fma"
precisions = ["bf16", "int8", "int16"]

[requires]
bf16 = ["__AVX512BF16__", "__ARM_FEATURE_BF16_VECTOR_ARITHMETIC"]
int8 = ["__AVX512VNNI__", "__AVXVNNI__", "__ARM_FEATURE_DOTPROD"]
int16 = ["__SSE2__"]

[parameters]
ERT_CHAINS = { default = 10, values = [8, 10, 12], doc = "independent sums; latency times pipes must fit" }

[trip]
flops = "2 * 8 * ERT_CHAINS * lanes"
*/
#include "dot.h"

enum { STEPS = 8 };

/* Operands: vector 0 is a, 1 is b, then one start value per sum. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t trips = work->passes;
    ert_bits a = ERT_AT(const ert_bits, work->operands, 0), b = ERT_AT(const ert_bits, work->operands, 1);
    ert_sum sum[ERT_CHAINS];
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_CHAINS; c++) sum[c] = ERT_AT(const ert_sum, work->operands, 2 + c);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0; trip < trips; trip++) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int step = 0; step < STEPS; step++)
            ERT_UNROLL_FULLY
            for (int c = 0; c < ERT_CHAINS; c++) sum[c] = ert_dot(sum[c], a, b);
    }
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_CHAINS; c++) ERT_AT(ert_sum, work->result, c) = sum[c];
    return trips;
}
