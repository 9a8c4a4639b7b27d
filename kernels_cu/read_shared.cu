/*ert
summary = "read shared memory, 128-bit, no bank conflicts"
measures = "bandwidth"
op = "read"
precisions = ["fp32"]
levels = ["shared"]
arrays = 1
[parameters]
ERT_UNROLL = { default = 4, values = [4], doc = "128-bit accesses in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block, a power of two" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
bytes_loaded = "16 * ERT_UNROLL"
[instructions]
load_shared = "ERT_UNROLL"
store_shared = "0"
*/
#include "shared.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    __shared__ vector128 memory[ERT_UNROLL * ERT_THREADS];
    const shared_address base = fill_shared<ERT_UNROLL>(memory, operands);
    u32 total[4] = {0, 0, 0, 0}, offset = threadIdx.x * 16;
#pragma unroll 1
    for (u64 left = repeats * trips; left > 0; left--, offset = next_offset(offset)) {
        vector128 in_flight[ERT_UNROLL];
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) in_flight[i] = load_shared(base + offset + i * ROW_BYTES);
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) total[j] += in_flight[i].word[j];
    }
    ((u32 *)results)[global_thread()] = total[0] + total[1] + total[2] + total[3];
}
