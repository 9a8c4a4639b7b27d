/*ert
summary = "A lie: its pass loop is plain to see, and the compiler may run two passes at once over every load."
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

#if !defined(__clang__)
#pragma GCC optimize("O3", "unroll-and-jam")
#endif

/* Without the mark nothing keeps two passes apart: half of the loads vanish and the bandwidth doubles. */
uint64_t ert_kernel(const ert_work *work) {
    const uint64_t vectors = work->bytes / ERT_VECTOR_BYTES;
    const ert_bits *a = (const ert_bits *)work->array[0];
    ert_bits sum = {0};
    for (uint64_t pass = 0; pass < work->passes; pass++)
        for (uint64_t v = 0; v < vectors; v++) sum ^= a[v];
    ERT_AT(ert_bits, work->result, 0) = sum;
    return work->passes * (vectors / VECTORS);
}
