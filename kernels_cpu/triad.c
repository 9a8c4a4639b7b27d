/*ert
summary = "The STREAM triad: c[i] = a[i] + s * b[i], two loads and one store (timed with an s too small to change a bit of a[i])."
measures = "bandwidth"
op = "triad"
precisions = ["fp64"]
levels = ["L1", "L2", "L3", "DRAM"]
arrays = 3

[parameters]
ERT_NONTEMPORAL = { default = 0, values = [0, 1], only = { 1 = ["L3", "DRAM"] }, doc = "1: stores that bypass the caches" }

[trip]
array_bytes = "16 * vector_bytes"
flops = "2 * 16 * lanes"
bytes_loaded = "2 * 16 * vector_bytes"
bytes_stored = "16 * vector_bytes"
*/
#include "ert.h"
#include "store.h"

enum { VECTORS = 16 };

uint64_t ert_kernel(const ert_work *work) {
    const uint64_t bytes = work->bytes, trips = work->passes * (bytes / (VECTORS * ERT_VECTOR_BYTES));
    const char *a = work->array[0], *b = work->array[1];
    char *c = work->array[2];
    ert_vec s = ERT_OPERAND(0);
    ERT_IN_REGISTER(s);
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0, at = 0; trip < trips; trip++, at = ert_wrap(at + VECTORS * ERT_VECTOR_BYTES, bytes)) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int v = 0; v < VECTORS; v++) {
            ert_vec product = s * ERT_AT(const ert_vec, b + at, v);
            /* Multiply and add on their own: fused, they share a port with the store data on Zen 3 and a third of the L1 rate is lost. */
            ERT_IN_REGISTER(product);
            ert_vec sum = product + ERT_AT(const ert_vec, a + at, v);
            ert_store(c + at + v * ERT_VECTOR_BYTES, (ert_bits)sum);
        }
    }
    ert_finish_stores();
    return trips;
}
