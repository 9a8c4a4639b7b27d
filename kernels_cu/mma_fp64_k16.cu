/*ert
summary = "tensor cores through mma.sync m16n8k16 on doubles, the shape that Hopper has in one instruction"
measures = "compute"
op = "mma"
path = "tensor"
precisions = ["fp64"]
[requires]
# Elsewhere it is made of eight m8n8k4.
arch = ["sm_90a"]
[parameters]
ERT_TILES = { default = 2, values = [2], doc = "independent accumulator tiles per warp" }
ERT_STEPS = { default = 2, values = [2], doc = "multiplications of one tile in one trip" }
ERT_THREADS = { default = 128, values = [128], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [2, 4], doc = "resident blocks per SM" }
[trip]
flops = "2 * 16 * 8 * 16 // 32 * ERT_STEPS * ERT_TILES"
[instructions]
mma = "ERT_STEPS * ERT_TILES"
*/
#include "mma.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    run_tiles<fp64, 8, 4, 4, fp64>(operands, results, repeats, [](fp64 *d, const fp64 *a, const fp64 *b) { mma_k16(d, a, b); });
}
