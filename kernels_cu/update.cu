/*ert
summary = "a = s * a in place"
measures = "bandwidth"
op = "update"
precisions = ["fp32", "fp64"]
levels = ["L2", "DRAM"]
arrays = 1
[parameters]
ERT_UNROLL = { default = 4, values = [4], doc = "vectors of each array in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
flops = "ERT_UNROLL * lanes"
bytes_loaded = "ERT_UNROLL * vector_bytes"
bytes_stored = "ERT_UNROLL * vector_bytes"
[instructions]
load = "ERT_UNROLL"
store = "ERT_UNROLL"
mul = "ERT_UNROLL * lanes"
*/
#include "common.cuh"

// The factor is -1, unknown to the compiler: the data stay as random as they were, however often it runs.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    const ERT_PRECISION scale = coefficient<ERT_PRECISION>(operands, 0);
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++) {
        vector *p = (vector *)a + first_vector(ERT_UNROLL);
#pragma unroll 1
        for (u64 trip = 0; trip < trips; trip++, p += vectors_per_trip(ERT_UNROLL)) {
            lanes<ERT_PRECISION> x[ERT_UNROLL];
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) x[i].bits = load_cg(p + i * ERT_THREADS);
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) {
#pragma unroll
                for (int j = 0; j < (int)(ERT_VECTOR_BYTES / sizeof(ERT_PRECISION)); j++) x[i].lane[j] = product(scale, x[i].lane[j]);
                store(p + i * ERT_THREADS, x[i].bits);
            }
        }
    }
    sign_off(results, repeats);
}
