/*ert
summary = "Write an array: every vector is stored once a pass, from registers that hold random numbers."
measures = "bandwidth"
op = "write"
precisions = ["fp64"]
levels = ["L1", "L2", "L3", "DRAM"]
arrays = 1

[parameters]
ERT_NONTEMPORAL = { default = 0, values = [0, 1], only = { 1 = ["L3", "DRAM"] }, doc = "1: stores that bypass the caches" }

[trip]
array_bytes = "16 * vector_bytes"
bytes_stored = "16 * vector_bytes"
*/
#include "ert.h"
#include "store.h"

enum { VECTORS = 16, PATTERNS = 8 };

uint64_t ert_kernel(const ert_work *work) {
    const uint64_t bytes = work->bytes, trips = work->passes * (bytes / (VECTORS * ERT_VECTOR_BYTES));
    char *a = work->array[0];
    ert_bits pattern[PATTERNS];
    ERT_UNROLL_FULLY
    for (int i = 0; i < PATTERNS; i++) {
        pattern[i] = ERT_AT(const ert_bits, work->operands, i);
        ERT_IN_REGISTER(pattern[i]);
    }
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0, at = 0; trip < trips; trip++, at = ert_wrap(at + VECTORS * ERT_VECTOR_BYTES, bytes)) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) ert_store(a + at + v * ERT_VECTOR_BYTES, pattern[v % PATTERNS]);
    }
    ert_finish_stores();
    return trips;
}
