/*ert
summary = "Read and write one array in place: a[i] = s * a[i] (s = -1 when timed, so that the values stay what they are)."
measures = "bandwidth"
op = "update"
precisions = ["fp64"]
levels = ["L1", "L2", "L3", "DRAM"]
arrays = 1

[parameters]
ERT_NONTEMPORAL = { default = 0, values = [0], doc = "in place, the line is in the cache already: a plain store" }
ERT_GROUPED = { default = 0, values = [0, 1], only = { 1 = ["L3", "DRAM"] }, doc = "1: the loads of a trip before its stores" }

[trip]
array_bytes = "8 * vector_bytes"
flops = "8 * lanes"
bytes_loaded = "8 * vector_bytes"
bytes_stored = "8 * vector_bytes"
*/
#include "ert.h"
#include "store.h"

enum { VECTORS = 8 };

uint64_t ert_kernel(const ert_work *work) {
    const uint64_t bytes = work->bytes, trips = work->passes * (bytes / (VECTORS * ERT_VECTOR_BYTES));
    char *a = work->array[0];
    ert_vec s = ERT_OPERAND(0);
    ERT_IN_REGISTER(s);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0, at = 0; trip < trips; trip++, at = ert_wrap(at + VECTORS * ERT_VECTOR_BYTES, bytes)) {
        ERT_TRIP;
        ert_vec x[VECTORS];
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) {
            x[v] = s * ERT_AT(const ert_vec, a + at, v);
            if (!ERT_GROUPED) ert_store(a + at + v * ERT_VECTOR_BYTES, (ert_bits)x[v]);
        }
        if (ERT_GROUPED)
            ERT_UNROLL_FULLY
            for (int v = 0; v < VECTORS; v++) ert_store(a + at + v * ERT_VECTOR_BYTES, (ert_bits)x[v]);
    }
    return trips;
}
