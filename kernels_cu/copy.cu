/*ert
summary = "copy one array to another"
measures = "bandwidth"
op = "copy"
precisions = ["fp32"]
levels = ["L2", "DRAM"]
arrays = 2
[parameters]
ERT_UNROLL = { default = 4, values = [2, 4], doc = "vectors of each array in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
bytes_loaded = "ERT_UNROLL * vector_bytes"
bytes_stored = "ERT_UNROLL * vector_bytes"
[instructions]
load = "ERT_UNROLL"
store = "ERT_UNROLL"
*/
#include "common.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++) {
        u64 at = first_vector(ERT_UNROLL);
#pragma unroll 1
        for (u64 trip = 0; trip < trips; trip++, at += vectors_per_trip(ERT_UNROLL)) {
            vector in_flight[ERT_UNROLL];
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) in_flight[i] = load_cg((const vector *)a + at + i * ERT_THREADS);
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) store((vector *)b + at + i * ERT_THREADS, in_flight[i]);
        }
    }
    sign_off(results, repeats);
}
