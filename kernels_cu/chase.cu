/*ert
summary = "latency of one load: a chain of dependent loads through a random cycle of lines"
measures = "latency"
op = "chase"
precisions = ["int32"]
levels = ["L1", "L2", "DRAM"]
arrays = 1
[parameters]
ERT_HOPS = { default = 64, values = [64], doc = "loads in one trip" }
ERT_THREADS = { default = 1, values = [1], doc = "one thread" }
ERT_BLOCKS_PER_SM = { default = 1, values = [1], doc = "one block in all" }
[trip]
bytes_loaded = "4 * ERT_HOPS"
[instructions]
load_32 = "ERT_HOPS"
*/
#include "common.cuh"

// Every line of the array holds the offset of the next one; b is no array but the offset of the first one.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    u32 at = (u32)(u64)b;
#pragma unroll 1
    for (u64 left = repeats * trips; left > 0; left--) {
#pragma unroll
        for (int i = 0; i < ERT_HOPS; i++) at = load_hop_ca(a, at);
    }
    ((u32 *)results)[0] = at;
}
