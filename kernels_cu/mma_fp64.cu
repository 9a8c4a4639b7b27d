/*ert
summary = "tensor cores through mma.sync m8n8k4 on doubles"
measures = "compute"
op = "mma"
path = "tensor"
precisions = ["fp64"]
[requires]
arch = ["sm_80", "sm_90a", "sm_100a"]
[parameters]
ERT_TILES = { default = 8, values = [4, 8], doc = "independent accumulator tiles per warp" }
ERT_STEPS = { default = 4, values = [4], doc = "multiplications of one tile in one trip" }
ERT_THREADS = { default = 128, values = [128], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [2, 4], doc = "resident blocks per SM" }
[trip]
flops = "2 * 8 * 8 * 4 // 32 * ERT_STEPS * ERT_TILES"
[instructions]
mma = "ERT_STEPS * ERT_TILES"
*/
#include "mma.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    run_tiles<fp64, 1, 1, 2, fp64>(operands, results, repeats, [](fp64 *d, const fp64 *a, const fp64 *b) { mma_k4(d, *a, *b); });
}
