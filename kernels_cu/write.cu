/*ert
summary = "write one array"
measures = "bandwidth"
op = "write"
precisions = ["fp32"]
levels = ["L2", "DRAM"]
arrays = 1
[parameters]
ERT_UNROLL = { default = 4, values = [4], doc = "vectors of each array in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
bytes_stored = "ERT_UNROLL * vector_bytes"
[instructions]
load = "0"
store = "ERT_UNROLL"
*/
#include "common.cuh"

// Each thread writes random numbers of its own: lines of equal values are compressed by some hardware.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    vector value = operand<vector>(operands, 1, 0);
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++) {
        vector *p = (vector *)a + first_vector(ERT_UNROLL);
#pragma unroll 1
        for (u64 trip = 0; trip < trips; trip++, p += vectors_per_trip(ERT_UNROLL)) {
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) store(p + i * ERT_THREADS, value);
        }
    }
    sign_off(results, repeats);
}
