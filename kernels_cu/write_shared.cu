/*ert
summary = "write shared memory, 128-bit, no bank conflicts"
measures = "bandwidth"
op = "write"
precisions = ["fp32"]
levels = ["shared"]
arrays = 1
[parameters]
ERT_UNROLL = { default = 4, values = [4], doc = "128-bit accesses in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block, a power of two" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
bytes_stored = "16 * ERT_UNROLL"
[instructions]
load_shared = "0"
store_shared = "ERT_UNROLL"
*/
#include "shared.cuh"

// The value depends on the lane alone, and a slot is only ever written by its own lane of some warp: no race changes it.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    __shared__ vector128 memory[ERT_UNROLL * ERT_THREADS];
    const shared_address base = fill_shared<ERT_UNROLL>(memory, operands);
    const vector128 value = ((const vector128 *)operands)[threadIdx.x % 32];
    u32 offset = threadIdx.x * 16;
#pragma unroll 1
    for (u64 left = repeats * trips; left > 0; left--, offset = next_offset(offset)) {
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) store_shared(base + offset + i * ROW_BYTES, value);
    }
    __syncthreads();
    u32 total = 0;
    for (int i = 0; i < ERT_UNROLL; i++) total += memory[i * ERT_THREADS + threadIdx.x].word[0];
    ((u32 *)results)[global_thread()] = total;
}
