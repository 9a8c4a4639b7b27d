/*ert
summary = "Blackwell's tensor cores through tcgen05.mma m128n256, 32 bytes of k"
experimental = true
measures = "compute"
op = "mma"
path = "tensor"
precisions = ["bf16", "fp16", "tf32", "fp8", "int8"]
[requires]
arch = ["sm_100a"]
[parameters]
ERT_STEPS = { default = 2, values = [2], doc = "multiplications in one trip, each with an accumulator of its own" }
ERT_THREADS = { default = 128, values = [128], doc = "one warpgroup, of which one thread issues" }
ERT_BLOCKS_PER_SM = { default = 1, values = [1], doc = "one: it takes all tensor memory" }
[trip]
flops = "2 * 128 * 256 * (32 // element_bytes) // 128 * ERT_STEPS"
[instructions]
tcgen05 = "ERT_STEPS"
*/
#include "common.cuh"
#include "ptx_tcgen05.cuh"

enum { A_BYTES = MMA_M * 32, B_BYTES = MMA_N * 32, TILE_BYTES = A_BYTES + B_BYTES };

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    __shared__ __align__(1024) u32 tiles[ERT_STEPS * TILE_BYTES / 4];
    __shared__ u32 tensor_memory;
    __shared__ __align__(8) u64 finished;
    for (int i = threadIdx.x; i < ERT_STEPS * TILE_BYTES / 4; i += ERT_THREADS) tiles[i] = ((const u32 *)operands)[i];
    if (threadIdx.x < 32) tensor_memory_take(&tensor_memory);
    if (threadIdx.x == 0) barrier_start(&finished);
    fence_shared_for_tensor_cores();
    __syncthreads();
    tcgen05_fence();
    const u32 d = tensor_memory;
    if (threadIdx.x < 32 && elect_one()) {
        u64 a_tile[ERT_STEPS], b_tile[ERT_STEPS];
#pragma unroll
        for (int s = 0; s < ERT_STEPS; s++) {
            a_tile[s] = tcgen05_descriptor(tiles + s * TILE_BYTES / 4);
            b_tile[s] = tcgen05_descriptor(tiles + (s * TILE_BYTES + A_BYTES) / 4);
        }
#pragma unroll 1
        for (u64 repeat = 0; repeat < repeats; repeat++)
#pragma unroll
            for (int s = 0; s < ERT_STEPS; s++) tcgen05_mma<ERT_PRECISION>(d + s * MMA_N, a_tile[s], b_tile[s], repeat > 0);
        tcgen05_commit(&finished);
    }
    barrier_wait(&finished);
    tcgen05_fence();
    // A warp reads the 32 lanes of tensor memory that are its own; lanes are rows of D.
    const u32 row = d + (threadIdx.x / 32 * 32 << 16);
    for (u32 column = 0; column < TENSOR_COLUMNS; column++)
        ((u32 *)results)[slot(TENSOR_COLUMNS, column)] = tensor_memory_read(row + column);
    __syncthreads();
    if (threadIdx.x < 32) tensor_memory_give(d);
}
