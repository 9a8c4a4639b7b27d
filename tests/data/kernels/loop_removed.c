/*ert
summary = "A lie: the loop counts nothing anybody reads, so the compiler removes it."
measures = "compute"
op = "fma"
precisions = ["fp64"]

[parameters]
ERT_CHAINS = { default = 8, values = [8], doc = "independent chains" }

[trip]
flops = "2 * 8 * ERT_CHAINS * lanes"
*/
#include "ert.h"

/* The mark stands before the loop: inside, it would keep the loop alive. */
uint64_t ert_kernel(const ert_work *work) {
    ert_vec a = ERT_OPERAND(0), b = ERT_OPERAND(1), x = ERT_OPERAND(2);
    ERT_TRIP;
    for (uint64_t trip = 0; trip < work->passes; trip++)
        for (int step = 0; step < 8 * ERT_CHAINS; step++) x = x * a + b;
    ERT_AT(ert_vec, work->result, 0) = a;
    return work->passes;
}
