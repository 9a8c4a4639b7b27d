/*ert
summary = "load, ERT_FLOPS operations on every element, store (the ERT kernel)"
measures = "mixed"
op = "mixed"
precisions = ["fp64", "fp32", "fp16", "bf16"]
levels = ["L2", "DRAM"]
arrays = 2
[requires]
"bf16:min_cc" = "8.0"
[parameters]
ERT_FLOPS = { default = 16, values = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], doc = "operations per element: FMAs, and one addition where odd" }
ERT_UNROLL = { default = 2, values = [2], doc = "vectors in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
flops = "ERT_FLOPS * ERT_UNROLL * lanes"
bytes_loaded = "ERT_UNROLL * vector_bytes"
bytes_stored = "ERT_UNROLL * vector_bytes"
[instructions]
load = "ERT_UNROLL"
store = "ERT_UNROLL"
fma = "ERT_FLOPS // 2 * ERT_UNROLL * registers"
add = "ERT_FLOPS % 2 * ERT_UNROLL * registers"
chunks = "ERT_FLOPS // 64"
*/
#include "mixed.cuh"

// Out of place, so that the input stays random: a chain run in place would drift to its fixed point within a few repeats.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    const ERT_PRECISION factor[2] = {coefficient<ERT_PRECISION>(operands, 0), coefficient<ERT_PRECISION>(operands, 2)};
    const ERT_PRECISION addend[2] = {coefficient<ERT_PRECISION>(operands, 1), coefficient<ERT_PRECISION>(operands, 3)};
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++) {
        u64 at = first_vector(ERT_UNROLL);
#pragma unroll 1
        for (u64 trip = 0; trip < trips; trip++, at += vectors_per_trip(ERT_UNROLL)) {
            registers x[ERT_UNROLL];
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) x[i].bits = load_cg((const vector *)a + at + i * ERT_THREADS);
            work_on(x, factor, addend);
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) store((vector *)b + at + i * ERT_THREADS, x[i].bits);
        }
    }
    sign_off(results, repeats);
}
