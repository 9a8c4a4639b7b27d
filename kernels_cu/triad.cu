/*ert
summary = "c = a + s * b (STREAM triad)"
measures = "bandwidth"
op = "triad"
precisions = ["fp32", "fp64"]
levels = ["L2", "DRAM"]
arrays = 3
[parameters]
ERT_UNROLL = { default = 4, values = [2, 4], doc = "vectors of each array in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
flops = "2 * ERT_UNROLL * lanes"
bytes_loaded = "2 * ERT_UNROLL * vector_bytes"
bytes_stored = "ERT_UNROLL * vector_bytes"
[instructions]
load = "2 * ERT_UNROLL"
store = "ERT_UNROLL"
fma = "ERT_UNROLL * lanes"
*/
#include "common.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    const ERT_PRECISION scale = coefficient<ERT_PRECISION>(operands, 0);
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++) {
        u64 at = first_vector(ERT_UNROLL);
#pragma unroll 1
        for (u64 trip = 0; trip < trips; trip++, at += vectors_per_trip(ERT_UNROLL)) {
            lanes<ERT_PRECISION> x[ERT_UNROLL], y[ERT_UNROLL];
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) {
                x[i].bits = load_cg((const vector *)a + at + i * ERT_THREADS);
                y[i].bits = load_cg((const vector *)b + at + i * ERT_THREADS);
            }
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) {
#pragma unroll
                for (int j = 0; j < (int)(ERT_VECTOR_BYTES / sizeof(ERT_PRECISION)); j++)
                    x[i].lane[j] = multiply_add(scale, y[i].lane[j], x[i].lane[j]);
                store((vector *)c + at + i * ERT_THREADS, x[i].bits);
            }
        }
    }
    sign_off(results, repeats);
}
