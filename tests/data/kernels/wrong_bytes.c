/*ert
summary = "A lie: reads every other vector and declares them all."
measures = "bandwidth"
op = "read"
precisions = ["fp64"]
levels = ["L1"]
arrays = 1

[trip]
array_bytes = "8 * vector_bytes"
flops = "0"
bytes_loaded = "8 * vector_bytes"
bytes_stored = "0"
*/
#include "ert.h"

enum { VECTORS = 8 };

/* Half of the cache lines are never touched. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t bytes = work->bytes, trips = work->passes * (bytes / (VECTORS * ERT_VECTOR_BYTES));
    const char *a = work->array[0];
    ert_bits sum = {0};
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0, at = 0; trip < trips; trip++, at = ert_wrap(at + VECTORS * ERT_VECTOR_BYTES, bytes)) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v += 2) sum ^= ERT_AT(const ert_bits, a + at, v);
    }
    ERT_AT(ert_bits, work->result, 0) = sum;
    return trips;
}
