/*ert
summary = "copy one half of shared memory to the other, 128-bit"
measures = "bandwidth"
op = "copy"
precisions = ["fp32"]
levels = ["shared"]
arrays = 2
[parameters]
ERT_UNROLL = { default = 2, values = [2], doc = "128-bit accesses in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block, a power of two" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
bytes_loaded = "16 * ERT_UNROLL"
bytes_stored = "16 * ERT_UNROLL"
[instructions]
load_shared = "ERT_UNROLL"
store_shared = "ERT_UNROLL"
*/
#include "shared.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    __shared__ vector128 memory[2 * ERT_UNROLL * ERT_THREADS];
    const shared_address base = fill_shared<2 * ERT_UNROLL>(memory, operands);
    u32 offset = threadIdx.x * 16;
#pragma unroll 1
    for (u64 left = repeats * trips; left > 0; left--, offset = next_offset(offset)) {
        vector128 in_flight[ERT_UNROLL];
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) in_flight[i] = load_shared(base + offset + i * ROW_BYTES);
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) store_shared(base + offset + (ERT_UNROLL + i) * ROW_BYTES, in_flight[i]);
    }
    __syncthreads();
    u32 total = 0;
    for (int i = 0; i < ERT_UNROLL; i++) total += memory[(ERT_UNROLL + i) * ERT_THREADS + threadIdx.x].word[0];
    ((u32 *)results)[global_thread()] = total;
}
