/*ert
summary = "A lie: declares three operations a multiply-add."
measures = "compute"
op = "fma"
precisions = ["fp64"]

[parameters]
ERT_CHAINS = { default = 8, values = [8], doc = "independent chains" }

[trip]
flops = "3 * 8 * ERT_CHAINS * lanes"
*/
#include "ert.h"

enum { STEPS = 8 };

/* The code is that of an honest kernel. */
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
