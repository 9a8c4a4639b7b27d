/*ert
summary = "Multiply-adds and adds side by side, for cores whose add pipes stand beside the multiply-add pipes."
measures = "compute"
op = "fma+add"
precisions = ["fp64", "fp32"]

[requires]
fp64 = ["__FMA__", "__ARM_FEATURE_FMA"]
fp32 = ["__FMA__", "__ARM_FEATURE_FMA"]

[parameters]
ERT_FMA_CHAINS = { default = 9, values = [9], doc = "independent chains of x = x * a + a" }
ERT_ADD_CHAINS = { default = 6, values = [6], doc = "independent chains of y = y + a" }

[trip]
flops = "36 * (2 + 1) * lanes"
*/
#include "ert.h"

/* 36 of each kind a trip: both chain counts divide it, and the pipes see one of each per turn. */
enum { EACH = 36 };

/* Operands: vector 0 is a, then from vector 2 on one start value per chain: first the multiply-adds, then the adds.
 * One operand for everything: with two, 16 registers hold only 8 chains of multiply-adds, and then latency has no slack at all. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t trips = work->passes;
    ert_vec a = ERT_OPERAND(0), x[ERT_FMA_CHAINS], y[ERT_ADD_CHAINS];
    ERT_IN_REGISTER(a);
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_FMA_CHAINS; c++) x[c] = ERT_OPERAND(2 + c);
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_ADD_CHAINS; c++) y[c] = ERT_OPERAND(2 + ERT_FMA_CHAINS + c);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0; trip < trips; trip++) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int i = 0; i < EACH; i++) {
            x[i % ERT_FMA_CHAINS] = x[i % ERT_FMA_CHAINS] * a + a;
            y[i % ERT_ADD_CHAINS] = y[i % ERT_ADD_CHAINS] + a;
            /* In this order: a compiler that groups the adds leaves their pipes idle (99.8 % against 90 % on Zen 3). */
            ERT_IN_REGISTER(x[i % ERT_FMA_CHAINS]);
            ERT_IN_REGISTER(y[i % ERT_ADD_CHAINS]);
        }
    }
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_FMA_CHAINS; c++) ERT_AT(ert_vec, work->result, c) = x[c];
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_ADD_CHAINS; c++) ERT_AT(ert_vec, work->result, ERT_FMA_CHAINS + c) = y[c];
    return trips;
}
