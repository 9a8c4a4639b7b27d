/*ert
summary = "Copy an array: c[i] = a[i]."
measures = "bandwidth"
op = "copy"
precisions = ["fp64"]
levels = ["L1", "L2", "L3", "DRAM"]
arrays = 2

[parameters]
ERT_NONTEMPORAL = { default = 0, values = [0, 1], only = { 1 = ["L3", "DRAM"] }, doc = "1: stores that bypass the caches" }

[trip]
array_bytes = "8 * vector_bytes"
bytes_loaded = "8 * vector_bytes"
bytes_stored = "8 * vector_bytes"
*/
#include "ert.h"
#include "store.h"

enum { VECTORS = 8 };

uint64_t ert_kernel(const ert_work *work) {
    const uint64_t bytes = work->bytes, trips = work->passes * (bytes / (VECTORS * ERT_VECTOR_BYTES));
    const char *a = work->array[0];
    char *c = work->array[1];
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0, at = 0; trip < trips; trip++, at = ert_wrap(at + VECTORS * ERT_VECTOR_BYTES, bytes)) {
        ERT_TRIP;
        ert_bits value[VECTORS];
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) {
            value[v] = ERT_AT(const ert_bits, a + at, v);
            /* Else clang turns the trip into a call of memmove. */
            ERT_IN_REGISTER(value[v]);
        }
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) ert_store(c + at + v * ERT_VECTOR_BYTES, value[v]);
    }
    ert_finish_stores();
    return trips;
}
