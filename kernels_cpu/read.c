/*ert
summary = "Read an array: every vector is loaded once a pass and folded into a checksum by exclusive or."
measures = "bandwidth"
op = "read"
precisions = ["fp64"]
levels = ["L1", "L2", "L3", "DRAM"]
arrays = 1

[parameters]
ERT_STREAMS = { default = 1, values = [1, 4], doc = "parts of the array that are walked side by side; more streams keep more hardware prefetchers busy" }
ERT_PREFETCH_BYTES = { default = 0, values = [0, 512], only = { 512 = ["L2", "L3", "DRAM"] }, doc = "distance of software prefetch into L1; 0 for none" }

[trip]
array_bytes = "16 * vector_bytes"
bytes_loaded = "16 * vector_bytes"
*/
#include "ert.h"

enum { PER_STREAM = 16 / ERT_STREAMS, SUMS = 4, LINE_BYTES = 64 };

uint64_t ert_kernel(const ert_work *work) {
    const uint64_t part = work->bytes / ERT_STREAMS, trips = work->passes * (part / (PER_STREAM * ERT_VECTOR_BYTES));
    const char *a = work->array[0];
    ert_bits sum[SUMS] = {{0}};
    ERT_KEEP_ROLLED
    for (uint64_t trip = 0, at = 0; trip < trips; trip++, at = ert_wrap(at + PER_STREAM * ERT_VECTOR_BYTES, part)) {
        ERT_TRIP;
        ERT_UNROLL_FULLY
        for (int stream = 0; stream < ERT_STREAMS; stream++) {
            const char *here = a + stream * part + at;
            if (ERT_PREFETCH_BYTES)
                ERT_UNROLL_FULLY
                for (int line = 0; line < PER_STREAM * ERT_VECTOR_BYTES; line += LINE_BYTES)
                    __builtin_prefetch(here + ERT_PREFETCH_BYTES + line, 0, 3);
            ERT_UNROLL_FULLY
            for (int v = 0; v < PER_STREAM; v++) {
                ert_bits *s = &sum[(stream * PER_STREAM + v) % SUMS];
                *s ^= ERT_AT(const ert_bits, here, v);
                /* Keeps the loads in address order: pairs 256 bytes apart meet in one L1 bank and cost 4 % on Zen 3. */
                ERT_IN_REGISTER(*s);
            }
        }
    }
    ERT_UNROLL_FULLY
    for (int i = 1; i < SUMS; i++) sum[0] ^= sum[i];
    ERT_AT(ert_bits, work->result, 0) = sum[0];
    return trips;
}
