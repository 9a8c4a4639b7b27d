/*ert
summary = "Multiply-adds and adds side by side, for cores whose add pipes stand beside the multiply-add pipes."
measures = "compute"
op = "fma+add"
precisions = ["fp64", "fp32"]

[parameters]
ERT_FMA_CHAINS = { default = 8, values = [8], doc = "independent chains of x = x * a + b" }
ERT_ADD_CHAINS = { default = 6, values = [6], doc = "independent chains of y = y + b" }

[trip]
flops = "24 * (2 + 1) * lanes"
*/
#include "ert.h"

/* 24 of each kind a trip: both chain counts divide it, and the pipes see one of each per turn. */
enum { EACH = 24 };

/* Operands: vector 0 is a, 1 is b, then one start value per chain: first the multiply-adds, then the adds. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t trips = work->passes;
    ert_vec a = ERT_OPERAND(0), b = ERT_OPERAND(1), x[ERT_FMA_CHAINS], y[ERT_ADD_CHAINS];
    ERT_IN_REGISTER(a);
    ERT_IN_REGISTER(b);
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_FMA_CHAINS; c++) x[c] = ERT_OPERAND(2 + c);
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_ADD_CHAINS; c++) y[c] = ERT_OPERAND(2 + ERT_FMA_CHAINS + c);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0; trip < trips; trip++) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int i = 0; i < EACH; i++) {
            x[i % ERT_FMA_CHAINS] = x[i % ERT_FMA_CHAINS] * a + b;
            y[i % ERT_ADD_CHAINS] = y[i % ERT_ADD_CHAINS] + b;
        }
    }
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_FMA_CHAINS; c++) ERT_AT(ert_vec, work->result, c) = x[c];
    ERT_UNROLL_FULLY
    for (int c = 0; c < ERT_ADD_CHAINS; c++) ERT_AT(ert_vec, work->result, ERT_FMA_CHAINS + c) = y[c];
    return trips;
}
