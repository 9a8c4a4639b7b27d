/*ert
summary = "Hopper's tensor cores through wgmma m64n256, 32 bytes of k, both operands in shared memory"
measures = "compute"
op = "mma"
path = "tensor"
precisions = ["bf16", "fp16", "tf32", "fp8", "int8"]
[requires]
arch = ["sm_90a"]
[parameters]
ERT_STEPS = { default = 4, values = [4], doc = "multiplications in flight before one is waited for" }
ERT_THREADS = { default = 128, values = [128], doc = "one warpgroup" }
ERT_BLOCKS_PER_SM = { default = 2, values = [1, 2, 3], doc = "resident blocks per SM" }
[trip]
flops = "2 * 64 * 256 * (32 // element_bytes) // 128 * ERT_STEPS"
[instructions]
wgmma = "ERT_STEPS"
*/
#include "common.cuh"
#include "ptx_wgmma.cuh"

enum { A_BYTES = 64 * 32, B_BYTES = 256 * 32, TILE_BYTES = A_BYTES + B_BYTES, SUMS = 128 };

// Every step has tiles of its own. A step that finds the tensor cores busy waits, so two blocks per SM hide each
// other's waits.
ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    typedef accumulator<ERT_PRECISION>::type S;
    __shared__ __align__(1024) u32 tiles[ERT_STEPS * TILE_BYTES / 4];
    for (int i = threadIdx.x; i < ERT_STEPS * TILE_BYTES / 4; i += ERT_THREADS) tiles[i] = ((const u32 *)operands)[i];
    fence_shared_for_tensor_cores();
    __syncthreads();
    u64 a_tile[ERT_STEPS], b_tile[ERT_STEPS];
#pragma unroll
    for (int s = 0; s < ERT_STEPS; s++) {
        a_tile[s] = matrix_descriptor(tiles + s * TILE_BYTES / 4);
        b_tile[s] = matrix_descriptor(tiles + (s * TILE_BYTES + A_BYTES) / 4);
    }
    S d[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; i++) d[i] = 0;
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++) {
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < ERT_STEPS; s++) wgmma<ERT_PRECISION>(d, a_tile[s], b_tile[s]);
        wgmma_commit();
        wgmma_wait();
    }
#pragma unroll
    for (int i = 0; i < SUMS; i++) ((S *)results)[slot(SUMS, i)] = d[i];
}
