/*ert
summary = "A lie: goes over the array once, however often it is told to."
measures = "bandwidth"
op = "update"
precisions = ["fp64"]
levels = ["L1"]
arrays = 1

[trip]
array_bytes = "8 * vector_bytes"
flops = "8 * lanes"
bytes_loaded = "8 * vector_bytes"
bytes_stored = "8 * vector_bytes"
*/
#include "ert.h"

enum { VECTORS = 8 };

/* Infinitely fast for many passes. Each trip is honest, and so is the result of one pass. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t trips = work->bytes / (VECTORS * ERT_VECTOR_BYTES);
    char *a = work->array[0];
    ert_vec s = ERT_OPERAND(0);
    ERT_IN_REGISTER(s);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0; trip < trips; trip++) {
        ERT_TRIP;
        char *here = a + trip * VECTORS * ERT_VECTOR_BYTES;
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) ERT_AT(ert_vec, here, v) = s * ERT_AT(const ert_vec, here, v);
    }
    return work->passes * trips;
}
