/*ert
summary = "read one array past L1, every SM all of it: near and far L2 partitions alike"
measures = "bandwidth"
op = "read"
precisions = ["fp32"]
levels = ["L2"]
arrays = 1
[parameters]
ERT_UNROLL = { default = 4, values = [4], doc = "loads in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
bytes_loaded = "ERT_UNROLL * vector_bytes"
[instructions]
load = "ERT_UNROLL"
store = "0"
*/
#include "common.cuh"

// Blocks start at different tiles, else they would all ask for the same line at once and L2 would be read once for many.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    u32 total[4] = {0, 0, 0, 0};
    const vector *first = (const vector *)a + threadIdx.x;
    const vector *end = first + trips * (ERT_THREADS * ERT_UNROLL);
    const vector *p = first + blockIdx.x * trips / gridDim.x * (ERT_THREADS * ERT_UNROLL);
#pragma unroll 1
    for (u64 left = repeats * trips; left > 0; left--) {
        vector in_flight[ERT_UNROLL];
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) in_flight[i] = load_cg(p + i * ERT_THREADS);
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) add_bits(total, in_flight[i]);
        p += ERT_THREADS * ERT_UNROLL;
        if (p == end) p = first;
    }
    ((u32 *)results)[global_thread()] = total[0] + total[1] + total[2] + total[3];
}
