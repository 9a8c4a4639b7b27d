/*ert
summary = "load through L1, ERT_FLOPS operations on every element, keep the sum of the bits"
measures = "mixed"
op = "mixed"
precisions = ["fp64", "fp32", "fp16", "bf16"]
levels = ["L1", "L2", "DRAM"]
arrays = 1
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
[instructions]
load = "ERT_UNROLL"
store = "0"
fma = "ERT_FLOPS // 2 * ERT_UNROLL * registers"
add = "ERT_FLOPS % 2 * ERT_UNROLL * registers"
chunks = "ERT_FLOPS // 64"
*/
#include "mixed.cuh"

// No store: L1 writes through, so a kernel that stores runs at the speed of L2. The sum is one of integers, no FLOP.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    const ERT_PRECISION factor[2] = {coefficient<ERT_PRECISION>(operands, 0), coefficient<ERT_PRECISION>(operands, 2)};
    const ERT_PRECISION addend[2] = {coefficient<ERT_PRECISION>(operands, 1), coefficient<ERT_PRECISION>(operands, 3)};
    u32 total[4] = {0, 0, 0, 0};
    const vector *const first = (const vector *)a + first_vector(ERT_UNROLL), *p = first;
    const vector *const end = first + trips * vectors_per_trip(ERT_UNROLL);
#pragma unroll 1
    for (u64 left = repeats * trips; left > 0; left--) {
        registers x[ERT_UNROLL];
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) x[i].bits = load_ca(p + i * ERT_THREADS);
        work_on(x, factor, addend);
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) add_bits(total, x[i].bits);
        p += vectors_per_trip(ERT_UNROLL);
        if (p == end) p = first;
    }
    ((u32 *)results)[global_thread()] = total[0] + total[1] + total[2] + total[3];
}
